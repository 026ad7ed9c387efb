// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"bytes"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

func TestTable(t *testing.T) {
	var b bytes.Buffer
	p := printers.Output{Writer: &b, Colour: true}
	p.Table([][]string{{"A", "B"}, {p.Green("ü"), "x"}, {"long", ""}, {"end"}})
	want := "A      B\n\x1b[32mü\x1b[0m      x\nlong\nend\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestPaper(t *testing.T) {
	var b bytes.Buffer
	if p := printers.OutputOf(&b, func(string) string { return "" }); p.Colour || p.Terminal || p.Green("x") != "x" {
		t.Errorf("%+v", p)
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "  ",
		"a b":                "  a b",
		"aaaa bbbb cccc":     "  aaaa\n  bbbb\n  cccc",
		"longerthanthewidth": "  longerthanthewidth",
	} {
		if got := printers.Wrap(text, "  ", 8); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
