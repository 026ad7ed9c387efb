// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// TerminalError is one that no repetition fixes. It becomes the Machine's errorReason and errorMessage.
type TerminalError struct {
	Reason  machinev1beta1.MachineStatusError
	Message string
}

func (e *TerminalError) Error() string { return e.Message }

// InvalidConfiguration is the error of a Machine whose spec is invalid. The message names the field, what is wrong with its value, and a valid value.
func InvalidConfiguration(format string, args ...any) error {
	return Terminal(machinev1beta1.InvalidConfigurationMachineError, format, args...)
}

// Terminal is an error that no repetition fixes.
func Terminal(reason machinev1beta1.MachineStatusError, format string, args ...any) error {
	return &TerminalError{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// AsTerminal returns the terminal error that err is or wraps.
func AsTerminal(err error) (*TerminalError, bool) {
	var t *TerminalError
	return t, errors.As(err, &t)
}

// RequeueAfterError is not a failure: there is something to wait for, and no event reports its end.
type RequeueAfterError struct {
	After time.Duration
	// For is what is waited for: "the instance to shut down".
	For string
}

func (e *RequeueAfterError) Error() string {
	return fmt.Sprintf("waiting for %s: asking again after %s", e.For, e.After)
}

// RequeueAfter asks to be called again after a time.
func RequeueAfter(after time.Duration, waitingFor string) error {
	return &RequeueAfterError{After: after, For: waitingFor}
}

// AsRequeueAfter returns the wish that err is or wraps.
func AsRequeueAfter(err error) (*RequeueAfterError, bool) {
	var r *RequeueAfterError
	return r, errors.As(err, &r)
}
