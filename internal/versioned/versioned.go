// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package versioned

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch sends a merge patch with the object's resourceVersion, and replaces the object with the answer.
func Patch(ctx context.Context, to client.Writer, o client.Object, body map[string]any, options ...client.PatchOption) error {
	patch, err := of(o, body)
	if err != nil {
		return err
	}
	return to.Patch(ctx, o, patch, options...)
}

// PatchStatus sends a merge patch of the status with the object's resourceVersion, and replaces the object with the answer.
func PatchStatus(ctx context.Context, to client.StatusClient, o client.Object, body map[string]any, options ...client.SubResourcePatchOption) error {
	patch, err := of(o, body)
	if err != nil {
		return err
	}
	return to.Status().Patch(ctx, o, patch, options...)
}

// PatchFrom sends a merge patch of the differences from before to after, in metadata and spec, and replaces after with the answer. Without differences, it
// sends nothing. It reports whether it wrote. The patch carries the resourceVersion, because a merge patch replaces whole lists and could otherwise remove
// another writer's finalizer.
func PatchFrom(ctx context.Context, to client.Writer, before, after client.Object) (bool, error) {
	return from(before, after, func(p client.Patch) error { return to.Patch(ctx, after, p) })
}

// PatchStatusFrom does the same as PatchFrom, for the status. It sends a patch and not an update, because an update would erase the fields of other writers.
func PatchStatusFrom(ctx context.Context, to client.StatusClient, before, after client.Object) (bool, error) {
	return from(before, after, func(p client.Patch) error { return to.Status().Patch(ctx, after, p) })
}

func from(before, after client.Object, write func(client.Patch) error) (bool, error) {
	difference, err := client.MergeFrom(before).Data(after)
	if err != nil || string(difference) == "{}" {
		return false, err
	}
	if err := write(client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("patching %s: %w", client.ObjectKeyFromObject(before), err)
	}
	return true, nil
}

// Delete deletes exactly this object, as it was read, and no other object of the same name. If the object does not exist, Delete returns an error, which the
// caller may ignore.
func Delete(ctx context.Context, to client.Writer, o client.Object, options ...client.DeleteOption) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	return to.Delete(ctx, o, append(options, client.Preconditions{UID: &uid, ResourceVersion: &version})...)
}

// of returns a merge patch of body with the object's resourceVersion. It does not change body itself.
func of(o client.Object, body map[string]any) (client.Patch, error) {
	metadata, _ := body["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = o.GetResourceVersion()
	if body = maps.Clone(body); body == nil {
		body = map[string]any{}
	}
	body["metadata"] = metadata
	raw, err := json.Marshal(body)
	return client.RawPatch(types.MergePatchType, raw), err
}
