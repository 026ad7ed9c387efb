// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/internal/spelling"
)

// Files has the sources from which objects are read instead of the cluster, and the facts about the cluster that files lack.
type Files struct {
	inventory.Sources
	Given inventory.Cluster

	// Parents also reads the cluster's MachineSets if only Machines are requested, because a Machine's conversion depends on its set.
	Parents bool
	// BootData also looks for the Secrets of boot data (inventory.Query).
	BootData bool

	given func() bool
	// reads names the command.
	reads string
}

// AddFlags adds -f with its help, and the flags for facts that files lack.
func (f *Files) AddFlags(cmd *cobra.Command, usage string) {
	cmd.Flags().StringSliceVarP(&f.Paths, "filename", "f", nil, usage)
	addKustomization(cmd, &f.Sources)
	f.reads = cmd.Name()
	f.given = func() bool { return cmd.Flags().Changed("filename") }
	cmd.Flags().Var((*platformName)(&f.Given.Platform), "platform",
		"the cluster's platform, such as AWS (only with -f, if the files contain no Infrastructure object)")
	cli.CompleteFlag(cmd, "platform", platformNames()...)
	cmd.Flags().StringVar(&f.Given.Name, "cluster-name", "", "the cluster's infrastructure name (only with -f, if the files contain no Infrastructure object)")
	cmd.Flags().StringVar(&f.Given.Region, "region", "", "the cluster's region (only with -f, if the files contain no Infrastructure object)")
	cmd.Flags().Var((*patterns)(&f.Given.NodeSync.Labels), "additional-sync-machine-labels",
		"with -f: the value of this flag of Cluster API's manager, regular expressions of labels that the manager also copies to Nodes; "+
			"in a cluster, the plugin reads the value from the manager's Deployment")
	cmd.Flags().Var((*patterns)(&f.Given.NodeSync.Annotations), "additional-sync-machine-annotations",
		"with -f: like --additional-sync-machine-labels, for annotations")
	cmd.Flags().Var((*gates)(&f.Given.Gates), "feature-gates",
		"with -f: the value of this flag of Cluster API's manager, such as MachineTaintPropagation=true; "+
			"in a cluster, the plugin reads the value from the manager's Deployment")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json") // no error: the flag exists
}

// platformName is the value of a flag: a platform's name in the Infrastructure, in any case.
type platformName string

func (p *platformName) String() string { return string(*p) }

func (p *platformName) Type() string { return "string" }

// Set also accepts platforms without a conversion, because the answer is then that there is none.
func (p *platformName) Set(text string) error {
	all := append(platformNames(), string(configv1.BareMetalPlatformType), string(configv1.IBMCloudPlatformType), string(configv1.KubevirtPlatformType),
		string(configv1.LibvirtPlatformType), string(configv1.OvirtPlatformType), string(configv1.EquinixMetalPlatformType),
		string(configv1.AlibabaCloudPlatformType), string(configv1.ExternalPlatformType), string(configv1.NonePlatformType))
	for _, name := range all {
		if strings.EqualFold(name, text) {
			*p = platformName(name)
			return nil
		}
	}
	meant := ""
	if near := spelling.Nearest(text, all); near != "" {
		meant = fmt.Sprintf(". Did you mean %s?", near)
	}
	return fmt.Errorf("give one of %s%s", strings.Join(platformNames(), ", "), meant)
}

// platformNames returns the names of the platforms with a conversion.
func platformNames() []string {
	var out []string
	for _, p := range platforms.List() {
		out = append(out, p.Name)
	}
	return out
}

// patterns is the value of a flag: regular expressions.
type patterns conversion.Patterns

func (p *patterns) String() string {
	var out []string
	for _, pattern := range *p {
		out = append(out, pattern.String())
	}
	return strings.Join(out, ",")
}

func (p *patterns) Type() string { return "strings" }

// Set reads the text as Cluster API's manager does: a line of CSV. An empty text has no pattern, and says that there are none.
func (p *patterns) Set(text string) error {
	if *p == nil {
		*p = patterns{}
	}
	if text == "" {
		return nil
	}
	texts, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return fmt.Errorf("%q is no list with commas: %w", text, err)
	}
	more, err := conversion.ParsePatterns(texts)
	*p = append(*p, more...)
	return err
}

// gates is the value of a flag: feature gates, Name=true or Name=false.
type gates map[string]bool

func (g *gates) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(*g)) {
		out = append(out, fmt.Sprintf("%s=%t", name, (*g)[name]))
	}
	return strings.Join(out, ",")
}

func (g *gates) Type() string { return "Name=true|false" }

func (g *gates) Set(text string) error {
	texts := strings.Split(text, ",")
	for _, one := range texts {
		if _, value, _ := strings.Cut(one, "="); value != "true" && value != "false" {
			return fmt.Errorf("%q: give Name=true or Name=false", one)
		}
	}
	*g = inventory.Gates(*g, texts)
	return nil
}

// Gather reads the objects from files, or from the cluster.
func (f Files) Gather(ctx context.Context, p *cli.Plugin, s Selection, args []string) (*inventory.Fleet, error) {
	if err := oneOf(f.Sources); err != nil {
		return nil, err
	}
	if len(f.Paths) == 0 && f.given != nil && f.given() { // such as an empty variable of a script
		return nil, cli.Usagef("-f is empty: give a file, a folder, or - for standard input")
	}
	t, err := Parse(args)
	if err != nil {
		return nil, err
	}
	q, err := s.Query(p, t)
	if err != nil {
		return nil, err
	}
	q.Parents, q.BootData = f.Parents, f.BootData
	var fleet *inventory.Fleet
	if !f.None() {
		fleet, err = inventory.FromSources(f.Sources, p.In, q.Pairs)
		if err == nil {
			if nothing := fleet.Nothing(f.Sources, f.reads); nothing != "" {
				return nil, cli.Exit(cli.CodeError, nothing)
			}
			fleet.Narrow(func(pair inventory.Pair) bool { return q.Matches(pair) })
		}
	} else {
		fleet, err = FromCluster(ctx, p, q)
	}
	if err != nil {
		return nil, err
	}
	return fleet, t.Pick(fleet, q.Pairs)
}

// addKustomization adds -k.
func addKustomization(cmd *cobra.Command, s *inventory.Sources) {
	cmd.Flags().StringVarP(&s.Kustomization, "kustomize", "k", "", "a kustomization's folder, instead of -f, as with kubectl apply -k")
	_ = cmd.MarkFlagDirname("kustomize") // no error: the flag exists
}

// oneOf returns an error if both -f and -k are given, as kubectl does.
func oneOf(s inventory.Sources) error {
	if len(s.Paths) > 0 && s.Kustomization != "" {
		return cli.Usagef("-f and -k exclude each other: give only one")
	}
	return nil
}

// FromCluster reads from the cluster what the query requests.
func FromCluster(ctx context.Context, p *cli.Plugin, q inventory.Query) (*inventory.Fleet, error) {
	client, err := p.Client(nil)
	if err != nil {
		return nil, err
	}
	return inventory.FromCluster(ctx, client, q)
}
