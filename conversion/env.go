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

// Env has what a conversion needs to know of the cluster, as plain values. The zero value of a field means that the value is unknown.
type Env struct {
	Platform Platform
	// ClusterName is the Infrastructure's status.infrastructureName, and the name of the Cluster.
	ClusterName string
	// MachineAPINamespace and ClusterAPINamespace are the two namespaces whose objects mirror each other.
	MachineAPINamespace string
	ClusterAPINamespace string
	// Infrastructure is the content of the Infrastructure named cluster (config.openshift.io). It has the settings that the installation made once for all
	// machines.
	Infrastructure map[string]any
	// Region is the region in the Infrastructure's platform status, if the platform has regions.
	Region string
	// InfraCluster is the content of the platform's infrastructure cluster object (an AWSCluster).
	InfraCluster map[string]any
	// CredentialsSecret is the name of the Secret that the cluster's machine controllers use. "" means the platform's default (Platform.CredentialsSecret).
	CredentialsSecret string
	// Account is the account of the cluster's cloud (Azure's subscription), as the cloud provider's configuration has it.
	Account string
	// NodeSync selects the labels and annotations that Cluster API's manager propagates from Machines to Nodes in addition to those of Cluster API's own
	// domains.
	NodeSync NodeSync
	// ControlPlane are the Machines of the control plane, sorted by name. All of them are necessary, because an infrastructure cluster object must name what
	// each of them needs. nil: the Machines were not read, and only the converted Machine is known.
	ControlPlane []Master
	// Example is the content of any providerSpec of the cluster. An infrastructure cluster object is made from it if no control plane Machine is known.
	Example map[string]any
	// TakesTaints reports whether Cluster API supports taints, which depends on its feature gate MachineTaintPropagation; nil: unknown.
	TakesTaints *bool
}

// Master is a Machine of the control plane. Machines that are being deleted are left out (core.Masters).
type Master struct {
	Name string
	// ProviderSpec is the content of the Machine's spec.providerSpec.value in the Machine API.
	ProviderSpec map[string]any
}

// NodeSync has the values of two flags of Cluster API's manager: --additional-sync-machine-labels and --additional-sync-machine-annotations. OpenShift sets
// both to .*.
type NodeSync struct{ Labels, Annotations Patterns }

// Patterns are regular expressions for names of labels or annotations. A name matches if one of the expressions matches any part of it, as in Cluster API's
// manager.
type Patterns []*regexp.Regexp

// ParsePatterns compiles regular expressions. The error names the invalid one.
func ParsePatterns(texts []string) (Patterns, error) {
	var out Patterns
	for _, text := range texts {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a valid regular expression: %w", text, err)
		}
		out = append(out, pattern)
	}
	return out, nil
}

// Match reports whether Cluster API propagates a label or annotation of this name to the Node, because one of the patterns matches the name.
func (p Patterns) Match(name string) bool {
	return slices.ContainsFunc(p, func(pattern *regexp.Regexp) bool { return pattern.MatchString(name) })
}

// InfraClusterString reads a string field of the infrastructure cluster object; known is false if the object does not have the field.
func (e *Env) InfraClusterString(fields ...string) (value string, known bool) {
	value, known, err := unstructured.NestedString(e.InfraCluster, fields...)
	return value, known && err == nil
}

// PlatformStatus returns a string from the platform's own part of the Infrastructure's status, such as "resourceGroupName" in status.platformStatus.azure; ""
// if it is absent.
func (e *Env) PlatformStatus(fields ...string) string {
	path := append([]string{"status", "platformStatus", strings.ToLower(e.Platform.Name)}, fields...)
	value, _, _ := unstructured.NestedString(e.Infrastructure, path...)
	return value
}

// Resource is a kind, together with the plural name of its resource.
type Resource struct {
	schema.GroupVersionKind
	Plural string
}

// Resource returns the resource's group, version and plural name.
func (r Resource) Resource() schema.GroupVersionResource {
	return r.GroupVersion().WithResource(r.Plural)
}

// Definition returns the name of the resource's CRD.
func (r Resource) Definition() string { return r.Plural + "." + r.Group }

// Machines returns the platform's resources that exist once per machine: InfraMachine and, if the platform has one, InfraInstance.
func (p Platform) Machines() []Resource {
	if p.InfraInstance.Empty() {
		return []Resource{p.InfraMachine}
	}
	return []Resource{p.InfraMachine, p.InfraInstance}
}

// Resources returns all of the platform's resources.
func (p Platform) Resources() []Resource {
	return append(p.Machines(), p.InfraMachineTemplate, p.InfraCluster)
}

// Definitions returns the names of the CRDs of all of the platform's resources.
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
	// InfraInstance is the kind of an object that the provider keeps for each instance in addition to the InfraMachine, which owns that object (a VSphereVM).
	// The object's controller obeys only the pause of that object itself, and ignores a pause of its owner. The zero value: the platform has no such kind.
	InfraInstance Resource
	// InstanceSpec returns the spec of an InfraInstance. It makes the spec from the spec of the InfraMachine, which names an instance, and from the Machine's
	// failure domain. If the result is nil, the provider must make this InfraInstance. If the function is nil, the provider makes every InfraInstance.
	InstanceSpec                 func(env *Env, machine map[string]any, failureDomain string) map[string]any
	ProviderSpec, ProviderStatus schema.GroupVersionKind

	// CredentialsSecret is the name of the Secret with the platform's credentials; OpenShift uses this name in every cluster.
	CredentialsSecret string

	// FormerFields has the fields that the providerSpec's type once had, and for each of them what an error about a value says. A manifest of an old cluster
	// may still have them.
	FormerFields map[string]string

	// InstanceID is the form of an instance's ID, for messages. It begins with the platform's scheme. An ID with another scheme is refused.
	InstanceID string
	// Spec converts the providerSpec into the spec of the infrastructure machine and back.
	Spec Converter
	// Editable lists the fields of the provider's machines and templates that a user can change after the object's creation. The zero value: none.
	Editable Editable
	// Account returns the name of the cloud account from a text: the cloud provider's configuration, or the ID of an instance. nil: the platform's conversions
	// need no account.
	Account func(text string) string
	// MakeInfraCluster returns the spec of the infrastructure cluster object, made from the Infrastructure and the known providerSpecs. Unknown values in the
	// spec are words in capital letters, such as SUBNET, which a person replaces. who is the text before the command in a message: it says who creates this
	// object, and what must be done first. nil: OpenShift creates the object.
	MakeInfraCluster func(*Env) (spec map[string]any, who string)
	// Interruptible reports whether an instance may be taken back by the cloud (spot, preemptible). spec is a decoded providerSpec or the decoded spec of an
	// infrastructure machine. nil: the platform has no such instances.
	Interruptible func(spec any) bool
	// Status converts the providerStatus into the status of the infrastructure machine and back.
	Status StatusConverter
	// Supposed has the objects that an installer might have written. They stand in for the objects of a cluster if no cluster was read.
	Supposed Supposition
}

// Supposition has objects that an installer might have written in a cluster. Their names are names that no cluster has, so every comparison with these names
// fails. Each field is JSON, or "" for nothing.
type Supposition struct {
	// InfraCluster is the infrastructure cluster object.
	InfraCluster string
	// PlatformStatus and PlatformSpec are the parts of the Infrastructure's status.platformStatus and spec.platformSpec that belong to the platform.
	PlatformStatus, PlatformSpec string
}

// Converter is a Table without its type parameters, so that the converters of all platforms fit into one list. It also makes empty values of the platform's
// types: with them a reader decodes an object and the platform's part of the object in one pass.
type Converter interface {
	// NewProviderSpec returns a pointer to an empty providerSpec, and NewInfraSpec a pointer to an empty infrastructure machine spec.
	NewProviderSpec() any
	NewInfraSpec() any
	// Recognise returns false, and adds an error to the pass, if a decoded providerSpec is empty or of another platform's kind.
	Recognise(p *Pass, providerSpec any) bool
	// ToClusterAPI converts a decoded providerSpec into an infrastructure machine spec; both are pointers.
	ToClusterAPI(p *Pass, providerSpec any) any
	// ToMachineAPI converts a decoded infrastructure machine spec into a providerSpec; both are pointers.
	ToMachineAPI(p *Pass, infraSpec any) any
	// Lines lists the rows.
	Lines() []Line
}

// StatusConverter converts the status that a platform's machine controller reports. What the other API cannot express is left out and is no error, because a
// status is an observation.
type StatusConverter interface {
	// ToClusterAPI makes the status of an infrastructure machine from a providerStatus and from the rest of the Machine API Machine's status.
	ToClusterAPI(providerStatus []byte, machineStatus InfraObservation) map[string]any
	// ToMachineAPI makes a providerStatus from the spec and the status of an infrastructure machine.
	ToMachineAPI(infraSpec, infraStatus []byte) map[string]any
}

// InfraObservation has the values that the Machine API keeps in a Machine's status outside the providerStatus, and that Cluster API keeps in the
// infrastructure machine's status.
type InfraObservation struct {
	// Ready reports that the instance exists and has been provisioned.
	Ready bool
	// Addresses are maps of type and address.
	Addresses []any
	// ProviderID is the Machine's spec.providerID. It has the ID of the instance even if the providerStatus does not.
	ProviderID string
	// FailureReason and FailureMessage are empty unless there is a terminal failure.
	FailureReason, FailureMessage string
}

// OfControlPlane returns the entries of one list (such as "loadBalancers") in the providerSpecs of all known control plane Machines. Each entry occurs once,
// in the order of the Machines. own are the entries of the converted Machine. They replace the entries that were read from the stored Machine of this name,
// because its providerSpec may have changed. A template has no name, so its entries come last.
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
