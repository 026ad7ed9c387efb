// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// losesControlPlaneLabel reports whether a request removes the label by which Cluster API recognizes control plane Machines
// (clusterv1.MachineControlPlaneLabel).
func losesControlPlaneLabel(c policies.Change) bool {
	_, had := c.Old.Metadata.Labels[clusterv1.MachineControlPlaneLabel]
	_, has := c.New.Metadata.Labels[clusterv1.MachineControlPlaneLabel]
	return had && !has && c.Actor != policies.Poundlock && !c.Old.Deleting()
}

// ControlPlaneLabel refuses to remove clusterv1.MachineControlPlaneLabel from a Machine whose other labels say that it belongs to the control plane. Cluster
// API recognizes control plane Machines by this label only. If no Machine that stays has this label, Cluster API skips the hooks and the drain in every
// deletion of a Machine (ControlPlaneLast). A request that removes all labels of the control plane together is allowed, because the Machine then has another
// role in both APIs.
func ControlPlaneLabel(c policies.Change) policies.Verdict {
	if !losesControlPlaneLabel(c) || c.Facts.Twin == nil || stand(c).authoritative() != ClusterAPI {
		return policies.Verdict{}
	}
	others := []string{}
	for key, role := range c.New.Metadata.Labels {
		if name, ofNode := strings.CutPrefix(key, clusterv1.NodeRoleLabelPrefix+"/"); ofNode {
			role = name
		} else if key != machineapi.RoleLabel && key != machineapi.TypeLabel {
			continue
		}
		if slices.Contains(controlPlaneRoles, role) {
			others = append(others, key)
		}
	}
	if len(others) == 0 {
		return policies.Verdict{}
	}
	slices.Sort(others)
	kind, _ := KindNamed(c.Kind)
	return policies.Deny(field.Forbidden(field.NewPath("metadata", "labels").Key(clusterv1.MachineControlPlaneLabel), fmt.Sprintf(
		"Cluster API counts the control plane's Machines by this label. While no Machine has this label, deletions drain no Node and wait for no preDrain hook, "+
			"not even etcd's. Keep the label. If this Machine no longer belongs to the control plane, remove all labels that mark it, in one command: kubectl -n %s "+
			"label %s.%s %s %s- %s-",
		c.Namespace, kind.Resource, kind.ClusterAPI.Group, c.Name, clusterv1.MachineControlPlaneLabel, strings.Join(others, "- "))))
}
