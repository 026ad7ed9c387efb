// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import "fmt"

// Missing describes a required object or fact of the cluster that does not exist: a reason for conditions, and a sentence. The zero Missing: nothing is
// missing.
type Missing struct{ Reason, Message string }

// The reasons of Missing. ClusterNotReady and InfraClusterMissing end once the missing object exists. PlatformNotSupported ends only with a version of
// Poundlock that supports the platform.
const (
	ReasonClusterNotReady      = "ClusterNotReady"
	ReasonPlatformNotSupported = "PlatformNotSupported"
	ReasonInfraClusterMissing  = "InfraClusterMissing"
)

// Absent returns the Missing for a Cluster API object that should have the cluster's name and does not exist. The object is the Cluster or the platform's
// infrastructure cluster, by kind. cluster reports whether the Cluster exists. purpose ends the sentence "Cluster API needs this object before …": what the
// missing object is needed for.
func (e *Env) Absent(kind string, cluster bool, purpose string) Missing {
	name := fmt.Sprintf("%s %s/%s does not exist", kind, e.ClusterAPINamespace, e.ClusterName)
	if what := e.Unmade(cluster); what != "" {
		return Missing{ReasonInfraClusterMissing, name + ". " + what}
	}
	return Missing{ReasonClusterNotReady, name + ": Cluster API needs this object before " + purpose}
}
