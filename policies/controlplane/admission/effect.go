// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// Forecast returns warnings about the effects of a request, or the warning that there are none. A refused request gets no forecast.
func Forecast(c policies.Change) policies.Verdict {
	if c.New != nil && c.Old.Deleting() && !same(c.Old.Spec, c.New.Spec) {
		return policies.Warn("metadata.deletionTimestamp: this set is being deleted, so it does nothing, whatever its spec is. Wait until it is gone. Then edit " +
			"the set that Poundlock generates, or create your own")
	}
	if !changesSpec(c) {
		return policies.Verdict{}
	}
	p := propose(c, c.New)
	if p == nil || refused(c) {
		return policies.Verdict{}
	}
	view := p.view()
	moving := view.Authority == authority.Migrating
	if moving {
		view.Authority = asks(c.New)
	}
	if len(c.Facts.Unconvertible) > 0 && whoseNewAre(c) == authority.ClusterAPI {
		view.Unreflected = strings.Join(values.Names(c.Facts.Unconvertible, func(e *field.Error) string { return e.Error() }), "; ")
	}
	plan := controlplane.Make(view)
	forecast := plan.Forecast()
	switch {
	case moving:
		forecast = append([]string{"this change has no effect while status.authoritativeAPI of the set is Migrating. After that:"}, forecast...)
	case p.moves:
		forecast = append([]string{fmt.Sprintf("this change has no effect until status.authoritativeAPI of the set is %s. After "+
			"that:", view.Authority)}, forecast...)
	}
	return p.written(policies.Warn(forecast...))
}

// forecastNeeds returns the needs of Forecast. If Cluster API is to be authoritative for the set's new Machines, the set has to be converted.
func forecastNeeds(c policies.Change) policies.Need {
	needs := world(c)
	if needs != 0 && whoseNewAre(c) == authority.ClusterAPI {
		needs |= policies.NeedConversion
	}
	return needs
}

// Asked returns the Machines that a review tries with a dry run. If a request changes what Machines are made from, or activates the set, these are one Machine
// for each failure domain. Otherwise they are the Machines that the forecast needs.
func Asked(c policies.Change, in *policies.ControlPlane) []controlplane.Trial {
	if !changesSpec(c) {
		return nil
	}
	now := madeOf(c, c.New, in)
	if now == nil {
		return nil
	}
	var stored *proposal
	if c.Old != nil {
		stored = made(c.Old, in)
	}
	plan := now.plan()
	if begins(c) || slices.ContainsFunc(plan.Trials(), unknownTo(stored)) {
		return plan.Trials()
	}
	return plan.NeededTrials()
}

// unknownTo returns a function that reports whether a Machine differs from every Machine that the set "before" would create.
func unknownTo(before *proposal) func(controlplane.Trial) bool {
	var known []controlplane.Trial
	if before != nil {
		plan := before.plan()
		known = plan.Trials()
	}
	return func(t controlplane.Trial) bool {
		return !slices.ContainsFunc(known, func(k controlplane.Trial) bool { return k.Of == t.Of })
	}
}

// Tried refuses a set whose Machines the API server refuses: "If it is invalid, the cluster will degrade as the new Machines created by the
// ControlPlaneMachineSet will fail to launch". It does not refuse an edit if the stored set would create the refused Machine, too: because of that refusal a
// person may want to change the strategy.
func Tried(c policies.Change) policies.Verdict {
	if !changesSpec(c) {
		return policies.Verdict{}
	}
	p := propose(c, c.New)
	if p == nil || len(p.Trials) == 0 {
		return policies.Verdict{}
	}
	plan, isNew := p.plan(), func(controlplane.Trial) bool { return true }
	if !begins(c) {
		isNew = unknownTo(propose(c, c.Old))
	}
	var v policies.Verdict
	for _, t := range plan.Trials() {
		at := slices.IndexFunc(p.Trials, func(a policies.Trial) bool { return a.Of == t.Of })
		if at < 0 {
			continue
		}
		switch a := p.Trials[at]; {
		case a.Unanswered != "":
			v.Warnings = append(v.Warnings, "Poundlock could not check whether the API server accepts a Machine of this set: "+a.Unanswered)
		case a.Refused != "" && isNew(t):
			v.Denials = append(v.Denials, field.Forbidden(platform.TemplatePath(), fmt.Sprintf("the API server refuses a Machine that the set would create from "+
				"this template%s: %s",
				inDomain(t.Domain), a.Refused)))
		case a.Machine != nil:
			v.Warnings = append(v.Warnings, plan.Overridden(t, a.Machine)...)
		}
	}
	v.Denials, v.Warnings = oncePerText(v.Denials), slices.Compact(slices.Sorted(slices.Values(v.Warnings)))
	return p.written(v)
}

func inDomain(name string) string {
	if name == "" {
		return ""
	}
	return " in the failure domain " + name
}

// oncePerText returns the errors without those that repeat an earlier one and differ from it only in the failure domain.
func oncePerText(all field.ErrorList) field.ErrorList {
	var out field.ErrorList
	seen := map[string]bool{}
	for _, e := range all {
		if _, words, _ := strings.Cut(e.Detail, ": "); !seen[words] {
			seen[words] = true
			out = append(out, e)
		}
	}
	return out
}

// refused reports whether another rule refuses the request.
func refused(c policies.Change) bool {
	return slices.ContainsFunc(Rules().Applying(c), func(r policies.Rule) bool { return r.ID != ForecastRule && len(r.Check(c).Denials) > 0 })
}

// Foreground refuses the deletion of a set in the foreground: "it will need to ensure that there are no owner references on the Machines … This will prevent
// the garbage collector from removing the Control Plane Machines when the ControlPlaneMachineSet is deleted". In the foreground the garbage collector deletes
// the Machines before these references are removed.
func Foreground(c policies.Change) policies.Verdict {
	switch {
	case c.Operation != admissionv1.Delete:
		if c.New.HasFinalizer(metav1.FinalizerDeleteDependents) && !c.Old.HasFinalizer(metav1.FinalizerDeleteDependents) {
			return policies.Deny(field.Forbidden(field.NewPath("metadata", "finalizers"),
				fmt.Sprintf("the finalizer %s makes the garbage collector delete the control plane's Machines before the set: leave this finalizer out",
					metav1.FinalizerDeleteDependents)))
		}
	case inForeground(c):
		return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
			"with --cascade=foreground the garbage collector deletes the control plane's Machines before the set. To delete the set and keep the Machines: kubectl "+
				"-n %s delete %s.%s %s --cascade=background",
			c.Namespace, controlplane.Resource, machinev1.GroupName, c.Old.Metadata.Name)))
	}
	return policies.Verdict{}
}

// inForeground reports whether a request deletes an object in the foreground: by the option of the request or, if it has no option, by the object's finalizer.
func inForeground(c policies.Change) bool {
	if c.Propagation == "" {
		return c.Old.HasFinalizer(metav1.FinalizerDeleteDependents)
	}
	return c.Propagation == metav1.DeletePropagationForeground
}

// Regenerated warns about what follows the deletion of a set: "In case the ControlPlaneMachineSet is deleted, the generator will recreate an Inactive
// ControlPlaneMachineSet".
func Regenerated(c policies.Change) policies.Verdict {
	if c.Old.Deleting() || inForeground(c) {
		return policies.Verdict{}
	}
	if state(c.Old) != string(machinev1.ControlPlaneMachineSetStateActive) {
		return detaches(c, policies.Warn("no Machine is deleted. "+generatedAgain))
	}
	return detaches(c, policies.Warn(
		fmt.Sprintf("%s and their Nodes keep running, except Machines that are already being deleted. From now on nothing replaces a Machine. %s. Once that "+
			"set is Active, it manages the Machines again", machinesOf(c.Old), generatedAgain)))
}

const generatedAgain = "Poundlock will generate the set again from the Machines, as Inactive. Use kubectl replace without --force: with --force, kubectl " +
	"cannot create your set, because the generated set exists already"

// detaches adds to the verdict on a deletion a warning about what the deletion means for Cluster API's side, if Cluster API is authoritative for the set.
func detaches(c policies.Change, v policies.Verdict) policies.Verdict {
	if authority.Authoritative(authority.Read(c.Old)) == authority.ClusterAPI {
		v.Warnings = append(v.Warnings,
			"Cluster API's Machines and infrastructure templates stay, and the infrastructure cluster keeps its failure domains. Poundlock deletes only the "+
				"template that it created from this set, if nothing refers to that template. Machine API will be authoritative for the set that Poundlock generates")
	}
	return v
}

// releases reports whether an update removes the finalizer that keeps a deleted set until no Machine refers to it.
func releases(c policies.Change) bool {
	return c.Operation == admissionv1.Update && c.Old.Deleting() && c.Old.HasFinalizer(controlplane.Finalizer) && !c.New.HasFinalizer(controlplane.Finalizer)
}

func releaseNeeds(c policies.Change) policies.Need {
	if releases(c) {
		return policies.NeedControlPlane
	}
	return 0
}

// Released warns which Machines the garbage collector deletes if the set's finalizer is removed: "it will need to ensure that there are no owner references on
// the Machines … This will prevent the garbage collector from removing the Control Plane Machines".
func Released(c policies.Change) policies.Verdict {
	if !releases(c) || c.Facts.ControlPlane == nil {
		return policies.Verdict{}
	}
	var owned []string
	for _, m := range c.Facts.ControlPlane.Machines {
		if o := metav1.GetControllerOfNoCopy(&m); o != nil && o.UID == c.Old.Metadata.UID && m.DeletionTimestamp == nil {
			owned = append(owned, m.Name)
		}
	}
	if len(owned) == 0 {
		return policies.Verdict{}
	}
	return policies.Warn(fmt.Sprintf(
		"without this finalizer the garbage collector deletes %s, which refer to this set in metadata.ownerReferences. Create the set again at once: the new "+
			"set takes over the Machines that are left. Do not remove etcd's hooks, which hold deleted Machines as long as etcd needs "+
			"them", strings.Join(owned, ", ")))
}

func machinesOf(o *policies.Object) string {
	var status struct {
		Replicas int `json:"replicas"`
	}
	if len(o.Status) > 0 && json.Unmarshal(o.Status, &status) == nil && status.Replicas > 1 {
		return "the control plane's " + amount.Of(status.Replicas, "Machine")
	}
	return "the control plane's Machines"
}

// recreates refuses the strategy Recreate, or warns about it if the operator's flags allow it: "This strategy introduces risk into the update of the Machines.
// While the old Machine is being drained/removed and the new Machine is being provisioned, etcd quorum is at risk as a member has been removed from the
// cluster."
func recreates(p *proposal) policies.Verdict {
	if p.set.Spec.Strategy.Type != machinev1.Recreate {
		return policies.Verdict{}
	}
	if !p.MayRecreate {
		return policies.Deny(field.Forbidden(controlplane.SpecPath.Child("strategy", "type"), controlplane.RecreateRisk(controlplane.ReplicasOf(p.set))+
			". Poundlock does not allow this strategy without --control-plane-recreate: use RollingUpdate or OnDelete. If there is no room for an additional "+
			"Machine, run Poundlock with --control-plane-recreate"))
	}
	return policies.Warn(controlplane.RecreateRisk(controlplane.ReplicasOf(p.set)) +
		". etcd's hook holds each deleted Machine until a person removes the hook. Remove it only when all other etcd members are healthy")
}
