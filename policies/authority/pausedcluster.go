// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/policies"
)

// PausesAll reports whether a Cluster is paused (spec.paused): Cluster API then leaves all objects of the Cluster alone.
func PausesAll(cluster *policies.Object) bool {
	var spec struct {
		Paused bool `json:"paused"`
	}
	return cluster != nil && json.Unmarshal(orNull(cluster.Spec), &spec) == nil && spec.Paused
}

// ClusterOf returns the name of the Cluster to which a Cluster API object belongs (spec.clusterName); "" if it names none.
func ClusterOf(o *policies.Object) string {
	var spec struct {
		ClusterName string `json:"clusterName"`
	}
	if o == nil || json.Unmarshal(orNull(o.Spec), &spec) != nil {
		return ""
	}
	return spec.ClusterName
}

// NamePausedCluster returns a text that names a paused Cluster, the field manager that paused it if that is recorded, and, at the end, the command that
// unpauses it.
func NamePausedCluster(cluster *policies.Object) string {
	m, by := cluster.Metadata, ""
	for _, e := range managedFields(cluster) {
		if managedfields.EntryHolds(e, managedfields.Path("spec", "paused")) {
			by = " by " + cmp.Or(e.Manager, "a field manager without a name")
		}
	}
	if by != "" {
		by = ", set" + by
	}
	return fmt.Sprintf("Cluster %s in %s has spec.paused: true%s. Ask who paused it, then unpause it: %s", m.Name, m.Namespace, by,
		unpauseCommand(m.Namespace, m.Name))
}

// PausedClusterBy returns what happens to an object that is to move while its Cluster is paused, and the remedy; "" if the Cluster is not paused or the request
// does not ask for a move.
func PausedClusterBy(c policies.Change) string {
	if leavesPaused(c) {
		return fmt.Sprintf("Cluster %s in %s is paused (spec.paused): Cluster API's controllers leave its objects alone, and once they "+
			"have reported that, no move to Machine API starts. %s", c.Facts.PausedCluster, c.TwinNamespace, unpauseCluster(c))
	}
	if !arrivesPaused(c) {
		return ""
	}
	return fmt.Sprintf("Cluster %s in %s is paused (spec.paused): Cluster API leaves its objects alone, "+
		"so that after a move to Cluster API nobody acts on them. %s",
		c.Facts.PausedCluster, c.TwinNamespace, unpauseCluster(c))
}

// pausedClusterWarning returns a warning if a request asks for a move while the Cluster is paused. A move to Cluster API is carried out in spite of the pause:
// without this warning, only a condition would report the pause, and only after the move.
func pausedClusterWarning(c policies.Change) []string {
	if leavesPaused(c) {
		return []string{fmt.Sprintf("spec.paused of Cluster %s is true: once Cluster API's controllers have reported that, "+
			"the move will not start before it is unpaused. %s",
			c.Facts.PausedCluster, unpauseCluster(c))}
	}
	if !arrivesPaused(c) {
		return nil
	}
	return []string{fmt.Sprintf("spec.paused of Cluster %s is true: Cluster API leaves its objects alone, so that after the move nobody acts on this %s. %s",
		c.Facts.PausedCluster, c.Kind, unpauseCluster(c))}
}

func arrivesPaused(c policies.Change) bool {
	return c.Facts.PausedCluster != "" && moves(c) && askedFor(c.New) == ClusterAPI
}

func leavesPaused(c policies.Change) bool {
	return c.Facts.PausedCluster != "" && moves(c) && askedFor(c.New) == MachineAPI
}

func unpauseCluster(c policies.Change) string {
	return "Unpause the Cluster first: " + unpauseCommand(c.TwinNamespace, c.Facts.PausedCluster)
}

func unpauseCommand(namespace, name string) string {
	return fmt.Sprintf(`kubectl -n %s patch clusters.%s %s --type merge -p '{"spec":{"paused":false}}'`, namespace, clusterAPI.Group, name)
}
