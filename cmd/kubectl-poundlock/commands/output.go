// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// output is -o.
type output struct {
	format string
	known  []string
}

func (o *output) bind(cmd *cobra.Command, known ...string) {
	o.known = known
	cmd.Flags().StringVarP(&o.format, "output", "o", known[0], "how it is written: "+strings.Join(known, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

func (o *output) check() error {
	if !slices.Contains(o.known, o.format) {
		return usage("--output %q: want one of %s", o.format, strings.Join(o.known, ", "))
	}
	return nil
}

// document writes a value as JSON or YAML; done is false for the formats that people read.
func (p *plugin) document(o output, value any) (done bool, err error) {
	switch o.format {
	case "json":
		encoder := json.NewEncoder(p.Out)
		encoder.SetIndent("", "    ")
		encoder.SetEscapeHTML(false)
		return true, encoder.Encode(value)
	case "yaml":
		raw, err := yaml.Marshal(value)
		if err == nil {
			_, err = fmt.Fprint(p.Out, string(raw))
		}
		return true, err
	}
	return false, nil
}
