// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

// survey is what status says, as a program reads it.
type survey struct {
	Objects  []standing.Standing `json:"objects"`
	Progress []Progress          `json:"progress,omitempty"`
	// Neighbours counts the objects that others write to, too, by who.
	Neighbours map[string]int `json:"neighbours,omitempty"`
	// Rival is what of OpenShift's own migration keeps everything where it is.
	Rival string `json:"rival,omitempty"`
	// Away reports that Poundlock does not answer, and since when.
	Away string `json:"away,omitempty"`
	// GateOff reports that the feature gate is off, and what follows.
	GateOff string `json:"gateOff,omitempty"`
	// Terminating names the namespaces of the pairs that are being deleted, and what follows.
	Terminating string `json:"terminating,omitempty"`
	// NoInfrastructure reports that the cluster's Infrastructure does not exist, and what to do.
	NoInfrastructure string `json:"noInfrastructure,omitempty"`

	leftAlone int
}

func surveyOf(f *inventory.Fleet) survey {
	s := survey{Objects: []standing.Standing{}, Rival: f.Rival, NoInfrastructure: f.NoInfrastructure}
	for _, pair := range f.Pairs {
		if pair.MachineAPI != nil && !pair.Kind.HasAuthority(pair.MachineAPI) {
			s.leftAlone++
			continue
		}
		s.Objects = append(s.Objects, standing.Of(pair))
		if pair.MachineAPI != nil {
			s.count(authority.Neighbours(pair.Kind.Name, pair.MachineAPI))
		}
	}
	s.Progress = ProgressOf(s.Objects)
	return s
}

// count counts who else writes to an object.
func (s *survey) count(by []authority.Neighbour) {
	for _, n := range by {
		if s.Neighbours == nil {
			s.Neighbours = map[string]int{}
		}
		s.Neighbours[n.Who]++
	}
}

// first are the sentences that come before all else.
func (s *survey) first() []string {
	return slices.DeleteFunc([]string{s.Away, s.GateOff, s.NoInfrastructure, s.Terminating}, func(text string) bool { return text == "" })
}
