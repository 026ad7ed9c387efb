// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// Marked reports whether Cluster API's health check has asked, by conditions of a Machine, the Machine's MachineSet to delete the Machine. The set deletes such
// a Machine even if the Machine is paused.
func Marked(machine *policies.Object) bool {
	all := ReadConditions(machine)
	return find(all, clusterv1.MachineHealthCheckSucceededCondition).Status == metav1.ConditionFalse &&
		find(all, clusterv1.MachineOwnerRemediatedCondition).Status == metav1.ConditionFalse
}

// GivenUp reports whether a remediator has left a Machine to the Machine's owner, which is to delete it (Marked). A mark that is older than the present failure
// of the health check does not count: no paused MachineSet removes the mark when the Machine is healthy again.
func GivenUp(machine *policies.Object) bool {
	all := ReadConditions(machine)
	failed := find(all, clusterv1.MachineHealthCheckSucceededCondition).LastTransitionTime
	marked := find(all, clusterv1.MachineOwnerRemediatedCondition).LastTransitionTime
	return Marked(machine) && !marked.Before(&failed)
}

// Checks reports whether a Cluster API health check is active and selects a Machine that nobody has exempted from checks. If the check cannot be read, Checks
// returns true.
func Checks(check, machine *policies.Object) bool {
	if machine.HasAnnotation(clusterv1.MachineSkipRemediationAnnotation) || check.HasAnnotation(PausedAnnotation) || check.Deleting() {
		return false
	}
	var spec clusterv1.MachineHealthCheckSpec
	if err := json.Unmarshal(orNull(check.Spec), &spec); err != nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(metav1.CloneSelectorAndAddLabel(&spec.Selector, clusterv1.ClusterNameLabel, spec.ClusterName))
	return err != nil || selector.Matches(labels.Set(machine.Metadata.Labels))
}

// Judged returns, sorted by name, the Machines that Cluster API's set of the pair would delete as soon as the set is unpaused, because of old conditions of a
// health check (Marked). These are the Machines with such conditions that no check watches any more. A check that still selects a Machine removes the
// conditions when the Machine's Node recovers. A paused Machine counts as not watched, because checks skip it. checks are all health checks of Cluster API. No
// check does anything while cluster, the set's Cluster, is paused.
func (r Roster) Judged(checks []*policies.Object, cluster *policies.Object) []string {
	if r.Sets[ClusterAPI] == nil {
		return nil
	}
	if PausesAll(cluster) {
		checks = nil
	}
	var out []string
	counted := r.counted(ClusterAPI, func(m, set *policies.Object) bool { return controlledBy(m, set) || adoptable(m, ClusterAPI) })
	for _, m := range r.Machines[ClusterAPI] {
		watched := !m.HasAnnotation(PausedAnnotation) && slices.ContainsFunc(checks, func(c *policies.Object) bool { return Checks(c, m) })
		if counted[m.Metadata.Name] && Marked(m) && !watched {
			out = append(out, m.Metadata.Name)
		}
	}
	slices.Sort(out)
	return out
}

// NameJudged returns a sentence that names the first of the Machines and says how many more there are. It returns "" for an empty list.
func NameJudged(list []string) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Machine %s has the conditions HealthCheckSucceeded=False and OwnerRemediated=False.", list[0])
	}
	return fmt.Sprintf("Machine %s and %d more have the conditions HealthCheckSucceeded=False and OwnerRemediated=False.", list[0], len(list)-1)
}
