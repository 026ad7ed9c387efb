// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// reasonVanished is the reason of the condition if Poundlock creates nothing from a mirror because the mirror's authoritative object is gone.
const reasonVanished = "AuthoritativeObjectMissing"

// vanished returns a sentence if the authoritative object of Cluster API existed and is gone, although Poundlock has not seen its deletion; "" otherwise. The
// finalizer keeps such an object as long as Poundlock has not been removed (kubectl poundlock cleanup). The object may have been deleted in the meantime, for
// example by scaling a set down. If Poundlock recreated it, it would get an instance of its own, or the set would delete another Machine in its place.
//
// That the object existed is stored before Cluster API's controllers may act on it: by the switch, by an adoption of an existing object, or by the mirror's
// first report, for which the handoff waits. For a new object nothing is stored yet, so its first twin is created.
func (s steps) vanished() string {
	if s.Source() != authority.ClusterAPI || s.Core != nil || !s.Shape().Existed() && !s.wasReflected() {
		return ""
	}
	end, lost, api := "", "To restore it in Cluster API", "ClusterAPI"
	if s.Kind.Scales {
		end, lost, api = " --cascade=orphan", "To restore the set in an API", "ClusterAPI, or MachineAPI"
	}
	if s.Kind.InfraActs() {
		lost = "If the Machine's instance runs, and Cluster API should be authoritative for the Machine again"
	}
	return fmt.Sprintf("Cluster API is authoritative, but the Cluster API %[1]s %[2]s/%[3]s, which existed, is gone. Poundlock does not recreate it, "+
		"because somebody may have deleted it before it was mirrored, or while Poundlock was not installed. To delete this mirror too: kubectl -n %[4]s "+
		"delete %[5]s.%[6]s %[3]s%[7]s. %[8]s, delete this mirror, and create it again with spec.authoritativeAPI: %[9]s",
		s.Kind.Name, s.Pair.ClusterAPI, s.Name, s.Pair.MachineAPI, s.Kind.Resource, s.Kind.MachineAPI.Group, end, lost, api)
}

// keepsChildren returns the write that puts the sync finalizer on a set that has lost its authoritative object and also the finalizer (kubectl poundlock
// cleanup). So the deletion of the set waits until Poundlock has detached the Machines that Machine API runs. Otherwise the garbage collector would delete them
// with their instances.
func (s steps) keepsChildren() *pairs.Write {
	if _, ok := s.Kind.Children(); !ok {
		return nil
	}
	return deletion.Hold(s.MachineAPI)
}

// wasReflected reports whether the mirror created the Machine API object for a Machine that Cluster API's set had created. Only then does the mirror own
// spec.authoritativeAPI. If a user copies the object, the user owns the field.
func (s steps) wasReflected() bool {
	return s.Shape().Requested == authority.ClusterAPI && ownership.Owns(s.MachineAPI, managedfields.Path("spec", "authoritativeAPI"))
}
