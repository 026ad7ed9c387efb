// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"io"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
)

// A field that no platform has is printed too, as an unknown one.
func TestAnUnknownField(t *testing.T) {
	cmd := NewCommand(&cli.Plugin{Options: cli.Options{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}}})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	for _, asked := range []string{"colour", "spec.template.spec.providerSpec.value.colour"} {
		cmd.SetArgs([]string{asked})
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "remove the field, or correct its name") {
			t.Errorf("%s: %v", asked, err)
		}
	}
}
