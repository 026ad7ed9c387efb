// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Plan is what a set does about its Machines: adopt, create and delete.
type Plan struct {
	// Members are the Machines that count as the set's replicas, in the order in which they were given. Shared Machines that the set adopts come last.
	Members []*machinev1beta1.Machine
	// Adopt are those Members that have no controller and that the set may adopt, because the Machine API is authoritative for them. If Cluster API is
	// authoritative for a Machine, Cluster API sets its owner.
	Adopt []*machinev1beta1.Machine
	// Create is how many Machines are missing.
	Create int
	// Delete are the surplus Machines, in the order of their deletion. Members that the set neither controls nor adopts are never deleted, because they may
	// never become the set's. No other Machine is deleted in their place.
	Delete []*machinev1beta1.Machine
}

// Idle reports whether there is nothing to do.
func (p Plan) Idle() bool { return len(p.Adopt) == 0 && p.Create == 0 && len(p.Delete) == 0 }

// PlanFor returns the plan for a set whose spec is valid (Selector). machines are the Machines of the set's namespace. Equal input gives an equal plan,
// whatever the order of the Machines: under the policy Random, the seed decides which Machines are deleted.
//
// shared reports whether another set also selects a Machine that has no controller; nil means that no Machine is shared. The set adopts shared Machines only as
// long as it has too few, and never counts them as surplus. Nothing shows which set a shared Machine belongs to, and the set with fewer replicas would delete
// what the other set needs.
func PlanFor(set *machinev1beta1.MachineSet, selector labels.Selector, machines []*machinev1beta1.Machine, shared func(*machinev1beta1.Machine) bool,
	seed string) Plan {
	var p Plan
	var own, others []*machinev1beta1.Machine
	for _, m := range machines {
		owner := metav1.GetControllerOfNoCopy(m)
		if !m.DeletionTimestamp.IsZero() || !selector.Matches(labels.Set(m.Labels)) || owner != nil && owner.UID != set.UID {
			continue
		}
		switch {
		case owner != nil:
			own = append(own, m)
		case ofMachineAPI(m) && shared != nil && shared(m):
			others = append(others, m)
			continue
		case ofMachineAPI(m):
			p.Adopt = append(p.Adopt, m)
		}
		p.Members = append(p.Members, m)
	}
	slices.SortFunc(others, func(a, b *machinev1beta1.Machine) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	missing := others[:min(len(others), max(0, Replicas(set)-len(p.Members)))]
	p.Members, p.Adopt = append(p.Members, missing...), append(p.Adopt, missing...)
	own = append(own, p.Adopt...)
	p.Create = max(0, Replicas(set)-len(p.Members))
	p.Delete = first(own, policyOf(set), seed, len(own)-Replicas(set))
	return p
}

// ofMachineAPI reports whether the Machine API is authoritative for the Machine. A Machine whose status and spec name no API counts as the Machine API's.
func ofMachineAPI(m *machinev1beta1.Machine) bool {
	switch cmp.Or(m.Status.AuthoritativeAPI, m.Spec.AuthoritativeAPI) {
	case "", machinev1beta1.MachineAuthorityMachineAPI:
		return true
	}
	return false
}

// Replicas returns how many Machines the set wants: 1 if spec.replicas is absent.
func Replicas(set *machinev1beta1.MachineSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

// Selector returns the set's selector. It also validates the set: the error has a sentence for each problem of the spec that no repetition fixes. With an
// error, the set must neither create nor release a Machine.
func Selector(set *machinev1beta1.MachineSet) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(&set.Spec.Selector)
	switch {
	case err != nil:
		err = fmt.Errorf("spec.selector cannot be read: %w", err)
	case selector.Empty():
		err = errors.New("spec.selector is empty, and would match every Machine: select a label in spec.template.metadata.labels")
	case !selector.Matches(labels.Set(set.Spec.Template.Labels)):
		err = fmt.Errorf("spec.template.metadata.labels do not match spec.selector (%s), so the MachineSet would not recognize the Machines that it "+
			"creates: add these "+
			"labels to spec.template.metadata.labels", selector)
	}
	return selector, errors.Join(err, validReplicas(set), validPolicy(set))
}

func validReplicas(set *machinev1beta1.MachineSet) error {
	if n := Replicas(set); n < 0 {
		return fmt.Errorf("spec.replicas is %d: give the number of Machines, 0 or more", n)
	}
	return nil
}

func validPolicy(set *machinev1beta1.MachineSet) error {
	if order(policyOf(set)) == nil {
		return fmt.Errorf("spec.deletePolicy is %q, which is not a valid value: use Random, Newest or Oldest", set.Spec.DeletePolicy)
	}
	return nil
}
