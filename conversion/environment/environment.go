// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
)

// NoInfrastructure is the message, with the remedy, for a cluster that has no Infrastructure.
const NoInfrastructure = "Infrastructure cluster (config.openshift.io) does not exist. Poundlock reads the cluster's name and platform from this object. If " +
	"somebody deleted it, restore it from a backup without metadata.uid and metadata.resourceVersion, and then restore its status: kubectl create -f " +
	"infrastructure.yaml; kubectl replace --subresource=status -f infrastructure.yaml"

// noStatus returns the message for an Infrastructure that lacks fields. The old field status.platform is not accepted in place of status.platformStatus: the
// Machine API's operator does not read it either, and conversions also need the regions, groups and addresses in status.platformStatus.
func noStatus(infrastructure map[string]any, name, platform string) string {
	former, _, _ := unstructured.NestedString(infrastructure, "status", "platform")
	if name != "" && former != "" {
		return fmt.Sprintf("Infrastructure cluster (config.openshift.io) names the platform only in the deprecated field status.platform (%s). Machine API's "+
			"operator and Poundlock read status.platformStatus.type. Set status.platformStatus, with the type and with the platform's own fields, such "+
			"as the region: kubectl edit infrastructures.config.openshift.io cluster --subresource=status", former)
	}
	var lacking []string
	if name == "" {
		lacking = append(lacking, "status.infrastructureName")
	}
	if platform == "" {
		lacking = append(lacking, "status.platformStatus.type")
	}
	return "Infrastructure cluster (config.openshift.io) does not have " + strings.Join(lacking, " and ") + ". During an installation, wait until the " +
		"installer has set the status. If the object was restored without its status, restore the status: kubectl replace --subresource=status -f " +
		"infrastructure.yaml"
}

// Get reads one object by name, from the caller's source. It returns nil and no error if the object does not exist, or if its kind is not served. This
// package does not change the object that Get returns.
type Get func(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)

// Read reads the Infrastructure and sets in env what the Infrastructure says about the cluster. The caller must have set the two namespaces in env. provided
// is false for a kind without a provider's object; such a kind needs only the cluster's name.
func Read(get Get, provided bool, env *conversion.Env) (conversion.Missing, error) {
	about, err := get(configv1.GroupVersion.WithKind("Infrastructure"), "", "cluster")
	if err != nil {
		return conversion.Missing{}, fmt.Errorf("reading Infrastructure cluster: %w", err)
	}
	if about == nil {
		return conversion.Missing{Reason: conversion.ReasonClusterNotReady, Message: NoInfrastructure}, nil
	}
	return Describe(about.Object, provided, env), nil
}

// Describe sets in env what an Infrastructure says about the cluster, or returns what is missing. The caller has read the Infrastructure. provided is false
// for a kind without a provider's object; such a kind needs only the cluster's name.
func Describe(infrastructure map[string]any, provided bool, env *conversion.Env) conversion.Missing {
	platform, _, _ := unstructured.NestedString(infrastructure, "status", "platformStatus", "type")
	env.ClusterName, _, _ = unstructured.NestedString(infrastructure, "status", "infrastructureName")
	switch {
	case !provided && env.ClusterName != "":
		return conversion.Missing{}
	case env.ClusterName == "" || platform == "":
		return conversion.Missing{Reason: conversion.ReasonClusterNotReady, Message: noStatus(infrastructure, env.ClusterName, platform)}
	}
	p, ok := platforms.For(platform)
	if !ok {
		return conversion.Missing{Reason: conversion.ReasonPlatformNotSupported, Message: platforms.Unsupported(platform)}
	}
	env.Platform, env.Infrastructure = p, infrastructure
	env.Region = env.PlatformStatus("region")
	return conversion.Missing{}
}

// ReadInfraCluster adds the platform's infrastructure cluster to an Env that Read or Describe has filled. found is false if this object does not exist. A
// conversion without it has fewer facts: it does not compare a machine's values with those that Cluster API has once for all machines.
func ReadInfraCluster(get Get, env *conversion.Env) (found bool, err error) {
	kind := env.Platform.InfraCluster.GroupVersionKind
	o, err := get(kind, env.ClusterAPINamespace, env.ClusterName)
	if err != nil {
		return false, fmt.Errorf("reading %s %s/%s: %w", kind.Kind, env.ClusterAPINamespace, env.ClusterName, err)
	}
	if o == nil {
		return false, nil
	}
	env.InfraCluster = o.Object
	return true, nil
}

// NeedInfraCluster adds the platform's infrastructure cluster to an Env, like ReadInfraCluster. If this object does not exist, it returns a Missing instead.
// It is for a caller that cannot convert without the object, and knows that the Cluster exists. purpose ends the sentence about the missing object, "Cluster
// API needs this object before …".
func NeedInfraCluster(get Get, env *conversion.Env, purpose string) (conversion.Missing, error) {
	found, err := ReadInfraCluster(get, env)
	if err != nil || found {
		return conversion.Missing{}, err
	}
	return env.Absent(env.Platform.InfraCluster.Kind, true, purpose), nil
}
