// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

// survey is the output of status for programs.
type survey struct {
	Objects  []standing.Standing `json:"objects"`
	Progress []Progress          `json:"progress,omitempty"`
	// Neighbours counts, for each other writer, the objects to which it writes.
	Neighbours map[string]int `json:"neighbours,omitempty"`
	// Rival names the parts of OpenShift's own migration that block every move.
	Rival string `json:"rival,omitempty"`
	// Away reports that Poundlock does not answer, and since when.
	Away string `json:"away,omitempty"`
	// GateOff reports that the feature gate is off, and the consequence.
	GateOff string `json:"gateOff,omitempty"`
	// GateUnknown reports what the user may not read of the feature gate, and the consequence.
	GateUnknown string `json:"gateUnknown,omitempty"`
	// Terminating names the pairs' namespaces that are being deleted, and the consequence.
	Terminating string `json:"terminating,omitempty"`
	// NoInfrastructure reports that the cluster's Infrastructure does not exist, and the remedy.
	NoInfrastructure string `json:"noInfrastructure,omitempty"`

	leftAlone int
	// nothing is the sentence that replaces the objects if there are none.
	nothing string
}

func surveyOf(f *inventory.Fleet) survey {
	s := survey{Objects: []standing.Standing{}, Rival: f.Rival, NoInfrastructure: f.NoInfrastructure}
	for _, pair := range f.Pairs {
		if pair.MachineAPI != nil && !pair.Kind.HasAuthority(pair.MachineAPI) {
			s.leftAlone++
			continue
		}
		s.Objects = append(s.Objects, standingOf(f, pair))
		if pair.MachineAPI != nil {
			s.count(authority.Neighbours(pair.Kind.Name, pair.MachineAPI))
		}
	}
	s.Progress = ProgressOf(s.Objects)
	return s
}

// standingOf returns the summary of a pair. A Machine that the mirror does not reflect, because it does not convert, has no condition. So its reason comes from
// a conversion.
func standingOf(f *inventory.Fleet, pair inventory.Pair) standing.Standing {
	s := standing.Of(pair)
	if s.Reason != "" || !f.Reflected(pair) {
		return s.Troubled(pair)
	}
	reason, message := readiness.Unreflected(f, pair)
	if reason == "" {
		return s.Troubled(pair)
	}
	s.Reason, s.Message, s.Synchronized = reason, message, metav1.ConditionFalse
	return s
}

// count counts an object for each of its other writers.
func (s *survey) count(by []authority.Neighbour) {
	for _, n := range by {
		if s.Neighbours == nil {
			s.Neighbours = map[string]int{}
		}
		s.Neighbours[n.Who]++
	}
}

// first returns the sentences that come before everything else.
func (s *survey) first() []string {
	return slices.DeleteFunc([]string{s.Away, s.GateOff, s.rival(), s.NoInfrastructure, s.Terminating}, func(text string) bool { return text == "" })
}

// rival returns why nothing moves while OpenShift's own migration runs; "" if it does not run.
func (s *survey) rival() string {
	if s.Rival == "" {
		return ""
	}
	return "Nothing moves: Poundlock does nothing while OpenShift's own migration exists, because both would write the same fields. Stop or remove " + s.Rival +
		". More: kubectl poundlock explain " + readiness.ReasonRival
}
