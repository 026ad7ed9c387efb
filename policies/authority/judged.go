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

// Marked reports whether Cluster API's check asks the MachineSet of a Machine to delete it. The set does, also where the Machine is paused.
func Marked(machine *policies.Object) bool {
	all := ReadConditions(machine)
	return find(all, clusterv1.MachineHealthCheckSucceededCondition).Status == metav1.ConditionFalse &&
		find(all, clusterv1.MachineOwnerRemediatedCondition).Status == metav1.ConditionFalse
}

// Checks reports whether a check of Cluster API is active and selects a Machine that nobody has spared. One that cannot be read may.
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

// Judged names the Machines that Cluster API's set of the pair would delete as soon as it is unpaused, because of an old mark: no check selects them any
// more that would remove the mark when their Nodes recover. A check also skips paused Machines. checks are all of Cluster API's.
func (r Roster) Judged(checks []*policies.Object) []string {
	if r.Sets[ClusterAPI] == nil {
		return nil
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

// NameJudged is a sentence about the first of the Machines, and how many more there are; "" for none.
func NameJudged(list []string) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Machine %s has the conditions HealthCheckSucceeded=False and OwnerRemediated=False.", list[0])
	}
	return fmt.Sprintf("Machine %s and %d more have the conditions HealthCheckSucceeded=False and OwnerRemediated=False.", list[0], len(list)-1)
}
