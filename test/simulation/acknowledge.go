// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
)

// newConditions is the path of the list in which a provider keeps the new kind of conditions, if its status has the old kind.
const newConditions = "status.v1beta2.conditions"

// blockMove is the annotation that a provider of conversiontest.ByBlockMove acknowledges with.
const blockMove = clusterctlv1.BlockMoveAnnotation

// acknowledge reports, in the provider's way, that the object is paused, or that it is no longer. cause is what pauses it, "" for nothing. The result reports
// whether anything was written: a write ends the pass, as it does in the providers.
func (r *infraMachine) acknowledge(ctx context.Context, a *unstructured.Unstructured, cause string) (bool, error) {
	before := a.DeepCopy()
	switch r.platform.Answers {
	case conversiontest.ByCondition:
		paused(cause).put(a, "status.conditions")
		return versioned.PatchStatusFrom(ctx, r, before, a)
	case conversiontest.ByNewCondition:
		paused(cause).put(a, newConditions)
		return versioned.PatchStatusFrom(ctx, r, before, a)
	case conversiontest.ByBlockMove:
		mark(a, cause == "")
		return versioned.PatchFrom(ctx, r, before, a)
	case conversiontest.InSilence:
	}
	return false, nil
}

func mark(a *unstructured.Unstructured, acts bool) {
	annotations := a.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, blockMove)
	if acts {
		annotations[blockMove] = "true"
	}
	a.SetAnnotations(annotations)
}

// condition is a condition of either kind. The new kind has no severity, and always has a reason and a message.
type condition struct {
	kind     string
	status   corev1.ConditionStatus
	severity string
	reason   string
	message  string
}

func paused(cause string) condition {
	if cause != "" {
		return condition{kind: authority.ConditionPaused, status: corev1.ConditionTrue, reason: "Paused", message: cause}
	}
	return condition{kind: authority.ConditionPaused, status: corev1.ConditionFalse, reason: "NotPaused"}
}

// inNewList returns a condition of the old kind as one of the new kind.
func (c condition) inNewList() condition {
	c.severity = ""
	if c.reason == "" {
		c.reason = c.kind
	}
	return c
}

// put writes the condition into the list at a path, in the place of the one of its type.
func (c condition) put(a *unstructured.Unstructured, path string) {
	now := map[string]any{"type": c.kind, "status": string(c.status), "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}
	if c.severity != "" {
		now["severity"] = c.severity
	}
	if c.reason != "" {
		now["reason"] = c.reason
	}
	if c.message != "" || path == newConditions {
		now["message"] = c.message
	}
	all, _, _ := unstructured.NestedSlice(a.Object, strings.Split(path, ".")...)
	for i, item := range all {
		old, ok := item.(map[string]any)
		if !ok || old["type"] != c.kind {
			continue
		}
		if old["status"] == now["status"] {
			now["lastTransitionTime"] = old["lastTransitionTime"]
		}
		all[i] = now
		set(a, all, path)
		return
	}
	set(a, append(all, now), path)
}
