// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// View is what a plan is made from, as the shell has read it. A plan changes nothing in it.
type View struct {
	Set *machinev1.ControlPlaneMachineSet
	// Unresolved are the reasons why the set's template for Cluster API could not be converted to Machine API's form (Resolved has both).
	Unresolved field.ErrorList
	// Authority is the set's status.authoritativeAPI, for which the published type has no field. Unset is Machine API's.
	Authority authority.API
	// Unreflected is why Cluster API's side cannot follow the set, in a sentence; Behind: it has not followed yet. Neither matters to a set whose new Machines
	// are Machine API's.
	Unreflected string
	Behind      bool
	// MayRecreate: the operator's flags allow the strategy Recreate.
	MayRecreate bool
	// Machines are those of the set's namespace that its selector matches, on the Machine API's side.
	Machines []machinev1beta1.Machine
	// Nodes are those with the role of the control plane.
	Nodes []corev1.Node
	// OtherNodes are those without that role that a Machine refers to.
	OtherNodes []corev1.Node
	// Unselected are Machines of Nodes that the selector does not match.
	Unselected []machinev1beta1.Machine
	// ClusterAPINamespace is where Cluster API has the Machines for which it is authoritative.
	ClusterAPINamespace string
	// Infrastructure is the one named cluster; nil where there is none.
	Infrastructure *configv1.Infrastructure
	// Trials are the results of dry runs of the plan's Trials. Without one, a Machine is compared with the template alone.
	Trials []policies.Trial
	// NotReadyGrace is how long a Node may be not ready, as at a reboot, before its Machine is unavailable. It does not let a step begin: for steps, ready
	// means ready now.
	NotReadyGrace time.Duration
	// Unlinked is since when Nodes that had a Machine have none, by UID.
	Unlinked map[types.UID]time.Time
	// Now is the time of the plan, from which graces are counted.
	Now time.Time
}

// NotReadyGrace is how long a Node may be not ready where nobody has set it: long enough for the reboot of a large host.
const NotReadyGrace = 20 * time.Minute

// standing is the state of a Node.
type standing struct {
	// ready is without the grace, serves with it.
	ready, serves bool
	// since is when that began.
	since time.Time
}

// standingOf grants the grace only to a Node that was ready before, and not to one that is still joining.
func (v View) standingOf(n *corev1.Node) standing {
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		s := standing{ready: c.Status == corev1.ConditionTrue, since: c.LastTransitionTime.Time}
		joined := s.since.Sub(n.CreationTimestamp.Time) >= Grace
		s.serves = s.ready || joined && v.Now.Before(s.since.Add(v.NotReadyGrace))
		return s
	}
	return standing{}
}

// alone is since when a Node has been without a Machine.
func (v View) alone(n *corev1.Node) time.Time {
	if at := v.Unlinked[n.UID]; at.After(n.CreationTimestamp.Time) {
		return at
	}
	return n.CreationTimestamp.Time
}

// Grace is how long a Node that has just joined may be without a Machine that refers to it: the Machine controller links the two a moment later.
const Grace = 10 * time.Minute

// TemplateOf is the only template that the published union has; an empty one where it is absent.
func TemplateOf(set *machinev1.ControlPlaneMachineSet) machinev1.OpenShiftMachineV1Beta1MachineTemplate {
	if t := set.Spec.Template.OpenShiftMachineV1Beta1Machine; t != nil {
		return *t
	}
	return machinev1.OpenShiftMachineV1Beta1MachineTemplate{}
}

// ReplicasOf is 3 where the set has none, which is the CRD's default.
func ReplicasOf(set *machinev1.ControlPlaneMachineSet) int {
	if set.Spec.Replicas == nil {
		return 3
	}
	return int(*set.Spec.Replicas)
}

// Phase is what the Machine controller reports, "" for nothing yet.
func Phase(m *machinev1beta1.Machine) string {
	if m.Status.Phase == nil {
		return ""
	}
	return *m.Status.Phase
}

func controller(m metav1.Object) *metav1.OwnerReference { return metav1.GetControllerOfNoCopy(m) }

// Selector is the label selector of a set's Machines.
func Selector(set *machinev1.ControlPlaneMachineSet) (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(&set.Spec.Selector)
}

// ReflectionRefused is the reason of Synchronized where the API server refuses the set's objects in Cluster API.
const ReflectionRefused = "ReflectionRefused"

// Reflects fills in which API is authoritative for the stored set, and whether Cluster API's side has followed it. Before the mirror has followed it once,
// that means nothing.
func (v *View) Reflects(shape authority.Shape, generation int64) {
	v.Authority = shape.Current
	switch c := shape.Condition(authority.ConditionSynchronized); {
	case c.Status == metav1.ConditionFalse && c.Reason == ReflectionRefused:
		return // a template and failure domains that the API server does not take; Machines need neither
	case c.Status == metav1.ConditionFalse:
		v.Unreflected = cmp.Or(c.Message, c.Reason)
	}
	v.Behind = shape.SynchronizedGeneration > 0 && shape.SynchronizedGeneration < generation
}

// ViewOf is what a set's plan is made from, given a control plane that was read. A set whose selector cannot be read has no Machines.
func ViewOf(set *machinev1.ControlPlaneMachineSet, in policies.ControlPlane) View {
	selector, err := Selector(set)
	if err != nil {
		selector = labels.Nothing()
	}
	return View{
		Set: set, Nodes: in.Nodes, OtherNodes: in.OtherNodes, Unselected: in.Unselected, Infrastructure: in.Infrastructure, Trials: in.Trials, Now: in.Now,
		ClusterAPINamespace: in.ClusterAPINamespace,
		MayRecreate:         in.MayRecreate, NotReadyGrace: NotReadyGrace,
		Machines: slices.DeleteFunc(slices.Clone(in.Machines), func(m machinev1beta1.Machine) bool { return !selector.Matches(labels.Set(m.Labels)) }),
	}
}
