// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	cmd, out := versionCommand(), &bytes.Buffer{}
	cmd.SetOut(out)
	cmd.SetArgs(nil)
	if err := cmd.Execute(); err != nil || !strings.HasPrefix(out.String(), "poundlock ") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%v: %q", err, out)
	}
}
