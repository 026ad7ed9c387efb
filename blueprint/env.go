// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
)

// Get reads one object by name, from wherever the caller reads; nil and no error where there is none, or its kind is not served. What it returns is not
// changed.
type Get func(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)

// Env reads what conversions between the namespaces of a pair need of the cluster: the Infrastructure named cluster, and the platform's
// infrastructure cluster. missing is a sentence that says what of it is not there yet, "" where all is.
func Env(get Get, pair authority.Pair) (env conversion.Env, missing string, err error) {
	env = conversion.Env{MachineAPINamespace: pair.MachineAPI, ClusterAPINamespace: pair.ClusterAPI}
	about, err := get(configv1.GroupVersion.WithKind("Infrastructure"), "", "cluster")
	if err != nil {
		return env, "", fmt.Errorf("reading Infrastructure cluster: %w", err)
	}
	if missing = describe(about, &env); missing != "" {
		return env, missing, nil
	}
	kind := env.Platform.InfraCluster.GroupVersionKind
	infraCluster, err := get(kind, pair.ClusterAPI, env.ClusterName)
	if err != nil {
		return env, "", fmt.Errorf("reading %s %s/%s: %w", kind.Kind, pair.ClusterAPI, env.ClusterName, err)
	}
	if infraCluster == nil {
		return env, fmt.Sprintf("%s %s/%s does not exist: Cluster API needs it before a control plane can be made there", kind.Kind, pair.ClusterAPI, env.ClusterName), nil
	}
	env.InfraCluster = infraCluster.Object
	return env, "", nil
}

func describe(about *unstructured.Unstructured, env *conversion.Env) (missing string) {
	if about == nil {
		return "Infrastructure cluster (config.openshift.io) does not exist: it tells the cluster's name and platform"
	}
	name, _, _ := unstructured.NestedString(about.Object, "status", "infrastructureName")
	platform, _, _ := unstructured.NestedString(about.Object, "status", "platformStatus", "type")
	if name == "" || platform == "" {
		return "Infrastructure cluster (config.openshift.io) does not yet say status.infrastructureName and status.platformStatus.type"
	}
	p, ok := platforms.For(platform)
	if !ok {
		return platforms.Unsupported(platform)
	}
	env.ClusterName, env.Platform, env.Infrastructure = name, p, about.Object
	env.Region = env.PlatformStatus("region")
	return ""
}
