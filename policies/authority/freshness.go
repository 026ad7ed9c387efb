// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
)

// CacheSuffices reports whether a twin from a cache is fresh enough to decide the change. If it returns false, the twin must be read again from the API server.
// A nil twin means that the cache has none.
//
// A cache may lag. But the object in the review is as stored, including the pause annotation of a Cluster API object and the sync finalizer of an object of
// either API. If the cached twin agrees with these, the cache suffices: at worst, its lag refuses something for a moment. If the two disagree, only a live read
// decides (DESIGN §3.1). A person's deletion always gets a live read, because its warning describes what will happen, and a lag would make the warning false.
// So does the deletion of an object to which the end of a move is announced: whether that move still goes on decides.
func CacheSuffices(c policies.Change, twin *policies.Object) bool {
	o := stored(c)
	if o == nil || c.Operation == admissionv1.Delete && (c.Actor == policies.Anyone || announced(o)) {
		return false
	}
	if c.Side == policies.SideMachineAPI {
		return twin != nil || !o.HasFinalizer(SyncFinalizer)
	}
	if twin == nil {
		// Without a twin nothing is locked. For a person's request that is checked by a live read. Controllers write often, so their requests get a live read only if
		// the object has the sync finalizer or MirrorAnnotation.
		return c.Actor != policies.Anyone && !o.HasFinalizer(SyncFinalizer) && !o.HasAnnotation(MirrorAnnotation)
	}
	paused := o.HasAnnotation(PausedAnnotation)
	switch Read(twin).Current {
	case ClusterAPI:
		return !paused
	case Migrating:
		return true // the locks refuse the change in either direction of a move
	}
	return paused
}

// ScaleCacheSuffices reports whether an object from a cache is exactly the version whose /scale is under review. A Scale carries the resourceVersion of its
// object, so the two can be compared.
func ScaleCacheSuffices(c policies.Change, cached *policies.Object) bool {
	return cached != nil && c.Old != nil && cached.Metadata.ResourceVersion == c.Old.Metadata.ResourceVersion
}
