// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// Names has the sources from which the names of a cluster's objects are read, besides the arguments.
type Names struct{ inventory.Sources }

// AddFlags adds -f.
func (n *Names) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&n.Paths, "filename", "f", nil,
		"read the objects' names from files, URLs or - for standard input: manifests, or lines of KIND/NAME, as -o name writes them")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // no error: the flag exists
	addKustomization(cmd, &n.Sources)
}

// Targets returns the objects that the arguments and files name.
func (n Names) Targets(p *cli.Plugin, args []string) (List, error) {
	if n.None() {
		return Parse(args)
	}
	if err := oneOf(n.Sources); err != nil {
		return nil, err
	}
	pairs, err := p.Pairs()
	if err != nil {
		return nil, err
	}
	t, err := Parse(args)
	if err != nil {
		return nil, err
	}
	names, err := n.names(p.In, pairs)
	if err != nil {
		return nil, err
	}
	more, err := Parse(names)
	return append(t, more...), err
}

// names returns the names in the files. Files without names are an error, because no names would mean all objects.
func (n Names) names(stdin io.Reader, pairs authority.Pairs) ([]string, error) {
	var out []string
	for _, path := range n.Paths {
		read, err := namesIn(path, stdin, pairs)
		if err != nil {
			return nil, err
		}
		out = append(out, read...)
	}
	if n.Kustomization != "" {
		f, err := inventory.FromSources(inventory.Sources{Kustomization: n.Kustomization}, nil, pairs)
		if err != nil {
			return nil, err
		}
		out = append(out, refs(f)...)
	}
	if len(out) == 0 {
		return nil, cli.Exit(cli.CodeError, n.Flags()+" contains no name of a Machine, MachineSet or MachineHealthCheck")
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
	if info, err := os.Stat(path); err == nil && info.IsDir() || inventory.IsURL(path) {
		f, err := inventory.FromFiles([]string{path}, nil, pairs)
		return refs(f), err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading -f %s: %w", path, err)
	}
	return namesOf(string(raw), pairs)
}

// word matches what may stand on either side of KIND/NAME.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// namesOf returns the names in a text, which has lines of KIND/NAME, or manifests.
func namesOf(text string, pairs authority.Pairs) ([]string, error) {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if kind, name, is := strings.Cut(line, "/"); is && isKind(kind) && name != "" && !strings.ContainsAny(name, " :") {
			out = append(out, line)
		} else if is && word.MatchString(kind) && word.MatchString(name) { // no manifest begins like this, so the kind does not exist
			_, err := parseKind(kind)
			return nil, err
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
	for _, p := range slices.SortedFunc(slices.Values(f.Pairs), func(a, b inventory.Pair) int { return a.Place - b.Place }) {
		out = append(out, p.Ref())
	}
	return out
}
