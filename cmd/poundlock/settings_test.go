// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestSettle(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		file string
		want []string // --namespaces
		err  string   // a part of the error
	}{
		"nothing said leaves the default":        {want: []string{"a=b"}},
		"a line of the file is taken":            {file: "namespaces: [c=d, e=f]\n", want: []string{"c=d", "e=f"}},
		"the environment comes before the file":  {file: "namespaces: [c=d]\n", env: map[string]string{"POUNDLOCK_NAMESPACES": "x=y"}, want: []string{"x=y"}},
		"a flag comes before the environment":    {args: []string{"--namespaces=t=u"}, env: map[string]string{"POUNDLOCK_NAMESPACES": "x=y"}, want: []string{"t=u"}},
		"a line that is no flag is named":        {file: "namespace: [c=d]\n", err: `"namespace" is no setting`},
		"a value that does not parse is located": {env: map[string]string{"POUNDLOCK_LEADER_ELECT": "perhaps"}, err: "$POUNDLOCK_LEADER_ELECT"},
		"a file that is no map is an error":      {file: "- a\n", err: "settings"},
		"a line that stands twice is an error":   {file: "leader-elect: true\nleader-elect: false\n", err: "leader-elect"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			namespaces := flags.StringSlice("namespaces", []string{"a=b"}, "")
			flags.Bool("leader-elect", false, "")
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			file := ""
			if tc.file != "" {
				file = filepath.Join(t.TempDir(), "settings.yaml")
				if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := settle(flags, file, func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok })
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, *namespaces); diff != "" {
				t.Error(diff)
			}
		})
	}
}
