// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// TerminalError is an error that no repetition fixes. It becomes the Machine's errorReason and errorMessage.
type TerminalError struct {
	Reason  machinev1beta1.MachineStatusError
	Message string
}

func (e *TerminalError) Error() string { return e.Message }

// InvalidConfiguration returns a TerminalError for a Machine whose spec is invalid. The message names the field, what is wrong with its value, and a valid
// value.
func InvalidConfiguration(format string, args ...any) error {
	return Terminal(machinev1beta1.InvalidConfigurationMachineError, format, args...)
}

// Terminal returns a TerminalError: no repetition fixes it.
func Terminal(reason machinev1beta1.MachineStatusError, format string, args ...any) error {
	return &TerminalError{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// AsTerminal returns the terminal error that err is or wraps.
func AsTerminal(err error) (*TerminalError, bool) {
	var t *TerminalError
	return t, errors.As(err, &t)
}

// RequeueAfterError is not a failure. It means that the actuator waits for something whose end no event reports, and wants to be called again later.
type RequeueAfterError struct {
	After time.Duration
	// For is what the actuator waits for: "the instance to shut down".
	For string
}

func (e *RequeueAfterError) Error() string {
	return fmt.Sprintf("waiting for %s: the next attempt is in %s", e.For, e.After)
}

// RequeueAfter returns an error that asks for the actuator's method to be called again after a time.
func RequeueAfter(after time.Duration, waitingFor string) error {
	return &RequeueAfterError{After: after, For: waitingFor}
}

// AsRequeueAfter returns the RequeueAfterError that err is or wraps.
func AsRequeueAfter(err error) (*RequeueAfterError, bool) {
	var r *RequeueAfterError
	return r, errors.As(err, &r)
}
