// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/policies/authority"
)

// report is the output of check for programs.
type report struct {
	To       authority.API       `json:"to"`
	Counts   map[string]int      `json:"counts"`
	Objects  []readiness.Finding `json:"objects"`
	Reasons  []Group             `json:"reasons,omitempty"`
	Problems []inventory.Problem `json:"problems,omitempty"`
	Assumed  []string            `json:"assumed,omitempty"`
	// Undrained are sentences, one for each namespace, about what Cluster API leaves out when it deletes Machines.
	Undrained []string `json:"undrained,omitempty"`
	// PausedClusters are sentences, one for each Cluster, about what a paused Cluster means for the objects.
	PausedClusters []string `json:"pausedClusters,omitempty"`
	// Away reports that Poundlock is installed and does not answer, and since when.
	Away string `json:"away,omitempty"`

	// asked and selector are what the user asked for.
	asked     targets.List
	selector  string
	others    int
	unchecked []string
}

// reportOf returns the report on all pairs.
func reportOf(f *inventory.Fleet, c inventory.Cluster, to authority.API) report {
	r := report{
		To: to, Counts: map[string]int{}, Objects: []readiness.Finding{}, Problems: f.Problems, Assumed: append(f.Unchecked(), c.Assumed...),
		others: f.Others, unchecked: f.Unchecked(),
	}
	for _, pair := range f.Pairs {
		env, unknown := f.Env(c, pair)
		finding := readiness.Judge(pair, to, env, unknown, f.Lacks(c, env))
		r.Objects = append(r.Objects, finding)
		r.Counts[string(finding.Readiness)]++
	}
	r.Reasons = Groups(r.Objects)
	r.Undrained = readiness.Once(r.Objects, func(f readiness.Finding) string { return f.Undrained })
	r.PausedClusters = readiness.Once(r.Objects, func(f readiness.Finding) string { return f.PausedCluster })
	return r
}

// exit returns an error with the exit code. The code for input that could not be read takes precedence over that of --fail-on.
func (r report) exit(failOn []string) error {
	if len(r.Problems) > 0 {
		return cli.Exit(cli.CodeError, "")
	}
	for _, f := range r.Objects {
		if slices.ContainsFunc(failOn, func(on string) bool {
			return strings.EqualFold(on, string(f.Readiness)) || strings.EqualFold(on, f.Reason)
		}) {
			return cli.Exit(cli.CodeNo, "")
		}
	}
	return nil
}
