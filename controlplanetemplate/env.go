// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetemplate

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

// Missing is what of the cluster a conversion cannot do without: a word for conditions, and a sentence. The zero Missing is nothing.
type Missing struct{ Reason, Message string }

// The reasons, which are those of the mirror too: what is missing may come yet, or not before Poundlock has learned the platform.
const (
	NotReady   = "ClusterNotReady"
	NotLearned = "PlatformNotSupported"
	NotMade    = "InfraClusterMissing"
)

// Env reads what conversions between the namespaces of a pair need of the cluster: the Infrastructure named cluster, and the platform's
// infrastructure cluster. Where one of them is missing, so is what it would say.
func Env(get Get, pair authority.Pair) (env conversion.Env, missing Missing, err error) {
	env = conversion.Env{MachineAPINamespace: pair.MachineAPI, ClusterAPINamespace: pair.ClusterAPI}
	about, err := get(configv1.GroupVersion.WithKind("Infrastructure"), "", "cluster")
	if err != nil {
		return env, Missing{}, fmt.Errorf("reading Infrastructure cluster: %w", err)
	}
	if missing = describe(about, &env); missing != (Missing{}) {
		return env, missing, nil
	}
	kind := env.Platform.InfraCluster.GroupVersionKind
	infraCluster, err := get(kind, pair.ClusterAPI, env.ClusterName)
	if err != nil {
		return env, Missing{}, fmt.Errorf("reading %s %s/%s: %w", kind.Kind, pair.ClusterAPI, env.ClusterName, err)
	}
	if what := env.Unmade(true); infraCluster == nil && what != "" {
		return env, Missing{NotMade, fmt.Sprintf("%s %s/%s does not exist. %s", kind.Kind, pair.ClusterAPI, env.ClusterName, what)}, nil
	}
	if infraCluster == nil {
		return env, Missing{NotReady, fmt.Sprintf("%s %s/%s does not exist: Cluster API needs it before a control plane can be made there", kind.Kind, pair.ClusterAPI, env.ClusterName)}, nil
	}
	env.InfraCluster = infraCluster.Object
	return env, Missing{}, nil
}

func describe(about *unstructured.Unstructured, env *conversion.Env) Missing {
	if about == nil {
		return Missing{NotReady, "Infrastructure cluster (config.openshift.io) does not exist: it has the cluster's name and platform"}
	}
	name, _, _ := unstructured.NestedString(about.Object, "status", "infrastructureName")
	platform, _, _ := unstructured.NestedString(about.Object, "status", "platformStatus", "type")
	if name == "" || platform == "" {
		return Missing{NotReady, "Infrastructure cluster (config.openshift.io) does not yet have status.infrastructureName and status.platformStatus.type"}
	}
	p, ok := platforms.For(platform)
	if !ok {
		return Missing{NotLearned, platforms.Unsupported(platform)}
	}
	env.ClusterName, env.Platform, env.Infrastructure = name, p, about.Object
	env.Region = env.PlatformStatus("region")
	return Missing{}
}
