// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

// ArrivingPrefix begins the value that PausedAnnotation of a Cluster API object gets right before Cluster API becomes authoritative. The generation of the
// Machine API object follows, so that a request that is withdrawn and repeated gets another value.
const ArrivingPrefix = "authority-arrives-"

// Arriving returns the value of PausedAnnotation that announces that Cluster API becomes authoritative for an object in one of its generations.
//
// The authority is stored in the Machine API object, so a deletion of the Cluster API object does not meet it in one write. The announcement does: it is
// written with the resourceVersion of an object that is not being deleted. A deletion before it makes the announcement fail, and the move is cancelled. A
// deletion after it is refused (DeleteArriving) until the new authority is stored, and ends then what the review says. It is refused without an answer from
// Poundlock too (cel.DeletesAnnounced).
func Arriving(generation int64) string { return ArrivingPrefix + strconv.FormatInt(generation, 10) }

// Announced reports whether a value of PausedAnnotation is an announcement.
func Announced(value string) bool { return strings.HasPrefix(value, ArrivingPrefix) }

// DeleteArriving refuses the deletion of a Cluster API object while Cluster API is about to become authoritative for it (Arriving). Before that, the deletion
// would cancel the move. After it, the deletion deletes the object's Machines with their instances.
func DeleteArriving(c policies.Change) policies.Verdict {
	if !arrives(c) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf(
		"Cluster API is about to become authoritative for %s, and then this deletion would also delete %s. Try again once status.authoritativeAPI is "+
			"ClusterAPI, or first cancel the move: %s",
		there(c), withIt[c.Kind], moveTo(c, MachineAPI))))
}

// withIt is what the deletion of an object for which Cluster API is authoritative deletes, too.
var withIt = map[string]string{
	"Machine": "the Machine API Machine and the instance", "MachineSet": "the set's Machines with their instances", "MachineHealthCheck": "the Machine API check",
}

// arrives reports whether somebody deletes an object to which it is announced that Cluster API becomes authoritative, while the move goes on and its request
// stands. An announcement that outlived its move refuses nothing: a backup may have it.
func arrives(c policies.Change) bool {
	s := stand(c)
	return c.Actor != policies.Poundlock && !c.Old.Deleting() && announced(c.Old) && s.moving() && s.SynchronizedAPI == MachineAPI && s.Requested == ClusterAPI
}

func announced(o *policies.Object) bool { return Announced(o.Metadata.Annotations[PausedAnnotation]) }
