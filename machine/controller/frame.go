// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
)

// subject is an object as its controller reads it: the typed object, its fields of authority (shape), and its conditions.
type subject[T client.Object] struct {
	object     T
	shape      authority.Shape
	conditions []machinev1beta1.Condition
}

// shapeOf returns what the gate (authority.GateOf) decides from, for a kind whose Go type has the fields of authority.
func shapeOf(requested, current machinev1beta1.MachineAuthority, conditions []machinev1beta1.Condition) authority.Shape {
	s := authority.Shape{Requested: authority.API(requested), Current: authority.API(current)}
	for _, c := range conditions {
		s.Conditions = append(s.Conditions, authority.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
		})
	}
	return s
}

// gated is the common reconciler of every controller in this package: it reads the object, asks the gate (authority.GateOf), and works if the gate lets it.
type gated[T client.Object] struct {
	client client.Client
	clock  clock.PassiveClock
	// on reports that the feature gate is on.
	on bool
	// read returns the object, or a NotFound error.
	read func(context.Context, types.NamespacedName) (subject[T], error)
	// work does everything that the controller does for the object. It is called only if the gate lets the controller act.
	work func(context.Context, T) (reconcile.Result, error)
	// finish completes, before a pause is acknowledged, what earlier passes have left unfinished. A non-zero result means that something is still unfinished.
	// If every pass of a controller finishes what it begins, finish is nil. finish is not called again if the pause is acknowledged already and only the
	// message changes (ClusterAPI, Migrating), because nothing was done since.
	finish func(context.Context, T) (reconcile.Result, error)
}

// Reconcile is one pass over an object. If the object lacks the controller's acknowledgement or its authoritativeAPI, Reconcile stores that and ends the pass.
// The event of this write causes the next pass, which acts on the stored state.
func (g *gated[T]) Reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	s, err := g.read(ctx, key.NamespacedName)
	if err != nil {
		return requeue.Quietly(soon, reconcile.Result{}, err)
	}
	gate := authority.GateOf(s.shape, g.on)
	switch {
	case !gate.AlreadyWritten(s.shape):
		result, err := g.acknowledge(ctx, s, gate)
		return requeue.Quietly(soon, result, err)
	case gate.Act:
		result, err := g.work(ctx, s.object)
		return requeue.Quietly(soon, result, err)
	}
	return reconcile.Result{}, nil
}

// acknowledge stores the condition Paused and, for a new object, which API is authoritative. Before it acknowledges a pause, it lets finish complete its work.
func (g *gated[T]) acknowledge(ctx context.Context, s subject[T], gate authority.Gate) (reconcile.Result, error) {
	if gate.Paused.Status == metav1.ConditionTrue && s.shape.Condition(authority.ConditionPaused).Status != metav1.ConditionTrue && g.finish != nil {
		if result, err := g.finish(ctx, s.object); err != nil || !result.IsZero() {
			return result, err
		}
		// If finish has written to the object, the next pass finds nothing unfinished and acknowledges.
		if fresh, err := g.read(ctx, client.ObjectKeyFromObject(s.object)); err != nil || fresh.object.GetResourceVersion() != s.object.GetResourceVersion() {
			return reconcile.Result{RequeueAfter: soon}, err
		}
	}
	status := map[string]any{}
	if gate.Adopt != authority.Unset {
		status["authoritativeAPI"] = string(gate.Adopt)
	}
	if gate.Paused.Status != "" {
		status["conditions"] = withCondition(s.conditions, conditionOf(gate.Paused), g.clock.Now())
	}
	log.FromContext(ctx).Info("writing status.authoritativeAPI", "adopt", gate.Adopt, "paused", gate.Paused.Status)
	return reconcile.Result{}, patchStatusFields(ctx, g.client, s.object, status)
}

func conditionOf(c authority.Condition) machinev1beta1.Condition {
	out := machinev1beta1.Condition{
		Type: machinev1beta1.ConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
	}
	if c.Status == metav1.ConditionFalse {
		out.Severity = machinev1beta1.ConditionSeverityInfo // the controller acts: nothing is wrong
	}
	return out
}

// withCondition returns a copy of the conditions in which c replaces the condition of its type, or is added. c's time is now if its status has changed, and
// otherwise stays. If nothing changes, the result equals conditions.
func withCondition(conditions []machinev1beta1.Condition, c machinev1beta1.Condition, now time.Time) []machinev1beta1.Condition {
	out := append([]machinev1beta1.Condition(nil), conditions...)
	c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	for i, old := range out {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		out[i] = c
		return out
	}
	return append(out, c)
}

// soon is the time until the next pass if no event reports at once what the pass waits for.
const soon = time.Second

// patchStatusFields patches the named fields of the object's status. It serves fields that a kind's Go type does not have.
func patchStatusFields(ctx context.Context, c client.Client, o client.Object, status map[string]any) error {
	if err := versioned.PatchStatus(ctx, c, o.DeepCopyObject().(client.Object), map[string]any{"status": status}); err != nil {
		return fmt.Errorf("patching the status of %s: %w", client.ObjectKeyFromObject(o), err)
	}
	return nil
}
