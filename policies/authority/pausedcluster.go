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

// PausesAll reports whether a Cluster is paused: Cluster API then leaves all of its objects alone.
func PausesAll(cluster *policies.Object) bool {
	var spec struct {
		Paused bool `json:"paused"`
	}
	return cluster != nil && json.Unmarshal(orNull(cluster.Spec), &spec) == nil && spec.Paused
}

// ClusterOf is the name of the Cluster of a Cluster API object; "" for none.
func ClusterOf(o *policies.Object) string {
	var spec struct {
		ClusterName string `json:"clusterName"`
	}
	if o == nil || json.Unmarshal(orNull(o.Spec), &spec) != nil {
		return ""
	}
	return spec.ClusterName
}

// NamePausedCluster names a paused Cluster, the field manager that paused it, and the command that ends its pause, which comes last.
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

// PausedClusterBy is what becomes of objects that are to move while their Cluster is paused, and the remedy; "" where it is not, or no request asks for a move.
func PausedClusterBy(c policies.Change) string {
	if leavesPaused(c) {
		return fmt.Sprintf("Cluster %s in %s is paused (spec.paused), so Cluster API's controllers do not act on its objects. Once they report the pause, no "+
			"move to Machine API starts. %s", c.Facts.PausedCluster, c.TwinNamespace, unpauseCluster(c))
	}
	if !arrivesPaused(c) {
		return ""
	}
	return fmt.Sprintf("Cluster %s in %s is paused (spec.paused), so Cluster API does not act on its objects. After a move to Cluster API no controller would "+
		"act on them. %s",
		c.Facts.PausedCluster, c.TwinNamespace, unpauseCluster(c))
}

// pausedClusterWarning comes before the move. One to Cluster API is carried out all the same: a condition would say so only afterwards.
func pausedClusterWarning(c policies.Change) []string {
	if leavesPaused(c) {
		return []string{fmt.Sprintf("spec.paused of Cluster %s is true. Once Cluster API's controllers report the pause, the move will not start until the "+
			"Cluster is unpaused. %s",
			c.Facts.PausedCluster, unpauseCluster(c))}
	}
	if !arrivesPaused(c) {
		return nil
	}
	return []string{fmt.Sprintf("spec.paused of Cluster %s is true, so Cluster API does not act on its objects. After the move no controller acts on this %s. "+
		"%s",
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
