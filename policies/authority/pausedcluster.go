// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"

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

// PausedClusterBy is what becomes of objects that move to Cluster API while their Cluster is paused, and the remedy; "" where it is not, or a request asks
// for another move.
func PausedClusterBy(c policies.Change) string {
	if !arrivesPaused(c) {
		return ""
	}
	return fmt.Sprintf("Cluster %s in %s is paused (spec.paused): Cluster API leaves its objects alone, "+
		"so that after a move to Cluster API nobody acts on them. %s",
		c.Facts.PausedCluster, c.TwinNamespace, unpauseCluster(c))
}

// pausedClusterWarning comes before the move, which is carried out all the same: a condition would say so only afterwards.
func pausedClusterWarning(c policies.Change) []string {
	if !arrivesPaused(c) {
		return nil
	}
	return []string{fmt.Sprintf("spec.paused of Cluster %s is true: Cluster API leaves its objects alone, so that after the move nobody acts on this %s. %s",
		c.Facts.PausedCluster, c.Kind, unpauseCluster(c))}
}

func arrivesPaused(c policies.Change) bool {
	return c.Facts.PausedCluster != "" && moves(c) && askedFor(c.New) == ClusterAPI
}

func unpauseCluster(c policies.Change) string {
	return fmt.Sprintf(`Unpause the Cluster first: kubectl -n %s patch clusters.%s %s --type merge -p '{"spec":{"paused":false}}'`,
		c.TwinNamespace, clusterAPI.Group, c.Facts.PausedCluster)
}
