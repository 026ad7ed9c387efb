// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
)

// Columns are read from the items of a document's list, whatever the list is called.
func TestColumnsReadTheListOfADocument(t *testing.T) {
	one := []map[string]string{{"path": "a"}}
	for sentence, c := range map[string]struct {
		document any
		want     string
	}{
		"objects":  {map[string]any{"objects": one}, "P\na\n"},
		"rows":     {map[string]any{"rows": one}, "P\na\n"},
		"a list":   {one, "P\na\n"},
		"no items": {map[string]any{"rows": nil}, "P\n"},
		"no list":  {map[string]any{"path": "b"}, "P\nb\n"},
	} {
		var out bytes.Buffer
		p, o := &cli.Plugin{}, cli.OutputFlags{}
		p.Out = &out
		o.AddFlags(&cobra.Command{}, "table", "json")
		o.Format = "custom-columns=P:.path"
		if done, err := p.Document(o, "Any", c.document); !done || err != nil || out.String() != c.want {
			t.Errorf("%s: %t, %v, %q, want %q", sentence, done, err, out.String(), c.want)
		}
	}
}
