// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Standing is a set's status. docs/plugin.md documents its shape: fields keep their meaning.
type Standing struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Strategy  string `json:"strategy"`
	Platform  string `json:"platform,omitempty"`
	// RequestedAPI is spec.authoritativeAPI, AuthoritativeAPI is status.authoritativeAPI.
	RequestedAPI     authority.API `json:"requestedAPI,omitempty"`
	AuthoritativeAPI authority.API `json:"authoritativeAPI,omitempty"`
	Deleting         bool          `json:"deleting,omitempty"`
	Replicas         int           `json:"replicas"`
	// Numbers are counted now. Reported are the counts in the set's status.
	Numbers            Numbers     `json:"numbers"`
	Reported           Numbers     `json:"reported"`
	Generation         int64       `json:"generation"`
	ObservedGeneration int64       `json:"observedGeneration"`
	Conditions         []Condition `json:"conditions"`
	Indexes            []Index     `json:"indexes"`
	// WaitsFor has what the set waits for, in sentences: first those about the set, then those about each Machine.
	WaitsFor []string  `json:"waitsFor,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	// ClusterOperator has the conditions of ClusterOperator control-plane-machine-set; none if there is no such object.
	ClusterOperator []Condition `json:"clusterOperator,omitempty"`
	// Away reports that Poundlock does not answer, or that no manager leads, and since when.
	Away string `json:"away,omitempty"`
	// Unread is what could not be read besides the set and its control plane, and why.
	Unread []string `json:"unread,omitempty"`

	// untried reports that Machines may differ from the template only by what admission writes into Machines. The operator has checked that with a dry run, and
	// this command has not.
	untried bool
	// lags reports that the set's status has been out of date for more than a moment.
	lags bool
}

// Condition is the common part of all kinds' conditions.
type Condition struct {
	Type    string      `json:"type"`
	Status  string      `json:"status"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
	Since   metav1.Time `json:"since,omitzero"`
}

// Age is the time since a condition's last transition; 0 if that is unknown.
func (c Condition) Age(now time.Time) time.Duration {
	if c.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(c.Since.Time))
}

// StandingOf returns the status of a view's set. stored is the same set as it was read; operator is nil if there is none.
func StandingOf(v controlplane.View, stored *unstructured.Unstructured, operator *configv1.ClusterOperator) (Standing, error) {
	o, err := object(stored)
	if err != nil {
		return Standing{}, err
	}
	plan, shape, status := controlplane.Make(v), authority.Read(o), v.Set.Status
	s := Standing{
		Namespace: v.Set.Namespace, Name: v.Set.Name, State: stateOf(plan), Strategy: string(plan.Strategy), Platform: string(plan.Platform),
		RequestedAPI: shape.Requested, AuthoritativeAPI: shape.Current, Deleting: v.Set.DeletionTimestamp != nil,
		Replicas: plan.Replicas, Numbers: Numbers(plan.Numbers()), Reported: reported(status),
		Generation: v.Set.Generation, ObservedGeneration: status.ObservedGeneration, Conditions: []Condition{}, Indexes: indexes(v, plan),
	}
	for _, c := range status.Conditions {
		s.Conditions = append(s.Conditions, Condition{c.Type, string(c.Status), c.Reason, c.Message, c.LastTransitionTime})
	}
	for _, p := range plan.Problems {
		s.Problems = append(s.Problems, Problem{string(p.Reason), p.Message})
	}
	if operator != nil {
		for _, c := range operator.Status.Conditions {
			s.ClusterOperator = append(s.ClusterOperator, Condition{string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime})
		}
	}
	s.WaitsFor, s.untried = s.waits(plan), len(v.Trials) == 0 && len(plan.NeededTrials()) > 0
	return s, nil
}

func reported(s machinev1.ControlPlaneMachineSetStatus) Numbers {
	return Numbers{int(s.Replicas), int(s.ReadyReplicas), int(s.UpdatedReplicas), int(s.UnavailableReplicas)}
}

// waits returns the sentences about what the set waits for, and then those about its Machines.
func (s Standing) waits(plan controlplane.Plan) []string {
	var out []string
	if s.AuthoritativeAPI == authority.Migrating {
		out = append(out, "authority over the set is moving, and the set begins no step until the move is over")
	}
	text := plan.Waits
	var each []string
	for _, i := range s.Indexes {
		for _, m := range i.Machines {
			for _, why := range m.WaitsFor {
				if !m.repeats(text, why) {
					each = append(each, fmt.Sprintf("%s %s: %s", m.Name, m.doing(), why))
				}
			}
			if len(m.WaitsFor) > 0 && (strings.HasPrefix(text, m.Name+" is not ready yet") || text == m.Name+deleted) { // the Machine's own sentence has the reason
				text = ""
			}
		}
	}
	if text != "" {
		out = append(out, text)
	}
	return append(out, each...)
}

// deleted is the part after the name in the plan's sentence about a Machine that is being deleted.
const deleted = " is being deleted"

// repeats reports whether the plan's sentence already has what the Machine waits for: the hook that holds the Machine, by its name and owner, and what to do
// about that hook.
func (m Machine) repeats(text, why string) bool {
	_, hook, is := strings.Cut(why, " hook ")
	return is && strings.HasPrefix(text, m.Name+deleted) && strings.Contains(text, "the hook "+hook)
}

func (m Machine) doing() string {
	if m.Deleting {
		return "is being deleted, and waits for"
	}
	return "is not ready"
}

// Unobserved reports whether no operator has reconciled the set's current generation.
func (s Standing) Unobserved() bool { return s.ObservedGeneration < s.Generation }

// disagrees reports whether the set's status counts other Machines than there are now.
func (s Standing) disagrees() bool {
	reported := s.Reported
	if s.untried {
		reported.Updated = s.Numbers.Updated
	}
	return !s.Unobserved() && reported != s.Numbers
}

// after returns the standing with lags set if the state differs from the set's status, and neither has changed since a moment before. In a rollout Machines and
// Nodes change all the time, and the operator writes the status a moment later.
func (s Standing) after(before Standing) Standing {
	s.lags = s.disagrees() && before.disagrees() && s.Reported == before.Reported && s.Numbers == before.Numbers
	return s
}

// StatusOf returns the status of the condition of the given type; "" if there is none.
func StatusOf(all []Condition, kind string) string {
	if i := slices.IndexFunc(all, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		return all[i].Status
	}
	return ""
}
