// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"encoding/json"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Unmade returns what to do if the infrastructure cluster object is missing: who creates this object, and the command. If cluster is false, the Cluster is
// missing too, and the command also creates the Cluster. The text is for platforms on which OpenShift does not create the object, or not in each release. It
// is empty if OpenShift creates the object, or if the Infrastructure lacks values that a spec needs.
func (e *Env) Unmade(cluster bool) string {
	if e.Platform.MakeInfraCluster == nil {
		return ""
	}
	spec, who := e.Platform.MakeInfraCluster(e)
	if spec == nil {
		return ""
	}
	infra := e.Platform.InfraCluster
	metadata := map[string]any{"name": e.ClusterName, "namespace": e.ClusterAPINamespace}
	objects := []any{map[string]any{"apiVersion": infra.GroupVersion().String(), "kind": infra.Kind, "metadata": metadata, "spec": spec}}
	if !cluster {
		objects = append(objects, map[string]any{"apiVersion": clusterv1.GroupVersion.String(), "kind": "Cluster", "metadata": metadata, "spec": map[string]any{
			"controlPlaneEndpoint": spec["controlPlaneEndpoint"],
			"infrastructureRef":    map[string]any{"apiGroup": infra.Group, "kind": infra.Kind, "name": e.ClusterName},
		}})
	}
	var commands []string
	for _, o := range objects {
		manifest, err := json.Marshal(o)
		if err != nil {
			return ""
		}
		commands = append(commands, fmt.Sprintf("echo %s | kubectl create -f -", Quoted(string(manifest))))
	}
	return who + ": " + strings.Join(commands, "; ")
}
