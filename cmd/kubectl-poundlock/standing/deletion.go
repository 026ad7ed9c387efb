// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package standing

import (
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// ReasonDeletionNotBegun is the reason for a Machine that is being deleted and stays, although its conditions show nothing that holds up the deletion.
const ReasonDeletionNotBegun = "DeletionNotBegun"

// deletion sets what the deletion of a Machine waits for, in the words of the API that terminates its instance. It sets nothing if the Machine's conditions do
// not show that.
func (s *Standing) deletion(p inventory.Pair) {
	going, find := p.MachineAPI, holdsUpMachineAPI
	if p.Authoritative() == authority.ClusterAPI {
		going, find = p.ClusterAPI, holdsUpClusterAPI
	}
	// The first does not hold up a deletion, and the second is a move that does not start because of it.
	besides := s.Reason == authority.ReasonFieldsNotConvertible || s.Reason == authority.ReasonDeleting
	if s.Reason != "" && !besides || !p.Kind.InfraActs() || !going.Deleting() {
		return
	}
	if reason, message := find(going); reason != "" {
		if besides {
			message = strings.TrimSpace(message + " " + s.Message)
		}
		s.Reason, s.Message, s.Since = reason, message, *going.Metadata.DeletionTimestamp
	}
}

// holdsUpClusterAPI returns what a deletion waits for, from the condition by which Cluster API's controller reports each step of a deletion.
func holdsUpClusterAPI(core *policies.Object) (reason, message string) {
	c := authority.ConditionOf(core, clusterv1.MachineDeletingCondition)
	switch c.Status {
	case "":
		return "", ""
	case metav1.ConditionFalse, metav1.ConditionUnknown:
		return ReasonDeletionNotBegun, "Cluster API's controller has not begun to delete this Machine. " +
			"The controller's log has the reason: look for the Machine's name."
	}
	return c.Reason, deletes("Cluster API", c.Message)
}

// holdsUpMachineAPI returns what a deletion waits for, from the conditions by which the Machine API's controller reports that. The controller waits in the
// order of these conditions.
func holdsUpMachineAPI(machine *policies.Object) (reason, message string) {
	shape := authority.Read(machine)
	for _, name := range []machinev1beta1.ConditionType{machinev1beta1.MachineDrainable, machinev1beta1.MachineDrained, machinev1beta1.MachineTerminable} {
		if c := shape.Condition(string(name)); c.Status == metav1.ConditionFalse {
			return c.Reason, deletes("Machine API", c.Message)
		}
	}
	return "", ""
}

func deletes(by, message string) string {
	return strings.TrimSpace(fmt.Sprintf("%s is deleting this Machine. %s", by, strings.TrimSpace(message)))
}
