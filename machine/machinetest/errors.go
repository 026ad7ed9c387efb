// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"errors"
	"fmt"
)

// Code is the kind of error that the cloud answered with, in the words of EC2 if EC2 has the kind.
type Code string

// The codes.
const (
	NotFound       Code = "InvalidInstanceID.NotFound"
	LimitExceeded  Code = "InstanceLimitExceeded"
	IncorrectState Code = "IncorrectInstanceState"
	Unavailable    Code = "Unavailable"
	Malformed      Code = "MalformedRequest"
)

// Error is the cloud's answer to a call that it does not carry out. Every error but NotFound is transient, or the caller's own mistake.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func refuse(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func notFound(k Key) error { return refuse(NotFound, "there is no instance with %s", k) }

// IsNotFound reports whether err means that the cloud finds no such instance. The instance may also be too new for the cloud to show it.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == NotFound
}
