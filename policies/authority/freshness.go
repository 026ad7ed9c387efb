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
// A cache may lag. What the review itself carries is as stored: the pause annotation of a Cluster API object, the sync finalizer of either. Where the cache
// agrees with that, it suffices: a lag can then at worst refuse something for a moment. Where they disagree, only a live read decides (DESIGN §3.1). A
// person's deletion always gets a live read: its warning describes what will happen, and a lag would make that false.
func CacheSuffices(c policies.Change, twin *policies.Object) bool {
	o := stored(c)
	if o == nil || c.Operation == admissionv1.Delete && c.Actor == policies.Anyone {
		return false
	}
	if c.Side == policies.SideMachineAPI {
		return twin != nil || !o.HasFinalizer(SyncFinalizer)
	}
	if twin == nil {
		// Without a twin nothing is locked. A person's request is worth a live read. Controllers write often, so for them it is made only if the object has the
		// mark of a mirror.
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
