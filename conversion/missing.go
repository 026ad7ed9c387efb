// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import "fmt"

// Missing is a required object or fact of the cluster: a reason for conditions, and a sentence. The zero Missing is nothing.
type Missing struct{ Reason, Message string }

// The reasons. What is missing may appear later, or only once Poundlock supports the platform.
const (
	ReasonClusterNotReady      = "ClusterNotReady"
	ReasonPlatformNotSupported = "PlatformNotSupported"
	ReasonInfraClusterMissing  = "InfraClusterMissing"
)

// Absent is Missing for an object of Cluster API's that has the cluster's name and does not exist: the Cluster, or the platform's infrastructure cluster.
// cluster reports whether the Cluster exists; purpose is why Cluster API needs it.
func (e *Env) Absent(kind string, cluster bool, purpose string) Missing {
	name := fmt.Sprintf("%s %s/%s does not exist", kind, e.ClusterAPINamespace, e.ClusterName)
	if what := e.Unmade(cluster); what != "" {
		return Missing{ReasonInfraClusterMissing, name + ". " + what}
	}
	return Missing{ReasonClusterNotReady, name + ": Cluster API needs it before " + purpose}
}
