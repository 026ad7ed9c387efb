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
	"k8s.io/utils/ptr"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// View is what a plan is made from, as the caller has read it. A plan changes nothing in it.
type View struct {
	Set *machinev1.ControlPlaneMachineSet
	// Unresolved are the errors by which the set's template for Cluster API could not be converted to Machine API's form (Resolved has both).
	Unresolved field.ErrorList
	// Authority is the set's status.authoritativeAPI, for which the published type has no field. Unset means Machine API.
	Authority authority.API
	// Unreflected is a sentence that says why Cluster API's side cannot follow the set. Behind reports that Cluster API's side has not followed the set yet.
	// Neither matters if Machine API is to be authoritative for the set's new Machines.
	Unreflected string
	Behind      bool
	// MayRecreate: the operator's flags allow the strategy Recreate.
	MayRecreate bool
	// Machines are the Machine API Machines in the set's namespace that the set's selector matches.
	Machines []machinev1beta1.Machine
	// Nodes are the Nodes with the role of the control plane.
	Nodes []corev1.Node
	// OtherNodes are the Nodes without that role to which a Machine refers.
	OtherNodes []corev1.Node
	// Unselected are the Machines that refer to a control plane Node and that the set's selector does not match.
	Unselected []machinev1beta1.Machine
	// ClusterAPINamespace is the namespace in which Cluster API has the Machines for which Cluster API is authoritative.
	ClusterAPINamespace string
	// Infrastructure is the Infrastructure named cluster; nil if there is none.
	Infrastructure *configv1.Infrastructure
	// Trials are the results of dry runs of the plan's Trials. A Machine without a trial is compared only with the template.
	Trials []policies.Trial
	// NotReadyGrace is how long a Node may be not ready, for example during a reboot, before its Machine counts as unavailable. No step begins because of this
	// grace: for steps, a Node is ready only if it is ready now.
	NotReadyGrace time.Duration
	// Unlinked has the Nodes that had a Machine and now have none, by UID, each with the time since which it has none. Only the operator knows them, because it
	// remembers in its process what it saw. Reviews run in every replica and the plugin runs once, so in their views such a Node counts as alone since its
	// creation: their forecast names the Node as a problem up to Grace earlier than the operator.
	Unlinked map[types.UID]time.Time
	// Now is the time of the plan, from which graces are counted.
	Now time.Time
}

// NotReadyGrace is the default of View.NotReadyGrace, long enough for the reboot of a large host. The plugin assumes it, because it cannot read the flag
// --control-plane-not-ready-grace of the manager.
const NotReadyGrace = 20 * time.Minute

// standing is the state of a Node.
type standing struct {
	// ready reports that the Node is ready; serves also counts a Node as ready within NotReadyGrace.
	ready, serves bool
	// since is when the Node's condition Ready last changed.
	since time.Time
}

// standingOf returns the state of a Node. Only a Node that was ready before gets NotReadyGrace. A Node that is still joining does not get it: the Node's
// condition must have changed at least Grace after the Node's creation.
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

// alone returns the time since which a Node has been without a Machine.
func (v View) alone(n *corev1.Node) time.Time {
	if at := v.Unlinked[n.UID]; at.After(n.CreationTimestamp.Time) {
		return at
	}
	return n.CreationTimestamp.Time
}

// Grace is how long a Node that has just joined may be without a Machine that refers to it. The Machine controller links the two a moment after the Node joins.
const Grace = 10 * time.Minute

// TemplateOf returns the set's template for Machine API, the only member that the published union has; an empty template if the set has none.
func TemplateOf(set *machinev1.ControlPlaneMachineSet) machinev1.OpenShiftMachineV1Beta1MachineTemplate {
	if t := set.Spec.Template.OpenShiftMachineV1Beta1Machine; t != nil {
		return *t
	}
	return machinev1.OpenShiftMachineV1Beta1MachineTemplate{}
}

// ReplicasOf returns the set's replicas; 3, the CRD's default, if the set has none.
func ReplicasOf(set *machinev1.ControlPlaneMachineSet) int {
	if set.Spec.Replicas == nil {
		return 3
	}
	return int(*set.Spec.Replicas)
}

// Phase returns the phase that the Machine controller reports, "" if it has not reported any.
func Phase(m *machinev1beta1.Machine) string {
	if m.Status.Phase == nil {
		return ""
	}
	return *m.Status.Phase
}

func controller(m metav1.Object) *metav1.OwnerReference { return metav1.GetControllerOfNoCopy(m) }

// Selector returns the label selector of a set's Machines.
func Selector(set *machinev1.ControlPlaneMachineSet) (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(&set.Spec.Selector)
}

// ReflectionRefused is the reason of Synchronized if the API server refuses the set's objects in Cluster API.
const ReflectionRefused = "ReflectionRefused"

// Reflects sets the view's Authority, Unreflected and Behind from the stored set. It leaves Behind false until the mirror has followed the set for the first
// time.
func (v *View) Reflects(shape authority.Shape, generation int64) {
	v.Authority = shape.Current
	switch c := shape.Condition(authority.ConditionSynchronized); {
	case c.Status == metav1.ConditionFalse && c.Reason == ReflectionRefused:
		return // the API server refuses the set's template and failure domains, which Machines do not need
	case c.Status == metav1.ConditionFalse:
		v.Unreflected = cmp.Or(c.Message, c.Reason)
	}
	v.Behind = shape.SynchronizedGeneration > 0 && shape.SynchronizedGeneration < generation
}

// ViewOf returns the view of a set in the control plane that the caller has read. If the set's selector cannot be read, the view has no Machines.
func ViewOf(set *machinev1.ControlPlaneMachineSet, in policies.ControlPlane) View {
	selector, err := Selector(set)
	if err != nil {
		selector = labels.Nothing()
	}
	return View{
		Set: set, Nodes: in.Nodes, OtherNodes: in.OtherNodes, Unselected: in.Unselected, Infrastructure: in.Infrastructure, Trials: in.Trials, Now: in.Now,
		ClusterAPINamespace: in.ClusterAPINamespace,
		MayRecreate:         in.MayRecreate, NotReadyGrace: ptr.Deref(in.NotReadyGrace, NotReadyGrace),
		Machines: slices.DeleteFunc(slices.Clone(in.Machines), func(m machinev1beta1.Machine) bool { return !selector.Matches(labels.Set(m.Labels)) }),
	}
}
