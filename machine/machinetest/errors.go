// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"errors"
	"fmt"
)

// Code is what kind of error the cloud answered with, in the words of EC2 where it has one.
type Code string

// The codes.
const (
	NotFound       Code = "InvalidInstanceID.NotFound"
	LimitExceeded  Code = "InstanceLimitExceeded"
	IncorrectState Code = "IncorrectInstanceState"
	Unavailable    Code = "Unavailable"
	Malformed      Code = "MalformedRequest"
)

// Error is what the cloud answers when it does not do what it was asked for. All but NotFound pass, or are the caller's own mistake.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func refuse(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func notFound(k Key) error { return refuse(NotFound, "there is no instance with %s", k) }

// IsNotFound reports whether the cloud finds no such instance. The cloud may also not show it yet.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == NotFound
}
