// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/poundlock/poundlock/policies"
)

// DeleteDetached: "the deletion event will not be synchronised to the Cluster API equivalent … To ensure users are aware
// of this situation, webhooks will be introduced to warn users" (converting › Deletion of Machines).
func DeleteDetached(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || c.Facts.Twin == nil || s.inCharge() != ClusterAPI || c.Kind == "Machine" && owned(c.Old) {
		return policies.Verdict{}
	}
	if c.Facts.Twin.Deleting() { // what runs is going already: nothing stays
		return policies.Verdict{}
	}
	return policies.Warn(fmt.Sprintf("this only ends the mirroring: Cluster API is in charge, and %s. To end that too: %s", runs(c, s), deleteThere(c)))
}

// runs says what goes on running.
func runs(c policies.Change, s standing) string {
	switch c.Kind {
	case "Machine":
		return "its Machine and instance run on"
	case "MachineHealthCheck":
		return "its check goes on to delete Machines that it finds unhealthy"
	}
	return fmt.Sprintf("its set with %s and their instances runs on", count(max(s.Replicas, setReplicas(c.Facts.Twin)), "Machine"))
}

// deleteThere is the command that deletes the twin.
func deleteThere(c policies.Change) string {
	resource, _, _ := strings.Cut(there(c), " ")
	return fmt.Sprintf("kubectl -n %s delete %s %s", c.TwinNamespace, resource, c.Name)
}

func setReplicas(o *policies.Object) int64 {
	var status struct {
		Replicas int64 `json:"replicas"`
	}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Status), &status)
	}
	return status.Replicas
}

// DeleteRecreated: the mirror of an authority is made again; footnote 9 of converting › Summary of the rules.
func DeleteRecreated(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || s.mapi == nil || s.inCharge() != MachineAPI || c.Kind == "Machine" && owned(c.Old) {
		return policies.Verdict{}
	}
	if s.mapi.Deleting() { // the mirror of what is going is not made again
		return policies.Verdict{}
	}
	return policies.Warn(fmt.Sprintf("this mirror will be made again, and no instance ends: Machine API is in charge. To end the %s: %s", c.Kind, deleteThere(c)))
}

// DeletePropagates: "if a Machine API Machine that is owned is deleted, then the deletion event is synchronised to
// Cluster API" (converting › Deletion of Machines, footnote 8), and the other way about.
func DeletePropagates(c policies.Change) policies.Verdict {
	s := stand(c)
	if c.Actor == policies.Poundlock || c.Facts.Twin == nil || sideOf(s.inCharge(), c.Side) || !owned(c.Old) {
		return policies.Verdict{}
	}
	return policies.Warn(fmt.Sprintf("%s is in charge of this Machine, which a %s owns: it and its instance are deleted too",
		there(c), owner(c.Old)))
}

func owner(o *policies.Object) string {
	for _, ref := range o.Metadata.OwnerReferences {
		if ref.Controller != nil && *ref.Controller {
			return fmt.Sprintf("%s (%s)", ref.Kind, ref.Name)
		}
	}
	return "controller"
}
