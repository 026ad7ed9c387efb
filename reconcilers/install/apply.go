// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
)

// bridging is the form in which a CRD is applied while servers of old and new content may convert its objects. No object can be converted to a version before a
// server of that version runs. So until only new pods serve, the old storage version and the old conversion stay.
type bridging int

const (
	final    bridging = iota // the CRD as the content has it
	bridged                  // versions that only the new server has are not served
	bridgedS                 // these versions are served, because the new server seems to need them to start
)

// patience is how long new pods may take to become ready while the versions that only they have are not served. After that, these versions are served
// (bridgedS).
const patience = time.Minute

// bridging returns the form of the CRDs in this pass. It never returns final, because the final form comes after the gate of the stage Serving.
func (k *walk) bridging() bridging {
	p := k.record.progress
	if p.Hash == k.Hash && p.Stage == bundle.Workloads && !p.Since.IsZero() && k.r.Now().Sub(p.Since) > patience {
		return bridgedS
	}
	return bridged
}

// apply makes an object equal to the content, unless it is equal already.
func (k *walk) apply(ctx context.Context, o installation.Object, b bridging) error {
	live, err := k.get(ctx, o.GroupVersionKind(), o.Key())
	if err != nil {
		return err
	}
	claim := installation.ClaimOf(live, k.record.inventory.UID(o.Key()))
	switch claim {
	case installation.Foreign:
		return &installation.Collision{Object: o.Key(), Owner: installation.OwnerOf(live)}
	case installation.Deleting:
		return nil // the gate of its stage waits until it is gone
	}
	return k.make(ctx, o, live, claim, b)
}

// make removes what others added to an object, and applies the object. If the installer has no managed fields in the object yet, the first apply creates them,
// and only a second apply removes what others added.
func (k *walk) make(ctx context.Context, o installation.Object, live *unstructured.Unstructured, claim installation.Claim, b bridging) error {
	const most = 2
	for range most {
		held, err := k.routed(ctx, o, live, b)
		if err != nil {
			return err
		}
		want, err := shape(held, live, b)
		if err != nil {
			return err
		}
		again := false
		if live != nil {
			if live, again, err = k.takeBack(ctx, o, live, claim == installation.Adopted); err != nil {
				return err
			}
		}
		if !again && claim == installation.Ours && installation.Applied(want, live) {
			return nil
		}
		if err := k.retire(ctx, want, live); err != nil {
			return err
		}
		if err := k.send(ctx, o, want, live); err != nil {
			return err
		}
		if live == nil || again {
			return nil
		}
		live, claim = k.live[o.Key()], installation.Ours
	}
	return nil
}

// routed returns a Service that webhooks call with the selector of its old pods while new content is not ready, if some old pods are ready. Otherwise no pod
// would be behind the Service during that time, and webhooks that fail closed would refuse everything. Any other object is returned unchanged.
func (k *walk) routed(ctx context.Context, o installation.Object, live *unstructured.Unstructured, b bridging) (installation.Object, error) {
	if o.Stage != bundle.Services || b == final || k.record.progress.Ready == k.Hash {
		return o, nil
	}
	routed := installation.Routed(o.Unstructured, live)
	if routed == nil || !slices.Contains(k.Called(), o.GetName()) {
		return o, nil
	}
	if err := k.readEndpoints(ctx); err != nil {
		return o, err
	}
	if k.endpoints[o.GetName()] > 0 {
		o.Unstructured = routed
	}
	k.endpoints = nil // the gate needs the endpoints of the new pods, and reads them again
	return o, nil
}

// reroute applies the Services that webhooks call in their final form, once only new servers run. If it has changed a Service, it returns what the pass waits
// for: endpoints follow a Service with a delay, so the next pass reads them.
func (k *walk) reroute(ctx context.Context) (waits string, err error) {
	for _, o := range k.In(bundle.Services) {
		before := k.live[o.Key()]
		if err := k.apply(ctx, o, final); err != nil {
			return "", err
		}
		if after := k.live[o.Key()]; before != nil && after != nil && before.GetResourceVersion() != after.GetResourceVersion() {
			k.endpoints = nil
			waits = o.Key().String() + ": the endpoints of the Service do not follow its change yet"
		}
	}
	return waits, nil
}

// shape returns the form in which an object is applied, given the live one. A CRD may be bridged, webhooks without a CA are held, and replicas that an
// autoscaler sets are left out.
func shape(o installation.Object, live *unstructured.Unstructured, b bridging) (*unstructured.Unstructured, error) {
	want := installation.Held(o.Unstructured, live)
	if installation.IsDefinition(want) && live != nil {
		if _, err := installation.Lost(want, live); err != nil {
			return nil, &installation.Final{Err: err}
		}
		if bridge := installation.Bridge(want, live, b == bridgedS); bridge != nil && b != final {
			want = bridge
		}
	}
	return installation.Seal(unscaled(want, live)), nil
}

// unscaled returns a workload without its replicas if an autoscaler sets them.
func unscaled(want, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil || bundle.StageOf(want.GroupVersionKind().GroupKind()) != bundle.Workloads || !installation.ScaledByOthers(live) {
		return want
	}
	out := want.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "spec", "replicas")
	return out
}

// takeBack makes the installer the owner of the fields that others added to an object, so that the next apply removes them. A forced apply alone would take
// over only the fields that it sends, and leave the added ones. It reports whether there were such fields.
func (k *walk) takeBack(ctx context.Context, o installation.Object, live *unstructured.Unstructured, adopting bool) (*unstructured.Unstructured, bool, error) {
	drift, err := installation.DriftOf(live, adopting)
	if err != nil || len(drift.Fields) == 0 {
		return live, false, err
	}
	raw, err := json.Marshal([]any{
		map[string]any{"op": "test", "path": "/metadata/uid", "value": live.GetUID()},
		map[string]any{"op": "replace", "path": "/metadata/managedFields", "value": drift.Managed},
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return nil, false, fmt.Errorf("writing the managed fields of %s: %w", o.Key(), err)
	}
	out := live.DeepCopy()
	if err := k.r.client.Patch(ctx, out, client.RawPatch(types.JSONPatchType, raw), client.FieldOwner(installation.Manager)); err != nil {
		return nil, false, k.failed("taking back", o, err)
	}
	fields := strings.Join(drift.Fields, ", ")
	log.FromContext(ctx).Info("Added fields removed", "object", o.Key().String(), "fields", fields)
	k.r.meters.count(k.Label(), k.stage, "drift")
	k.note("DriftRemoved", live, o.Key().String()+": "+fields)
	k.live[o.Key()] = out
	return out, true, nil
}

// send applies an object. It changes an existing object only if the object still has the same UID. It creates a new object without force, because somebody else
// may have created it in the meantime.
func (k *walk) send(ctx context.Context, o installation.Object, want, live *unstructured.Unstructured) error {
	out := want.DeepCopy()
	options := []client.PatchOption{client.FieldOwner(installation.Manager)}
	if live != nil {
		out.SetUID(live.GetUID())
		options = append(options, client.ForceOwnership)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.Key(), err)
	}
	if err := k.r.client.Patch(ctx, out, client.RawPatch(types.ApplyPatchType, raw), options...); err != nil {
		return k.failed("applying", o, err)
	}
	k.live[o.Key()] = out
	if live == nil || live.GetResourceVersion() != out.GetResourceVersion() {
		log.FromContext(ctx).Info("Applied", "provider", k.Label(), "stage", installation.NameOf(k.stage), "object", o.Key().String())
		k.r.meters.count(k.Label(), k.stage, "applied")
	}
	return nil
}

// failed adds the object to an error, and marks an error that does not pass by itself.
func (k *walk) failed(doing string, o installation.Object, err error) error {
	if !apierrors.IsTooManyRequests(err) { // a 429 asks the client to wait, and is no failure of the content
		k.r.meters.count(k.Label(), k.stage, "error")
	}
	err = fmt.Errorf("%s %s: %w", doing, o.Key(), err)
	switch {
	case !apierrors.IsInvalid(err) || !immutable(err):
	case installation.IsDefinition(o.Unstructured):
		err = fmt.Errorf("%w. Restore the field in the release's content. Do not delete the definition: all objects of its kind would be deleted with it", err)
	default:
		err = fmt.Errorf("%w. Give the object another name in the release's content, or delete the object: the installer recreates it", err)
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return &installation.Final{Err: err}
	}
	return err
}

// immutable reports whether the API server refuses a change because a field is immutable. Each kind words this error differently.
func immutable(err error) bool {
	return slices.ContainsFunc([]string{
		"field is immutable", "cannot change roleRef", "may not be changed in an update", "updates to statefulset spec for fields other than",
	}, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// noted is a change of a pass to an object, with the reason of its event and the text for it.
type noted struct {
	reason string
	object *unstructured.Unstructured
	text   string
}
