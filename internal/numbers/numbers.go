// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package numbers

import (
	"bytes"
	"regexp"
)

// MaxDigits is far more than a number needs, and far less than what takes time.
const MaxDigits = 128

var tiny = regexp.MustCompile(`(^|[\s":,\[])[+-]?[0-9.]+[eE]-[0-9]{4,}($|[\s",\]}])`)

// Endless tells a number that would keep whoever parses it as a quantity busy for minutes: 1e-999999999 does, and so do
// a hundred thousand digits. Anybody who may create a Machine may write one.
func Endless(raw []byte) bool {
	digits := 0
	for _, b := range raw {
		if digits++; (b < '0' || b > '9') && b != '.' {
			digits = 0
		}
		if digits > MaxDigits {
			return true
		}
	}
	return (bytes.Contains(raw, []byte("e-")) || bytes.Contains(raw, []byte("E-"))) && tiny.Match(raw)
}
