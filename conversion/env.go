// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Env is what a conversion needs of the cluster, as values. The zero value of a field means unknown.
type Env struct {
	Platform Platform
	// ClusterName is the Infrastructure's status.infrastructureName, and the name of the Cluster.
	ClusterName string
	// MachineAPINamespace and ClusterAPINamespace are the pair of namespaces that mirror each other.
	MachineAPINamespace string
	ClusterAPINamespace string
	// Infrastructure is the content of the Infrastructure named cluster (config.openshift.io): what was set up once, for all machines.
	Infrastructure map[string]any
	// Region is the region in the Infrastructure's platform status, if the platform has regions.
	Region string
	// InfraCluster is the content of the platform's infrastructure cluster object (an AWSCluster).
	InfraCluster map[string]any
	// CredentialsSecret is the name of the secret that the cluster's machine controllers use; empty: the platform's.
	CredentialsSecret string
	// Account is the cluster's account of the cloud (Azure's subscription), from the cloud provider's configuration.
	Account string
	// NodeSync is what Cluster API's manager propagates from Machines to Nodes besides the names of its own domains.
	NodeSync NodeSync
	// ControlPlane are the control plane's Machines in order of name, if they were read: an infrastructure cluster object must name what all of them need. nil:
	// only the converted Machine is known.
	ControlPlane []Master
	// Example is the content of one of the cluster's providerSpecs, for the creation of an infrastructure cluster object if no control plane Machine is known.
	Example map[string]any
	// TakesTaints reports whether Cluster API supports taints, by its feature gate MachineTaintPropagation; nil: unknown.
	TakesTaints *bool
}

// Master is a Machine of the control plane that is not being deleted.
type Master struct {
	Name string
	// ProviderSpec is the content of its providerSpec in the Machine API.
	ProviderSpec map[string]any
}

// NodeSync has two flags of Cluster API's manager: --additional-sync-machine-labels and --additional-sync-machine-annotations. OpenShift sets .* for both.
type NodeSync struct{ Labels, Annotations Patterns }

// Patterns are regular expressions. A name matches if one of them is found in it, as in Cluster API's manager.
type Patterns []*regexp.Regexp

// ParsePatterns compiles regular expressions. The error names the invalid one.
func ParsePatterns(texts []string) (Patterns, error) {
	var out Patterns
	for _, text := range texts {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no regular expression: %w", text, err)
		}
		out = append(out, pattern)
	}
	return out, nil
}

// Match reports whether a label or annotation of this name is propagated.
func (p Patterns) Match(name string) bool {
	return slices.ContainsFunc(p, func(pattern *regexp.Regexp) bool { return pattern.MatchString(name) })
}

// InfraClusterString reads a string of the infrastructure cluster object; known is false if there is none.
func (e *Env) InfraClusterString(fields ...string) (value string, known bool) {
	value, known, err := unstructured.NestedString(e.InfraCluster, fields...)
	return value, known && err == nil
}

// PlatformStatus reads a string of the platform's own part of the Infrastructure's status, such as "resourceGroupName" of status.platformStatus.azure; empty if
// it is absent.
func (e *Env) PlatformStatus(fields ...string) string {
	path := append([]string{"status", "platformStatus", strings.ToLower(e.Platform.Name)}, fields...)
	value, _, _ := unstructured.NestedString(e.Infrastructure, path...)
	return value
}

// Resource is a kind and its resource.
type Resource struct {
	schema.GroupVersionKind
	Plural string
}

// Resource is the group, version and plural name.
func (r Resource) Resource() schema.GroupVersionResource {
	return r.GroupVersion().WithResource(r.Plural)
}

// Definition is the name of the resource's CRD.
func (r Resource) Definition() string { return r.Plural + "." + r.Group }

// Machines are the platform's resources for each machine: the provider's machine, and what it keeps besides it.
func (p Platform) Machines() []Resource {
	if p.InfraInstance.Empty() {
		return []Resource{p.InfraMachine}
	}
	return []Resource{p.InfraMachine, p.InfraInstance}
}

// Resources are all of a platform.
func (p Platform) Resources() []Resource {
	return append(p.Machines(), p.InfraMachineTemplate, p.InfraCluster)
}

// Definitions are the names of their CRDs.
func (p Platform) Definitions() []string {
	var out []string
	for _, r := range p.Resources() {
		out = append(out, r.Definition())
	}
	return out
}

// Platform is everything that differs from one infrastructure platform to the next.
type Platform struct {
	// Name is the Infrastructure's platform type, such as "AWS".
	Name string

	InfraMachine, InfraMachineTemplate, InfraCluster Resource
	// InfraInstance is what the provider keeps for each instance besides its machine, which owns it. Its controller obeys its own pause alone. The zero value:
	// the platform has none.
	InfraInstance Resource
	// InstanceSpec makes the spec of an InfraInstance from its machine's, which names an instance, and from the Machine's failure domain; nil if the provider
	// must make it. nil: the provider makes them all.
	InstanceSpec                 func(env *Env, machine map[string]any, failureDomain string) map[string]any
	ProviderSpec, ProviderStatus schema.GroupVersionKind

	// CredentialsSecret is the name of the platform's secret in every cluster.
	CredentialsSecret string

	// InstanceID is the form of an instance's ID, which begins with the platform's scheme.
	InstanceID string
	// Spec converts the providerSpec into the spec of the infrastructure machine and back.
	Spec Converter
	// Editable is what a user can still change of the provider's machines and templates. The zero value: nothing.
	Editable Editable
	// Account reads an account's name from the cloud provider's configuration, or from the ID of an instance. nil: conversions need none.
	Account func(text string) string
	// MakeInfraCluster makes the spec of the infrastructure cluster object from the Infrastructure and the known providerSpecs, and names who makes it
	// otherwise. Unknown values are words in capital letters, such as SUBNET, that a person replaces. nil: OpenShift makes it.
	MakeInfraCluster func(*Env) (spec map[string]any, who string)
	// Interruptible reports whether a decoded providerSpec, or the spec of an infrastructure machine, requests an instance that the cloud may take back (spot,
	// preemptible). nil: the platform has none.
	Interruptible func(spec any) bool
	// Status converts the providerStatus into the status of the infrastructure machine and back.
	Status StatusConverter
	// Supposed is what an installer might have written in a cluster that was not read.
	Supposed Supposition
}

// Supposition is what an installer might have written in a cluster: names that no cluster has, so that every comparison with them fails. Each is JSON, or ""
// for nothing.
type Supposition struct {
	// InfraCluster is the infrastructure cluster object.
	InfraCluster string
	// PlatformStatus and PlatformSpec are the platform's own part of the Infrastructure's status.platformStatus and spec.platformSpec.
	PlatformStatus, PlatformSpec string
}

// Converter is a Table without its type parameters, so that platforms fit into one list. It makes empty values, so that a reader of an object decodes the
// platform's part of it in the same pass.
type Converter interface {
	// NewProviderSpec is a pointer to an empty providerSpec, NewInfraSpec one to an empty infrastructure machine spec.
	NewProviderSpec() any
	NewInfraSpec() any
	// Recognise reports whether a decoded providerSpec exists and is of the platform's kind; if not, the pass reports it.
	Recognise(p *Pass, providerSpec any) bool
	// ToClusterAPI converts a decoded providerSpec into an infrastructure machine spec; both are pointers.
	ToClusterAPI(p *Pass, providerSpec any) any
	// ToMachineAPI converts a decoded infrastructure machine spec into a providerSpec; both are pointers.
	ToMachineAPI(p *Pass, infraSpec any) any
	// Lines lists the rows.
	Lines() []Line
}

// StatusConverter converts what a platform's machine controller reports. Status is an observation: what the other API cannot express is left out.
type StatusConverter interface {
	// ToClusterAPI converts a providerStatus, with the Machine API Machine's status.
	ToClusterAPI(providerStatus []byte, machineStatus InfraObservation) map[string]any
	// ToMachineAPI converts the status of an infrastructure machine, with its spec.
	ToMachineAPI(infraSpec, infraStatus []byte) map[string]any
}

// InfraObservation is what a Machine API Machine reports outside its providerStatus and Cluster API in the infrastructure machine's status.
type InfraObservation struct {
	// Ready: the instance exists and has been provisioned.
	Ready bool
	// Addresses are maps of type and address.
	Addresses []any
	// ProviderID is the Machine's, which has the ID of the instance even if the providerStatus has not.
	ProviderID string
	// FailureReason and FailureMessage are empty unless there is a terminal failure.
	FailureReason, FailureMessage string
}

// OfControlPlane are the entries of a list in the providerSpecs of all known control plane Machines, each once, in the order of the Machines. own are those of
// the converted Machine, whose providerSpec may differ from the one that was read; a template's come last.
func OfControlPlane[T comparable](p *Pass, list string, own []T) []T {
	var out []T
	add := func(entries []T) {
		for _, e := range entries {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	for _, m := range p.Env.ControlPlane {
		if m.Name == p.Core.Name {
			add(own)
			continue
		}
		var entries []T
		if raw, err := json.Marshal(m.ProviderSpec[list]); err == nil && json.Unmarshal(raw, &entries) == nil {
			add(entries)
		}
	}
	add(own)
	return out
}
