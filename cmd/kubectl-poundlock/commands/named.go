// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// named is where the names of a cluster's objects are read from, besides the arguments.
type named struct{ paths []string }

func (n *named) bind(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&n.paths, "filename", "f", nil,
		"read the objects' names from files or - for standard input: manifests, or lines of KIND/NAME, as -o name writes them")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // the flag is there
}

// names are those of the files. Files without any are an error: no names mean all objects.
func (n named) names(stdin io.Reader, pairs authority.Pairs) ([]string, error) {
	var out []string
	for _, path := range n.paths {
		read, err := namesIn(path, stdin, pairs)
		if err != nil {
			return nil, err
		}
		out = append(out, read...)
	}
	if len(out) == 0 {
		return nil, cli.Exit(cli.CodeError, "-f names no Machine, MachineSet or MachineHealthCheck")
	}
	return out, nil
}

func namesIn(path string, stdin io.Reader, pairs authority.Pairs) ([]string, error) {
	if path == "-" {
		raw, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("reading standard input: %w", err)
		}
		return namesOf(string(raw), pairs)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		f, err := inventory.FromFiles([]string{path}, nil, pairs)
		return refs(f), err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading -f %s: %w", path, err)
	}
	return namesOf(string(raw), pairs)
}

// namesOf reads lines of KIND/NAME, or manifests.
func namesOf(text string, pairs authority.Pairs) ([]string, error) {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if kind, name, is := strings.Cut(line, "/"); is && isKind(kind) && name != "" && !strings.ContainsAny(name, " :") {
			out = append(out, line)
		} else if line != "" {
			f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(text), pairs)
			if err == nil && len(f.Problems) > 0 {
				err = cli.Exit(cli.CodeError, "-f: "+f.Problems[0].Source+": "+f.Problems[0].Text)
			}
			return refs(f), err
		}
	}
	return out, nil
}

func refs(f *inventory.Fleet) []string {
	if f == nil {
		return nil
	}
	var out []string
	for _, p := range f.Pairs {
		out = append(out, p.Ref())
	}
	return out
}
