// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
)

// Exit codes, for scripts. The root's help lists them.
const (
	CodeDone        = 0
	CodeError       = 1
	CodeUsage       = 2
	CodeNo          = 3
	CodeTimeout     = 4
	CodeHeld        = 5
	CodeInterrupted = 130
)

// exit is an end with an exit code of its own. Its text may be empty: then all has been said.
type exit struct {
	code int
	text string
}

func (e exit) Error() string { return e.text }

// Exit is an error that ends the plugin with a code. The text is printed, unless it is empty.
func Exit(code int, text string) error { return exit{code, text} }

// Usagef is an error in the typed command.
func Usagef(format string, args ...any) error { return exit{CodeUsage, fmt.Sprintf(format, args...)} }

// AsUsage makes an error of usage of one that has no exit code of its own.
func AsUsage(err error) error {
	if err == nil || errors.As(err, new(exit)) {
		return err
	}
	return Usagef("%v", err)
}

// Code is the exit code that an error stands for, and the text that is still to be printed.
func Code(err error) (int, string) {
	var e exit
	switch {
	case err == nil:
		return CodeDone, ""
	case errors.As(err, &e):
		return e.code, e.text
	}
	return CodeError, err.Error()
}
