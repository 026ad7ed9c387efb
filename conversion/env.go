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
	// Region is the region of the Infrastructure's platform status, where the platform has regions.
	Region string
	// InfraCluster is the content of the platform's infrastructure cluster object (an AWSCluster).
	InfraCluster map[string]any
	// CredentialsSecret is the name of the secret that the cluster's machine controllers use; empty: the platform's.
	CredentialsSecret string
	// Account is the account of the cloud that the cluster is in (Azure's subscription), as the cloud provider's configuration has it.
	Account string
	// NodeSync is what Cluster API's manager hands on from Machines to Nodes beside the names of its own domains.
	NodeSync NodeSync
	// ControlPlane are the control plane's Machines in order of name, where they were read: an infrastructure cluster object has to name what all of them
	// need. nil: only the Machine that is converted is known.
	ControlPlane []Master
	// Example is the content of a providerSpec of the cluster, where an infrastructure cluster object is made that no Machine of the control plane is known for.
	Example map[string]any
	// TakesTaints reports whether Cluster API takes taints, by its feature gate MachineTaintPropagation; nil: not known.
	TakesTaints *bool
}

// Master is a Machine of the control plane that is not being deleted.
type Master struct {
	Name string
	// ProviderSpec is the content of its providerSpec in the Machine API.
	ProviderSpec map[string]any
}

// NodeSync is what Cluster API's manager is started with: --additional-sync-machine-labels and --additional-sync-machine-annotations.
// OpenShift starts it with .* for both.
type NodeSync struct{ Labels, Annotations Patterns }

// Patterns are regular expressions; a name matches where one of them is found in it, as in Cluster API's manager.
type Patterns []*regexp.Regexp

// ParsePatterns compiles regular expressions. The error names the one that is none.
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

// Match reports whether a label or annotation of this name is handed on.
func (p Patterns) Match(name string) bool {
	return slices.ContainsFunc(p, func(pattern *regexp.Regexp) bool { return pattern.MatchString(name) })
}

// InfraClusterString reads a string of the infrastructure cluster object; known is false where there is none.
func (e *Env) InfraClusterString(fields ...string) (value string, known bool) {
	value, known, err := unstructured.NestedString(e.InfraCluster, fields...)
	return value, known && err == nil
}

// PlatformStatus reads a string of the platform's own part of the Infrastructure's status, such as "resourceGroupName" of
// status.platformStatus.azure; empty where it is absent.
func (e *Env) PlatformStatus(fields ...string) string {
	path := append([]string{"status", "platformStatus", strings.ToLower(e.Platform.Name)}, fields...)
	value, _, _ := unstructured.NestedString(e.Infrastructure, path...)
	return value
}

// Resource is a kind and the resource it is served as.
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

// Machines are the resources that a platform has for each machine: the provider's machine, and what it keeps beside it.
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
	// InfraInstance is what the provider keeps for each instance beside its machine, which owns it. Its controller obeys its own pause alone. The zero value:
	// the platform has none.
	InfraInstance Resource
	// InstanceSpec makes the spec of an InfraInstance from its machine's, which names an instance, and the Machine's failure domain; nil where the provider has to
	// make it. nil: the provider makes them all.
	InstanceSpec                 func(env *Env, machine map[string]any, failureDomain string) map[string]any
	ProviderSpec, ProviderStatus schema.GroupVersionKind

	// CredentialsSecret is the name that the platform's secret has in every cluster.
	CredentialsSecret string

	// Spec converts the providerSpec into the spec of the infrastructure machine and back.
	Spec Converter
	// Editable is what a person can still change of the provider's machines and templates. The zero value: nothing.
	Editable Editable
	// Account reads an account's name out of the cloud provider's configuration, or out of the ID of an instance. nil: conversions need none.
	Account func(text string) string
	// MakeInfraCluster makes the spec of the infrastructure cluster object from the Infrastructure and the providerSpecs that are known, and names who makes it
	// otherwise. What nothing says is a word in capital letters, such as SUBNET, that a person replaces.
	// nil: OpenShift makes it.
	MakeInfraCluster func(*Env) (spec map[string]any, who string)
	// Interruptible reports whether a decoded providerSpec, or the spec of an infrastructure machine, asks for an instance that the cloud may take back (spot,
	// preemptible). nil: the platform has none.
	Interruptible func(spec any) bool
	// Status converts the providerStatus into the status of the infrastructure machine and back.
	Status StatusConverter
	// Supposed is what an installer might have left in a cluster that was not read.
	Supposed Supposition
}

// Supposition is what an installer might have left in a cluster: names that no cluster has, so that whatever is compared with them reads otherwise. Each is
// JSON, or "" for nothing.
type Supposition struct {
	// InfraCluster is the infrastructure cluster object.
	InfraCluster string
	// PlatformStatus and PlatformSpec are the platform's own part of the Infrastructure's status.platformStatus and spec.platformSpec.
	PlatformStatus, PlatformSpec string
}

// Converter is a Table without its type parameters, so that platforms fit into one list. It hands out empty values, so
// that a reader of an object decodes the platform's part of it in the same pass.
type Converter interface {
	// NewProviderSpec is a pointer to an empty providerSpec, NewInfraSpec one to an empty infrastructure machine spec.
	NewProviderSpec() any
	NewInfraSpec() any
	// Recognise reports whether a decoded providerSpec is there and of the platform's kind; if not, the pass reports it.
	Recognise(p *Pass, providerSpec any) bool
	// ToClusterAPI converts a decoded providerSpec into an infrastructure machine spec; both are pointers.
	ToClusterAPI(p *Pass, providerSpec any) any
	// ToMachineAPI converts a decoded infrastructure machine spec into a providerSpec; both are pointers.
	ToMachineAPI(p *Pass, infraSpec any) any
	// Lines lists the rows.
	Lines() []Line
}

// StatusConverter converts what a platform's machine controller reports. Status is an observation: what the other API
// has no word for is left out.
type StatusConverter interface {
	// ToClusterAPI converts a providerStatus, in the light of the Machine API Machine's status.
	ToClusterAPI(providerStatus []byte, machineStatus InfraObservation) map[string]any
	// ToMachineAPI converts the status of an infrastructure machine, given its spec too.
	ToMachineAPI(infraSpec, infraStatus []byte) map[string]any
}

// InfraObservation is what a Machine API Machine reports outside its providerStatus and Cluster API in the
// infrastructure machine's status.
type InfraObservation struct {
	// Ready: the instance exists and has been provisioned.
	Ready bool
	// Addresses are maps of type and address.
	Addresses []any
	// ProviderID is the Machine's, which has the ID of the instance also where the providerStatus has not.
	ProviderID string
	// FailureReason and FailureMessage are empty where nothing has failed for good.
	FailureReason, FailureMessage string
}

// OfControlPlane are the entries of a list in the providerSpecs of all control plane Machines that are known, each once, in the order of the Machines. own
// are those of the Machine that is converted, whose providerSpec may differ from what was read of it; a template's come last.
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
