// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"maps"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/machineapi"
)

// Labels and annotations that the conversion handles by name.
const (
	// DerivedAnnotation lists the labels and annotations of a Cluster API object that only Cluster API's side has.
	DerivedAnnotation = "poundlock.openshift.io/derived"
	// NodeLabelsAnnotation lists the labels of a Cluster API Machine that are in the Machine API's spec.metadata.labels. A + before a name: also in its
	// metadata.labels.
	NodeLabelsAnnotation = "poundlock.openshift.io/node-labels"
	// NodeAnnotationsAnnotation is the same for annotations.
	NodeAnnotationsAnnotation = "poundlock.openshift.io/node-annotations"

	ownDomain = "poundlock.openshift.io/"
	// InstanceHookAnnotation is Poundlock's own hook, authority's of that name: only Cluster API's Machine has it.
	InstanceHookAnnotation = preTerminate + "poundlock-until-provider-knows-instance"
	// SparedUntilReady is Poundlock's value of cluster.x-k8s.io/skip-remediation, authority's of that name: only Cluster API's Machine has it.
	SparedUntilReady = "poundlock-until-infrastructure-is-ready"
	// windows is a value of machineapi.SystemLabel.
	windows = "Windows"

	clusterLabel = machinev1beta1.MachineClusterIDLabel
	roleLabel    = machineapi.RoleLabel
	typeLabel    = machineapi.TypeLabel
	nodeRole     = clusterv1.NodeRoleLabelPrefix + "/"

	oldDelete   = machineapi.OldDeleteAnnotation
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// Name is a label or annotation with a different name in each API.
type Name struct{ MachineAPI, ClusterAPI string }

// Annotations lists the annotations that are renamed.
func Annotations() []Name {
	return []Name{
		{machineapi.ExcludeDrainAnnotation, clusterv1.ExcludeNodeDrainingAnnotation},
		{machineapi.DeleteAnnotation, clusterv1.DeleteMachineAnnotation},
		{machineapi.AutoscalerMinSizeAnnotation, clusterv1.AutoscalerMinSizeAnnotation},
		{machineapi.AutoscalerMaxSizeAnnotation, clusterv1.AutoscalerMaxSizeAnnotation},
	}
}

// Labels lists the labels that are renamed if they come from Cluster API. If they come from Machine API they are kept and the other is added.
func Labels() []Name {
	return []Name{{clusterLabel, clusterv1.ClusterNameLabel}}
}

// ClusterAPIAnnotation is an annotation's name on the Cluster API side.
func ClusterAPIAnnotation(machineAPI string) string {
	if name, renamed := clusterAPIName(machineAPI); renamed {
		return name
	}
	return machineAPI
}

func clusterAPIName(machineAPI string) (string, bool) {
	for _, n := range Annotations() {
		if n.MachineAPI == machineAPI {
			return n.ClusterAPI, true
		}
	}
	return "", false
}

func machineAPIName(clusterAPI string) (string, bool) {
	for _, n := range Annotations() {
		if n.ClusterAPI == clusterAPI {
			return n.MachineAPI, true
		}
	}
	return "", false
}

// operators are annotations of a MachineSet that nothing would update on the twin.
var operators = machineapi.AutoscalerOperatorAnnotations()

// stays recognizes an annotation that is not copied: it describes the object and not the machine.
func stays(annotation, value string) bool {
	switch annotation {
	case clusterv1.MachineSkipRemediationAnnotation:
		return value == SparedUntilReady
	case lastApplied, clusterv1.PausedAnnotation, clusterv1.TemplateClonedFromNameAnnotation,
		clusterv1.TemplateClonedFromGroupKindAnnotation, InstanceHookAnnotation:
		return true
	}
	return slices.Contains(operators, annotation) || strings.HasPrefix(annotation, ownDomain)
}

// reachesNode recognizes a label that Cluster API propagates from the Machine to its Node.
func reachesNode(label string) bool {
	domain, _, ok := strings.Cut(label, "/")
	return ok && (domain == clusterv1.NodeRoleLabelPrefix ||
		within(domain, clusterv1.NodeRestrictionLabelDomain) || within(domain, clusterv1.ManagedNodeLabelDomain))
}

// stands records where a name of the Machine API's spec.metadata is: there alone, or (with a + before it) in the object's own metadata too.
func stands(name string, own map[string]string) string {
	if _, too := own[name]; too {
		return both + name
	}
	return name
}

const both = "+"

// annotatesNode recognizes an annotation that Cluster API propagates from the Machine to its Node.
func annotatesNode(annotation string) bool {
	domain, _, ok := strings.Cut(annotation, "/")
	return ok && within(domain, clusterv1.ManagedNodeAnnotationDomain)
}

func within(domain, of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }

// controlPlane recognizes a control plane Machine of the Machine API, by its role.
func controlPlane(labels map[string]string) bool {
	return isControlPlane(labels[roleLabel])
}

func label(key string) string      { return "metadata.labels[" + key + "]" }
func annotation(key string) string { return "metadata.annotations[" + key + "]" }

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// put sets a value in a map that may be nil.
func put(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}

// remember adds names to an annotation's list.
func remember(m *metadata, carrier string, names ...string) {
	if len(names) == 0 {
		return
	}
	names = append(names, carried(m.Annotations, carrier)...)
	slices.Sort(names)
	put(&m.Annotations, carrier, strings.Join(slices.Compact(names), ","))
}

func carried(annotations map[string]string, carrier string) []string {
	if annotations[carrier] == "" {
		return nil
	}
	return strings.Split(annotations[carrier], ",")
}
