// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
)

// CacheSuffices reports whether a twin from a cache, nil for none, is fresh enough to decide the change, or must be
// read again from the API server.
//
// A cache may lag. What the review itself carries is as stored: the pause annotation of a Cluster API object, the
// sync finalizer of either. Where the two tell the same story, the cache will do: the worst that a lag can then do is
// to refuse something for a moment. Where they disagree, only a live read decides (DESIGN §3.1). A person's deletion is
// always read for: it is warned of and then stored, so a lag would promise what does not come.
func CacheSuffices(c policies.Change, twin *policies.Object) bool {
	o := stored(c)
	if o == nil || c.Operation == admissionv1.Delete && c.Actor == policies.Anyone {
		return false
	}
	if c.Side == policies.SideMachineAPI {
		return twin != nil || !o.HasFinalizer(SyncFinalizer)
	}
	if twin == nil {
		// No twin means nothing is locked: for people that is worth a look, for controllers, which write often,
		// only if the object has the mark of a mirror.
		return c.Actor != policies.Anyone && !o.HasFinalizer(SyncFinalizer) && !o.HasAnnotation(MirrorAnnotation)
	}
	paused := o.HasAnnotation(PausedAnnotation)
	switch Read(twin).Current {
	case ClusterAPI:
		return !paused
	case Migrating:
		return true // refuses, either way
	}
	return paused
}

// ScaleCacheSuffices reports whether an object from a cache is the very one whose /scale is under review: a Scale
// carries the resourceVersion of its object.
func ScaleCacheSuffices(c policies.Change, cached *policies.Object) bool {
	return cached != nil && c.Old != nil && cached.Metadata.ResourceVersion == c.Old.Metadata.ResourceVersion
}
