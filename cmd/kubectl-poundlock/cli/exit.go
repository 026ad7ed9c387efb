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

// exit is an error with its own exit code. An empty text means that everything has been printed.
type exit struct {
	code int
	text string
}

func (e exit) Error() string { return e.text }

// Exit returns an error that ends the plugin with a code. The text is printed, unless it is empty.
func Exit(code int, text string) error { return exit{code, text} }

// Usagef returns a usage error, which is about the typed command line.
func Usagef(format string, args ...any) error { return exit{CodeUsage, fmt.Sprintf(format, args...)} }

// AsUsage turns an error without an exit code into a usage error.
func AsUsage(err error) error {
	if err == nil || errors.As(err, new(exit)) {
		return err
	}
	return Usagef("%v", err)
}

// Code returns the exit code of an error, and the text that is still to be printed.
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
