// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/internal/versioned"
)

// page is how many objects are rewritten in a pass, unless the options set it. It is limited because other providers wait during that time.
const page = 500

// mostRefused is how many refused objects of a kind a pass names before it stops trying others.
const mostRefused = 3

// migrateFirst rewrites objects of those CRDs whose new form lacks a version in which some objects are stored, because the API server would refuse such a CRD.
// It returns what the pass waits for, "" if nothing is left to rewrite.
func (k *walk) migrateFirst(ctx context.Context) (waits string, err error) {
	for _, o := range k.In(bundle.Definitions) {
		live := k.live[o.Key()]
		if live == nil {
			continue
		}
		first, err := installation.Lost(o.Unstructured, live)
		if err != nil {
			return "", &installation.Final{Err: err}
		}
		if !first {
			continue
		}
		if done, err := k.rewrite(ctx, o, live); err != nil || !done {
			return fmt.Sprintf("%s: the installer rewrites the stored objects of this kind before it removes an older version of the kind", o.Key()), err
		}
	}
	return "", nil
}

// migrate rewrites all objects that are stored in an older version, and stores that none are left. If admission refuses objects of one kind, the other kinds
// are still rewritten. It returns what the pass waits for.
func (k *walk) migrate(ctx context.Context) (waits string, err error) {
	var problems []error
	for _, o := range k.In(bundle.Definitions) {
		live := k.live[o.Key()]
		if live == nil {
			continue
		}
		if _, older := installation.StorageOf(live); len(older) == 0 {
			k.record.rewrites = k.record.rewrites.With(live, "")
			continue
		}
		done, err := k.rewrite(ctx, o, live)
		if k.r.stops(err) {
			return "", err
		}
		problems = append(problems, err)
		if err != nil || !done {
			waits = fmt.Sprintf("%s: the installer rewrites the stored objects of this kind in the new storage version", o.Key())
		}
	}
	return waits, errors.Join(problems...)
}

// rewrite rewrites one page of objects without a change, so that the API server stores them in the storage version. After each page it stores where the next
// page begins, so that a new process continues there. After the last page it removes the older versions from the list of stored versions.
func (k *walk) rewrite(ctx context.Context, o installation.Object, live *unstructured.Unstructured) (done bool, err error) {
	kind := installation.ResourceOf(live)
	list, err := k.nextPage(ctx, kind, k.record.rewrites.At(live))
	if err != nil {
		return false, fmt.Errorf("listing the objects of %s to rewrite them: %w", o.Key(), err)
	}
	var problems []error
	for i := range list.Items {
		err := k.touch(ctx, kind.GroupVersion().String(), kind.Kind, &list.Items[i])
		if err == nil {
			continue
		}
		err = fmt.Errorf("rewriting %s/%s: %w", kind.Kind, list.Items[i].Name, err)
		if k.r.stops(err) {
			return false, err
		}
		if problems = append(problems, err); len(problems) == mostRefused {
			break
		}
	}
	if len(problems) > 0 {
		return false, errors.Join(problems...)
	}
	k.record.rewrites = k.record.rewrites.With(live, list.Continue)
	if list.Continue != "" {
		return false, k.r.save(ctx, k.record)
	}
	return true, k.trim(ctx, o, live, kind.Version)
}

// nextPage lists objects from a continue token (at) on. A token expires after some minutes. The API server then returns a token for the same position in its
// newest list. Objects that were created in the meantime are stored in the storage version anyway. A token of another release of the API server may be invalid:
// then nextPage begins at the first object.
func (k *walk) nextPage(ctx context.Context, kind schema.GroupVersionKind, at string) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	err := k.r.client.List(ctx, list, client.Limit(k.r.Page), client.Continue(at))
	if at == "" || !apierrors.IsResourceExpired(err) && !apierrors.IsBadRequest(err) {
		return list, err
	}
	var answer apierrors.APIStatus
	errors.As(err, &answer)
	return list, k.r.client.List(ctx, list, client.Limit(k.r.Page), client.Continue(answer.Status().Continue))
}

// touch sends a patch that changes nothing, and requires that the object is unchanged. If another writer was faster, that writer's request has also stored the
// object in the storage version.
func (k *walk) touch(ctx context.Context, version, kind string, item *metav1.PartialObjectMetadata) error {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name}}
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": item.ResourceVersion, "uid": item.UID}})
	if err != nil {
		return err
	}
	err = k.r.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(installation.Manager))
	if versioned.Outdated(err) {
		return nil
	}
	return err
}

func (k *walk) trim(ctx context.Context, o installation.Object, live *unstructured.Unstructured, storage string) error {
	out, status := live.DeepCopy(), map[string]any{"storedVersions": []string{storage}}
	if err := versioned.PatchStatus(ctx, k.r.client, out, map[string]any{"status": status}, client.FieldOwner(installation.Manager)); err != nil {
		return fmt.Errorf("noting that no object of %s is stored in an older version: %w", o.Key(), err)
	}
	k.live[o.Key()] = out
	log.FromContext(ctx).Info("Objects rewritten", "definition", o.GetName(), "version", storage)
	return nil
}

// retire moves managed fields out of the versions that a CRD is about to lose.
func (k *walk) retire(ctx context.Context, want, live *unstructured.Unstructured) error {
	if live == nil || !installation.IsDefinition(want) {
		return nil
	}
	vanished := installation.Vanished(want, live)
	if len(vanished) == 0 {
		return nil
	}
	kind := installation.ResourceOf(live)
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	for next := true; next; next = list.Continue != "" {
		if err := k.r.client.List(ctx, list, client.Limit(page), client.Continue(list.Continue)); err != nil {
			return fmt.Errorf("listing the objects of %s: %w", want.GetName(), err)
		}
		for i := range list.Items {
			if err := k.retireOne(ctx, kind, &list.Items[i], vanished); err != nil {
				return fmt.Errorf("moving the managed fields of %s/%s to another version: %w", kind.Kind, list.Items[i].Name, err)
			}
		}
	}
	return nil
}

func (k *walk) retireOne(ctx context.Context, kind schema.GroupVersionKind, item *metav1.PartialObjectMetadata, vanished []string) error {
	entries, changed, err := installation.Retire(item.ManagedFields, kind.Group, vanished, kind.Version)
	if err != nil || !changed {
		return err
	}
	raw, err := json.Marshal([]any{
		map[string]any{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		map[string]any{"op": "replace", "path": "/metadata/resourceVersion", "value": item.ResourceVersion},
	})
	if err != nil {
		return err
	}
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: item.Namespace, Name: item.Name}}
	o.SetGroupVersionKind(kind)
	return client.IgnoreNotFound(k.r.client.Patch(ctx, o, client.RawPatch(types.JSONPatchType, raw), client.FieldOwner(installation.Manager)))
}
