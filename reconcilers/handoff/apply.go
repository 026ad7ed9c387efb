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
	"github.com/poundlock/poundlock/policies/ownership"
)

// apply is the only function that writes: it performs one step and reports it. It returns after how long another pass must follow at the latest; 0 if none is
// needed before the next event.
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

// adopt adopts an object. It sends a status patch in which a webhook sets status.authoritativeAPI, and writes the value itself if no webhook has set it. It
// stores that Cluster API's object exists before it stores the authority, or together with it. If the object were deleted while Poundlock is away, nothing else
// would distinguish the pair from a new one, for which the mirror creates the Cluster API object.
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
		status["synchronizedGeneration"] = 0 // a user created the object in Cluster API before (authority.Shape.Existed)
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

// recordUntouched records (UntouchedAnnotation) that Poundlock adopts the object before anybody can have asked for an instance. Without the record, a move only
// waits for the instance's ID. So if the API server refuses the patch, the object is adopted nevertheless.
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

// rests reports a step that changes nothing. First it removes the record of recordUntouched, once somebody may have asked for an instance.
func (r *reconciler) rests(ctx context.Context, p *pair, step authority.Step) error {
	if _, recorded := p.machineAPI.GetAnnotations()[authority.UntouchedAnnotation]; recorded && !p.objects.Untouched() {
		if err := r.mark(ctx, p, nil); err != nil {
			return err
		}
	}
	return r.report(ctx, p, step)
}

// mark writes the value of UntouchedAnnotation; nil removes it.
func (r *reconciler) mark(ctx context.Context, p *pair, value any) error {
	annotations := map[string]any{authority.UntouchedAnnotation: value}
	return r.patch(ctx, p.machineAPI, map[string]any{"metadata": map[string]any{"annotations": annotations}}, fieldManager)
}

func adoption(step authority.Step) map[string]any {
	return map[string]any{"status": map[string]any{"authoritativeAPI": string(step.To), "synchronizedAPI": string(step.To)}}
}

// hasFields reports whether the CRD has the fields that say which API is authoritative. If an object has spec.authoritativeAPI, the API server did not prune
// it, so the CRD has the fields. For any other object, a dry run shows it.
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

// acknowledge stores that authority is Migrating, together with the API that was authoritative.
func (r *reconciler) acknowledge(ctx context.Context, p *pair, step authority.Step) error {
	status := map[string]any{"authoritativeAPI": string(authority.Migrating), "synchronizedAPI": string(p.state().Current)}
	return r.store(ctx, p, step, status)
}

// change removes the finalizers from the objects that are no longer authoritative, and then stores which API is authoritative. If authority has changed, the
// same patch resets the mirror's report of the old direction, and removes the fields that end with the move. So no check sees the new authority together with
// the old report.
func (r *reconciler) change(ctx context.Context, p *pair, step authority.Step) error {
	if err := r.announce(ctx, p, step); err != nil {
		return err
	}
	if err := r.each(ctx, p, step, step.Drop); err != nil {
		return err
	}
	status := map[string]any{"authoritativeAPI": string(step.To), "synchronizedAPI": string(step.To)}
	if !step.Cancelled {
		status["synchronizedGeneration"] = 0 // 0 and not absent, because the object that is authoritative from now on exists (authority.Shape.Existed)
		for _, name := range authority.LeftBehind(p.objects.MachineAPI, step.To) {
			status[name] = nil
		}
	}
	return r.store(ctx, p, step, status)
}

// announce writes to the Cluster API object that Cluster API is about to become authoritative (authority.Arriving), or takes that back if the move is
// cancelled. If somebody has deleted the object since it was read, the write fails, and the next pass cancels the move.
func (r *reconciler) announce(ctx context.Context, p *pair, step authority.Step) error {
	if p.core == nil || p.core.GetDeletionTimestamp() != nil {
		return nil
	}
	is, want := p.core.GetAnnotations()[authority.PausedAnnotation], authority.Arriving(p.machineAPI.GetGeneration())
	switch {
	case step.Cancelled && authority.Announced(is):
		want = "true"
	case step.Cancelled, step.To != authority.ClusterAPI, is == want:
		return nil
	}
	annotations := map[string]any{authority.PausedAnnotation: want}
	return r.patch(ctx, p.core, map[string]any{"metadata": map[string]any{"annotations": annotations}}, fieldManager)
}

// store writes the status of the Machine API object in one patch: the authority, and the condition that reports it. The patch has the resourceVersion of the
// object on which the decision was based.
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

// unsynchronized returns the condition Synchronized that replaces the mirror's report of the other direction.
func (r *reconciler) unsynchronized(step authority.Step) map[string]any {
	c := condition(authority.ConditionSynchronized, metav1.ConditionUnknown, "Info", authority.ReasonAuthorityChanged,
		"Poundlock has not mirrored this object from "+step.To.Text()+" yet.")
	c["lastTransitionTime"] = r.now().UTC().Format(time.RFC3339)
	return c
}

// each writes a step to each object of the parties (the sides of a pair) in who. It writes to the provider's objects before the core object. authority.Next has
// decided which parties a step includes: it never releases the provider's objects in an earlier step than the core object, but may release both in one step. If
// a pass ends between two writes of a step, the next pass performs the remaining writes.
func (r *reconciler) each(ctx context.Context, p *pair, step authority.Step, who authority.Who) error {
	for _, o := range p.of(who) {
		if o.has(step) {
			continue
		}
		if err := r.patch(ctx, o.live, map[string]any{"metadata": order(step, o)}, managerOf(step)); err != nil {
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
		return map[string]any{"finalizers": beforeSync(without(o.live.GetFinalizers(), o.finalizer), o.finalizer)}
	}
	return map[string]any{"finalizers": without(o.live.GetFinalizers(), o.finalizer)}
}

// managerOf returns the field manager that writes a step to an object. Pauses have their own, because the managed fields show since when the object is paused.
func managerOf(step authority.Step) client.FieldOwner {
	switch step.Action {
	case authority.Pause, authority.Release:
		return fieldManager
	}
	return ownership.FinalizersManager
}

// beforeSync returns the finalizers with one more. A controller adds its own before Poundlock adds the sync finalizer. In the same order, an object that has
// moved there and back is what it was.
func beforeSync(list []string, finalizer string) []string {
	if i := slices.Index(list, authority.SyncFinalizer); i >= 0 {
		return slices.Insert(list, i, finalizer)
	}
	return append(list, finalizer)
}

func without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == item })
}

// object is one of a pair's objects, with the finalizer that moves with its side.
type object struct {
	live      *unstructured.Unstructured
	finalizer string
	// pause is the value that the pause annotation gets.
	pause string
}

// has reports whether a step has nothing to write to this object of a party. One of two objects may be paused already, and the object that a provider keeps for
// an instance has no finalizer that moves.
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

// of returns the existing objects of the parties in who. The provider's objects are one party.
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

func (r *reconciler) patch(ctx context.Context, o *unstructured.Unstructured, body map[string]any, by client.FieldOwner) error {
	return versioned.Patch(ctx, r.writer, o, body, by)
}

func (r *reconciler) patchStatus(ctx context.Context, o *unstructured.Unstructured, body map[string]any, options ...client.SubResourcePatchOption) error {
	return versioned.PatchStatus(ctx, r.writer, o, body, append(options, client.FieldOwner(fieldManager))...)
}

func (r *reconciler) log(ctx context.Context, o *unstructured.Unstructured, step authority.Step) {
	log.FromContext(ctx).Info("Handoff step", "action", step.Action, "object", pairs.Describe(o), "to", step.To, "reason", step.Reason)
}
