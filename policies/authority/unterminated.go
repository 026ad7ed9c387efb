// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// machineFinalizer returns the finalizer under which the controller of the object under review terminates a Machine's instance.
func machineFinalizer(c policies.Change) string {
	switch c.Side {
	case policies.SideMachineAPI:
		return MachineAPIMachineFinalizer
	case policies.SideClusterAPI:
		return clusterv1.MachineFinalizer
	}
	return InfraFinalizer(c.Resource.Group, c.Old.Kind)
}

// losesMachineFinalizer reports whether a person removes the machine finalizer from an object that is being deleted. It is false for an object that is not
// being deleted, because its controller adds the finalizer again. A provider's controllers without an account of their own look like a person. They differ by
// the field manager: kubectl's requests name one, and controllers' requests do not.
func losesMachineFinalizer(c policies.Change) bool {
	name := machineFinalizer(c)
	return c.Actor == policies.Anyone && c.Old.Deleting() && c.Old.HasFinalizer(name) && !c.New.HasFinalizer(name) &&
		(c.FieldManager != "" || !hasNoAccount(c.Old.Kind))
}

// machineFinalizerNeeds returns the needs of MachineFinalizerRemoved. NeedInfra is there for Cluster API's Machine, whose controller has nothing left to do
// once the infrastructure machine is gone. NeedHolders is there because the instance stays if it also belongs to another Machine.
func machineFinalizerNeeds(c policies.Change) policies.Need {
	switch {
	case !losesMachineFinalizer(c):
		return 0
	case c.Side == policies.SideClusterAPI:
		return policies.NeedTwin | policies.NeedInfra | policies.NeedHolders
	}
	return policies.NeedTwin | policies.NeedHolders
}

// MachineFinalizerRemoved warns a person who removes the machine finalizer from an authoritative object that is being deleted: the finalizer holds the object
// for the controller of the authoritative API until the instance is terminated (converting › Deletion of Machines). There is no warning for an object that is
// not authoritative, where other rules refuse the request or the removal has no effect. Nor is there one during a move, where the other API takes over
// (State.handedOver).
func MachineFinalizerRemoved(c policies.Change) policies.Verdict {
	s := stand(c)
	if !losesMachineFinalizer(c) || !sideOf(cleansUp(s), c.Side) || s.Condition(conditionInstanceExists).Status == metav1.ConditionFalse ||
		c.Side != policies.SideInfrastructure && len(FinalizersOwned(c).Denials) > 0 {
		return policies.Verdict{}
	}
	id, exists := instanceOf(c)
	if !exists {
		return policies.Verdict{}
	}
	if len(c.Facts.Holders) > 0 {
		return policies.Warn(
			fmt.Sprintf("metadata.finalizers: without %s this %s is deleted at once, but its instance %s stays, because it is also the instance of Machine %s",
				machineFinalizer(c), kindOf(c), id, strings.Join(c.Facts.Holders, ", ")),
			"if this object is only a copy, you may remove the finalizer: terminate nothing in the cloud. To terminate the instance, keep the finalizer, and delete "+
				"that other "+
				"Machine too")
	}
	look := fmt.Sprintf("kubectl -n %s describe %s/%s", c.Namespace, c.Resource, c.Name)
	if infra := InfraReferenceOf(c.Old); c.Side == policies.SideClusterAPI && infra.Name != "" {
		look += fmt.Sprintf(" %s.%s/%s", strings.ToLower(infra.Kind), infra.APIGroup, infra.Name)
	}
	unless := ""
	if kept := InfraInstanceKind(c.Old.Kind); kept != "" {
		unless = fmt.Sprintf(", unless a %s of this name is still held by its own finalizer", kept)
	}
	return policies.Warn(
		fmt.Sprintf("metadata.finalizers: without %s this %s does not wait until %s is terminated, and nothing terminates the instance after that%s",
			machineFinalizer(c), kindOf(c), strings.TrimSpace("its instance "+id), unless),
		"keep the finalizer, and find out from conditions, errors and events why the controller does not finish. If you remove the finalizer anyway, terminate "+
			"the instance in the cloud yourself. To look: "+look)
}

// cleansUp returns the API whose controllers terminate the instance: the authoritative one, or Cluster API if there is no Machine API object. It returns Unset
// during a move.
func cleansUp(s standing) API {
	switch {
	case s.mapi == nil:
		return ClusterAPI
	case s.moving():
		return Unset
	}
	return s.authoritative()
}

// instanceOf returns the ID of the instance of the object under review, "" if the ID is not known, and whether there is an instance.
func instanceOf(c policies.Change) (id string, exists bool) {
	infra := c.Facts.Infra
	if c.Side == policies.SideInfrastructure {
		infra = c.Old
	}
	if c.Side == policies.SideClusterAPI && infra == nil {
		return "", false
	}
	id = cmp.Or(providerID(c.Old), providerID(infra), providerID(c.Facts.Twin))
	for _, ids := range []map[string]string{StatusIDs(instanceStatus(c.Side, c.Old)), StatusIDs(instanceStatus(policies.SideInfrastructure, infra))} {
		for _, name := range slices.Sorted(maps.Keys(ids)) {
			id = cmp.Or(id, ids[name])
		}
	}
	return id, id != "" || infra != nil && provisioned(infra) || stand(c).Condition(conditionInstanceExists).Status == metav1.ConditionTrue
}
