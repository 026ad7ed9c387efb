// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies"
)

// SynchronizedWithAnnotation is on a Machine API object that mirrors Cluster API: which objects, in which generation,
// it was made from (Fingerprint). status.synchronizedGeneration has room for one generation only, and may not decrease
// when the core object was made again.
const SynchronizedWithAnnotation = Domain + "/synchronized-with"

// Source is the API from which the pair is mirrored: who is in charge, and while authority moves, where it comes from.
// Unset: nobody has settled it yet, and nothing is mirrored.
func Source(s Shape) API {
	switch s.Current {
	case MachineAPI, ClusterAPI:
		return s.Current
	case Migrating:
		if s.SynchronizedAPI != Unset {
			return s.SynchronizedAPI
		}
		return s.Requested.Other()
	}
	return Unset
}

// Fingerprint names the Cluster API objects that a mirror is made from and their generations: "uid:generation" of the
// core object, then of its infrastructure object, if it has one.
func Fingerprint(core, infra *policies.Object) string {
	var parts []string
	for _, o := range []*policies.Object{core, infra} {
		if o != nil {
			parts = append(parts, fmt.Sprintf("%s:%d", o.Metadata.UID, o.Metadata.Generation))
		}
	}
	return strings.Join(parts, ",")
}

// InSync reports whether the mirror has been made from the authority as it is now: from the generation of the Machine
// API object where that is the source, from the generations of both the core and the infrastructure object where
// Cluster API is (DESIGN §4, step 2). mapi, core and infra are the objects as stored; infra is the one that core refers to.
//
// synchronizedGeneration alone does not tell on Cluster API's side: an infrastructure machine has a generation of its
// own, and a core object that was made again starts at 1 while the field may not decrease.
func InSync(mapi, core, infra *policies.Object) bool {
	s := Read(mapi)
	if mapi == nil || s.Condition(ConditionSynchronized).Status != metav1.ConditionTrue {
		return false
	}
	switch Source(s) {
	case MachineAPI:
		return s.SynchronizedGeneration == mapi.Metadata.Generation
	case ClusterAPI:
		return core != nil && s.SynchronizedGeneration >= core.Metadata.Generation &&
			mapi.Metadata.Annotations[SynchronizedWithAnnotation] == Fingerprint(core, infra)
	}
	return false
}
