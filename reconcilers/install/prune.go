// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/internal/versioned"
)

// definitions is the kind CustomResourceDefinition.
var definitions = schema.GroupVersionKind{Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition"}

// liveOf returns an object as this pass has read it, nil if it does not exist or was not read.
func (k *walk) liveOf(key installation.Key) *unstructured.Unstructured { return k.live[key] }

// shrink removes webhooks that the content no longer has, before the servers that answered them are replaced. A new server may not serve their paths, and a
// webhook that fails closed would then refuse requests. A webhook that the content has at another place (such as another path) is still called, but fails open
// until its stage comes.
func (k *walk) shrink(ctx context.Context) error {
	if k.blocked || k.record.progress.Ready == "" || k.record.progress.Ready == k.Hash {
		return nil
	}
	wanted := map[installation.Key]*unstructured.Unstructured{}
	for _, o := range k.Objects {
		wanted[o.Key()] = o.Unstructured
	}
	for _, item := range k.record.inventory.Items {
		if bundle.StageOf(item.GroupVersionKind().GroupKind()) != bundle.Webhooks {
			continue
		}
		live, err := k.get(ctx, item.GroupVersionKind(), item.Key())
		if err != nil {
			return err
		}
		vanishing, moving := installation.Vanishing(wanted[item.Key()], live), installation.Moving(wanted[item.Key()], live)
		if len(vanishing)+len(moving) == 0 || installation.FateOf(item, live) != installation.Prune {
			continue
		}
		if wanted[item.Key()] == nil {
			err = k.delete(ctx, item, live)
		} else {
			err = k.openWebhooks(ctx, item, live, vanishing, moving)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *walk) openWebhooks(ctx context.Context, item installation.Item, live *unstructured.Unstructured, vanishing, moving []int) error {
	patch := []any{map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()}}
	for _, i := range moving {
		patch = append(patch, map[string]any{"op": "replace", "path": fmt.Sprintf("/webhooks/%d/failurePolicy", i), "value": "Ignore"})
	}
	for _, i := range vanishing {
		patch = append(patch, map[string]any{"op": "remove", "path": fmt.Sprintf("/webhooks/%d", i)})
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("writing %s: %w", item.Key(), err)
	}
	out := live.DeepCopy()
	if err := k.r.client.Patch(ctx, out, client.RawPatch(types.JSONPatchType, raw), client.FieldOwner(installation.Manager)); err != nil {
		return fmt.Errorf("removing webhooks of %s: %w", item.Key(), err)
	}
	k.live[item.Key()] = out
	return nil
}

// prune removes the objects that the installer wrote for earlier content and that no provider has any more.
func (k *walk) prune(ctx context.Context) error {
	for _, item := range k.record.inventory.Obsolete(k.all) {
		live, err := k.left(ctx, item)
		if err != nil {
			return err
		}
		if item.UID == "" { // the process may have ended before it stored the UID
			item.UID = k.record.inventory.Noted(k.liveOf).UID(item.Key())
		}
		switch installation.FateOf(item, live) {
		case installation.Prune:
			err = k.delete(ctx, item, live)
		case installation.Release:
			if err = k.release(ctx, item, live); err == nil {
				k.record.inventory = k.record.inventory.Letting(item.Key())
				continue
			}
		}
		if err != nil {
			return err
		}
		k.record.inventory = k.record.inventory.Without(item.Key())
	}
	return nil
}

// left reads an object that the content no longer has, nil if it does not exist. The version in which the object was written may have been removed from its CRD
// together with the content, so left tries each version of the group. If no version is served, left returns an error as long as the CRD exists, because the
// object may exist.
func (k *walk) left(ctx context.Context, item installation.Item) (*unstructured.Unstructured, error) {
	versions, err := k.versions(item.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	for _, version := range versions {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(version)
		err := k.r.client.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, o)
		switch {
		case served.Missing(err):
			continue
		case apierrors.IsNotFound(err):
			o = nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", item.Key(), err)
		}
		k.live[item.Key()] = o
		return o, nil
	}
	definition, err := k.defined(ctx, item.Key().GroupKind)
	if err == nil && definition != "" {
		err = fmt.Errorf("cannot remove %s: the API server serves no version of the object's kind. Set served: true for one version in "+
			"CustomResourceDefinition %s, and the installer removes the object",
			item.Key(), definition)
	}
	if err != nil {
		return nil, err
	}
	k.live[item.Key()] = nil
	return nil, nil //nolint:nilnil // nil is for none
}

// versions returns the versions in which a kind may be served: first the one in which the object was written, then the others of its group.
func (w *world) versions(kind schema.GroupVersionKind) ([]schema.GroupVersionKind, error) {
	out := []schema.GroupVersionKind{kind}
	if bundle.StageOf(kind.GroupKind()) != bundle.Rest {
		return out, nil
	}
	groups, err := w.r.lister.ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("asking the API server for the versions of %s: %w", kind.Group, err)
	}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			if group.Name == kind.Group && version.Version != kind.Version {
				out = append(out, kind.GroupKind().WithVersion(version.Version))
			}
		}
	}
	return out, nil
}

// defined returns the name of the CRD of a kind, among the CRDs that the installer has applied or released; "" if there is none.
func (k *walk) defined(ctx context.Context, kind schema.GroupKind) (string, error) {
	for _, item := range k.record.inventory.Items {
		if item.Kind == definitions.Kind && item.Group == definitions.Group {
			if _, err := k.get(ctx, item.GroupVersionKind(), item.Key()); err != nil {
				return "", err
			}
		}
	}
	for _, o := range k.live {
		if o != nil && installation.IsDefinition(o) && installation.ResourceOf(o).GroupKind() == kind {
			return o.GetName(), nil
		}
	}
	return "", nil
}

// delete deletes the object if it has not changed since the decision.
func (k *walk) delete(ctx context.Context, item installation.Item, live *unstructured.Unstructured) error {
	if err := client.IgnoreNotFound(versioned.Delete(ctx, k.r.client, live.DeepCopy())); err != nil {
		return fmt.Errorf("removing %s: %w", item.Key(), err)
	}
	delete(k.live, item.Key())
	log.FromContext(ctx).Info("Removed", "provider", k.Label(), "object", item.Key().String())
	k.r.meters.count(k.Label(), k.stage, "pruned")
	k.note("Pruned", live, item.Key().String())
	return nil
}

// release keeps a CRD, with all objects of its kind, and removes the installer's label and annotation from it.
func (k *walk) release(ctx context.Context, item installation.Item, live *unstructured.Unstructured) error {
	out, without := live.DeepCopy(), map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{installation.InstalledByLabel: nil},
		"annotations": map[string]any{installation.AppliedAnnotation: nil},
	}}
	if err := client.IgnoreNotFound(versioned.Patch(ctx, k.r.client, out, without, client.FieldOwner(installation.Manager))); err != nil {
		return fmt.Errorf("releasing %s: %w", item.Key(), err)
	}
	k.live[item.Key()] = out
	k.note("Released", live, item.Key().String())
	return nil
}
