// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/embedded"
)

func TestOptions(t *testing.T) {
	for sentence, c := range map[string]struct {
		args           []string
		withoutManager bool
		refused        string
	}{
		"nothing":                            {},
		"no manager":                         {args: []string{"--manager=false"}, withoutManager: true},
		"a control plane that nobody raises": {args: []string{"--manager=false", "--control-plane=3"}, refused: "--manager=false"},
		"private types of another platform":  {args: []string{"--private", "--platform=azure"}, refused: "--private"},
		"a platform that there is not":       {args: []string{"--platform=moon"}, refused: "aws"},
	} {
		t.Run(sentence, func(t *testing.T) {
			o, err := options(c.args, io.Discard)
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Fatalf("%v, want %q", err, c.refused)
			}
			if o.WithoutManager != c.withoutManager {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestWhatAPersonReads(t *testing.T) {
	for sentence, c := range map[string]struct {
		greeting
		contains, keepsQuiet []string
	}{
		"Poundlock runs": {
			greeting{Kubeconfig: "/a b/kubeconfig", Plugin: "/a b/bin", Dir: ".run"},
			[]string{`export KUBECONFIG="/a b/kubeconfig"`, `make build && export PATH="/a b/bin:$PATH"`, "type stop", "rm -r .run"}, []string{"type start here"},
		},
		"it is stopped":  {greeting{Stopped: true}, []string{"Type start here"}, []string{"Poundlock is up"}},
		"it is left out": {greeting{Bare: true}, []string{"without Poundlock"}, []string{"type stop"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var b strings.Builder
			if err := welcome.Execute(&b, c.greeting); err != nil {
				t.Fatal(err)
			}
			for _, text := range c.contains {
				if !strings.Contains(b.String(), text) {
					t.Errorf("it does not say %q:\n%s", text, b.String())
				}
			}
			for _, text := range c.keepsQuiet {
				if strings.Contains(b.String(), text) {
					t.Errorf("it says %q:\n%s", text, b.String())
				}
			}
		})
	}
}

func TestAPartThatEndsIsNamedAtOnce(t *testing.T) {
	message := ended(fmt.Errorf("watching: %w", &embedded.ExitError{Part: "infrastructure", Log: "logs/infrastructure.log",
		Err: errors.New("signal: killed")}), ".run")
	for _, text := range []string{"infrastructure, a part of the stage, has ended: signal: killed", "logs/infrastructure.log", "goes on from it", ".run"} {
		if !strings.Contains(message, text) {
			t.Errorf("it does not say %q: %s", text, message)
		}
	}
}
