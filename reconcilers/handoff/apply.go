// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// apply is the only place that writes: one step and its report. It returns after how long another pass must follow at the latest; 0: none is needed before an
// event.
func (r *reconciler) apply(ctx context.Context, p *pair, step authority.Step) (time.Duration, error) {
	switch step.Action {
	case authority.Rest:
		r.rest(ctx, step)
		return 0, nil
	case authority.Settle:
		return 0, r.rests(ctx, p, step)
	case authority.Wait:
		return afterWait, r.rests(ctx, p, step)
	case authority.Adopt:
		return r.adopt(ctx, p, step)
	case authority.Acknowledge:
		return afterStep, r.acknowledge(ctx, p, step)
	case authority.Switch:
		return afterStep, r.change(ctx, p, step)
	}
	return afterStep, r.each(ctx, p, step, step.On)
}

// adopt sends a status patch that the webhook fills which defaults status.authoritativeAPI, and writes the value itself where no webhook does. It stores that
// Cluster API's object exists before the authority, or together with it. If the object were deleted while Poundlock is away, nothing else would distinguish
// the pair from a new one, whose Cluster API object the mirror creates.
func (r *reconciler) adopt(ctx context.Context, p *pair, step authority.Step) (time.Duration, error) {
	if has, err := r.hasFields(ctx, p, step); err != nil || !has {
		r.rest(ctx, authority.Next(authority.State{}))
		return afterRest, err
	}
	if err := r.recordUntouched(ctx, p); err != nil {
		return 0, err
	}
	status := map[string]any{"synchronizedAPI": string(step.To)}
	if state := p.state(); step.To == authority.ClusterAPI && state.ClusterAPI.Exists && state.Unrecorded {
		status["synchronizedGeneration"] = 0 // somebody made it in Cluster API before (authority.Shape.Existed)
	}
	if err := r.patchStatus(ctx, p.machineAPI, map[string]any{"status": status}); err != nil {
		return 0, err
	}
	if current(p.machineAPI) == "" {
		if err := r.patchStatus(ctx, p.machineAPI, adoption(step)); err != nil {
			return 0, err
		}
	}
	r.log(ctx, p.machineAPI, step)
	return afterStep, nil
}

// recordUntouched records that Poundlock adopts the object before anybody can have asked for an instance. Without the record, a move waits for the
// instance's ID. So if the API server refuses the patch, the object is adopted nevertheless.
func (r *reconciler) recordUntouched(ctx context.Context, p *pair) error {
	uid := string(p.machineAPI.GetUID())
	if !p.objects.Untouched() || p.machineAPI.GetAnnotations()[authority.UntouchedAnnotation] == uid {
		return nil
	}
	err := r.mark(ctx, p, uid)
	if err != nil && !versioned.Outdated(err) {
		log.FromContext(ctx).Error(err, "Recording that no instance was requested", "object", pairs.Describe(p.machineAPI))
		return nil
	}
	return err
}

// rests reports a step that changes nothing. Before that, it removes the record of an untouched object once somebody may have asked for an instance.
func (r *reconciler) rests(ctx context.Context, p *pair, step authority.Step) error {
	if _, recorded := p.machineAPI.GetAnnotations()[authority.UntouchedAnnotation]; recorded && !p.objects.Untouched() {
		if err := r.mark(ctx, p, nil); err != nil {
			return err
		}
	}
	return r.report(ctx, p, step)
}

// mark writes the record of an untouched object; nil removes it.
func (r *reconciler) mark(ctx context.Context, p *pair, value any) error {
	annotations := map[string]any{authority.UntouchedAnnotation: value}
	return r.patch(ctx, p.machineAPI, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

func adoption(step authority.Step) map[string]any {
	return map[string]any{"status": map[string]any{"authoritativeAPI": string(step.To), "synchronizedAPI": string(step.To)}}
}

// hasFields reports whether the CRD has the fields of authority. If an object has spec.authoritativeAPI, the API server did not prune it, so the CRD has
// them. For another object, a dry run shows it.
func (r *reconciler) hasFields(ctx context.Context, p *pair, step authority.Step) (bool, error) {
	if p.state().Requested != authority.Unset {
		return true, nil
	}
	probe := p.machineAPI.DeepCopy()
	err := r.patchStatus(ctx, probe, adoption(step), client.DryRunAll)
	return current(probe) != "", err
}

func current(o *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(o.Object, "status", "authoritativeAPI")
	return value
}

// acknowledge stores Migrating together with the API that was authoritative.
func (r *reconciler) acknowledge(ctx context.Context, p *pair, step authority.Step) error {
	status := map[string]any{"authoritativeAPI": string(authority.Migrating), "synchronizedAPI": string(p.state().Current)}
	return r.store(ctx, p, step, status)
}

// change removes the finalizers of the objects that are no longer authoritative, then stores which API is. If authority changed, the same patch resets the
// mirror's report of the old direction, and removes the fields that end with the move. So no check sees the new authority with the old report.
func (r *reconciler) change(ctx context.Context, p *pair, step authority.Step) error {
	if err := r.each(ctx, p, step, step.Drop); err != nil {
		return err
	}
	status := map[string]any{"authoritativeAPI": string(step.To), "synchronizedAPI": string(step.To)}
	if !step.Cancelled {
		status["synchronizedGeneration"] = 0 // and not absent: the object that is authoritative from now on exists (authority.Shape.Existed)
		for _, name := range authority.LeftBehind(p.objects.MachineAPI, step.To) {
			status[name] = nil
		}
	}
	return r.store(ctx, p, step, status)
}

// store writes the status of the Machine API object: authority and its condition, with the resourceVersion of the decision, in one patch.
func (r *reconciler) store(ctx context.Context, p *pair, step authority.Step, status map[string]any) error {
	conditions := conditionlist.Of(p.machineAPI)
	if step.Action == authority.Switch && !step.Cancelled {
		conditions, _ = conditionlist.Set(conditions, r.unsynchronized(step), r.now())
	}
	c, before := r.settledCondition(p, step, conditions)
	status["conditions"], _ = conditionlist.Set(conditions, c, r.now())
	if err := r.patchStatus(ctx, p.machineAPI, map[string]any{"status": status}); err != nil {
		return err
	}
	r.log(ctx, p.machineAPI, step)
	r.meters.waited(p.kind.Name, before, r.now())
	r.meters.count(p, step)
	r.event(p, step, c)
	return nil
}

// unsynchronized resets the mirror's report of the other direction.
func (r *reconciler) unsynchronized(step authority.Step) map[string]any {
	c := condition(authority.ConditionSynchronized, metav1.ConditionUnknown, "Info", authority.ReasonAuthorityChanged,
		"The mirror has not run from "+step.To.Text()+" yet.")
	c["lastTransitionTime"] = r.now().UTC().Format(time.RFC3339)
	return c
}

// each writes the same step to each object of the parties in who, the provider's objects before the core object. authority.Next has decided which parties a
// step includes: it never releases the provider's objects in an earlier step than the core object, but may release both in one step. If a pass ends between two
// writes of a step, the next pass writes the rest.
func (r *reconciler) each(ctx context.Context, p *pair, step authority.Step, who authority.Who) error {
	for _, o := range p.of(who) {
		if o.has(step) {
			continue
		}
		if err := r.patch(ctx, o.live, map[string]any{"metadata": order(step, o)}); err != nil {
			return err
		}
		r.log(ctx, o.live, step)
	}
	return nil
}

// order returns the metadata that a step writes to an object.
func order(step authority.Step, o object) map[string]any {
	switch step.Action {
	case authority.Pause:
		return map[string]any{"annotations": map[string]any{authority.PausedAnnotation: o.pause}}
	case authority.Release:
		return map[string]any{"annotations": map[string]any{authority.PausedAnnotation: nil}}
	case authority.AddFinalizer:
		return map[string]any{"finalizers": append(without(o.live.GetFinalizers(), o.finalizer), o.finalizer)}
	}
	return map[string]any{"finalizers": without(o.live.GetFinalizers(), o.finalizer)}
}

func without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == item })
}

// object is one of a pair's objects, with the finalizer of its side.
type object struct {
	live      *unstructured.Unstructured
	finalizer string
	// pause is the value of the pause annotation.
	pause string
}

// has reports whether a step has nothing to write to an object of a party: one of two objects may be paused already, and what a provider keeps for an
// instance has no finalizer that moves.
func (o object) has(step authority.Step) bool {
	_, paused := o.live.GetAnnotations()[authority.PausedAnnotation]
	switch step.Action {
	case authority.Pause:
		return paused && o.live.GetAnnotations()[authority.PausedAnnotation] == o.pause
	case authority.Release:
		return !paused
	}
	return o.finalizer == ""
}

// of are the objects of parties. The provider's objects are one party.
func (p *pair) of(who authority.Who) []object {
	var out []object
	for _, o := range []struct {
		who authority.Who
		object
	}{
		{authority.WhoInfra, object{p.infra, p.objects.InfraFinalizer, "true"}},
		{authority.WhoInfra, object{p.infraInstance, "", "true"}},
		{authority.WhoClusterAPI, object{p.core, p.kind.ClusterAPIFinalizer, "true"}},
		{authority.WhoMachineAPI, object{p.machineAPI, p.kind.MachineAPIFinalizer, authority.PausedByPoundlock}},
	} {
		if who.Has(o.who) && o.live != nil {
			out = append(out, o.object)
		}
	}
	return out
}

func (r *reconciler) patch(ctx context.Context, o *unstructured.Unstructured, body map[string]any) error {
	return versioned.Patch(ctx, r.writer, o, body, client.FieldOwner(fieldManager))
}

func (r *reconciler) patchStatus(ctx context.Context, o *unstructured.Unstructured, body map[string]any, options ...client.SubResourcePatchOption) error {
	return versioned.PatchStatus(ctx, r.writer, o, body, append(options, client.FieldOwner(fieldManager))...)
}

func (r *reconciler) log(ctx context.Context, o *unstructured.Unstructured, step authority.Step) {
	log.FromContext(ctx).Info("Handoff step", "action", step.Action, "object", pairs.Describe(o), "to", step.To, "reason", step.Reason)
}
