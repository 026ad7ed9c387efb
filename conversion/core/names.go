// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"maps"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/machineapi"
)

// These are the labels and annotations that the conversion handles by name.
const (
	// DerivedAnnotation on a Cluster API object lists the labels and annotations that the conversion has added and that the Machine API object does not have. It
	// can also list the older name of the annotation that marks a Machine for deletion (oldDeleteTo).
	DerivedAnnotation = "poundlock.openshift.io/derived"
	// NodeLabelsAnnotation on a Cluster API Machine lists those of its labels that the Machine API Machine has in spec.metadata.labels. A + before a name means
	// that the Machine API Machine has this label in metadata.labels too.
	NodeLabelsAnnotation = "poundlock.openshift.io/node-labels"
	// NodeAnnotationsAnnotation is like NodeLabelsAnnotation, for the annotations that the Machine API Machine has in spec.metadata.annotations.
	NodeAnnotationsAnnotation = "poundlock.openshift.io/node-annotations"

	ownDomain = "poundlock.openshift.io/"
	// InstanceHookAnnotation is Poundlock's own hook on a Machine. It equals the constant of this name in package authority. Only Cluster API's Machine has this
	// hook.
	InstanceHookAnnotation = preTerminate + "poundlock-until-provider-knows-instance"
	// SparedUntilReady is the value that Poundlock gives the annotation cluster.x-k8s.io/skip-remediation. It equals the constant of this name in package
	// authority. Only Cluster API's Machine has this value.
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

// Annotations lists the annotations that the conversion renames.
func Annotations() []Name {
	return []Name{
		{machineapi.ExcludeDrainAnnotation, clusterv1.ExcludeNodeDrainingAnnotation},
		{machineapi.DeleteAnnotation, clusterv1.DeleteMachineAnnotation},
		{machineapi.AutoscalerMinSizeAnnotation, clusterv1.AutoscalerMinSizeAnnotation},
		{machineapi.AutoscalerMaxSizeAnnotation, clusterv1.AutoscalerMaxSizeAnnotation},
	}
}

// Labels lists the labels that the conversion to Machine API renames. The conversion to Cluster API keeps such a label and also adds the label with Cluster
// API's name.
func Labels() []Name {
	return []Name{{clusterLabel, clusterv1.ClusterNameLabel}}
}

// ClusterAPIAnnotation returns the name that a Machine API annotation has in Cluster API.
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

// operators are the annotations that the cluster-autoscaler-operator writes on a Machine API MachineSet. They are not copied to the twin, because no
// controller would update them there.
var operators = machineapi.AutoscalerOperatorAnnotations()

// stays reports whether an annotation stays on its object and is not copied to the other API, because it describes this object and not the machine.
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

// reachesNode reports whether Cluster API propagates a label from the Machine to its Node because of the label's domain. It does not consider Env.NodeSync,
// which may select more labels.
func reachesNode(label string) bool {
	domain, _, ok := strings.Cut(label, "/")
	return ok && (domain == clusterv1.NodeRoleLabelPrefix ||
		within(domain, clusterv1.NodeRestrictionLabelDomain) || within(domain, clusterv1.ManagedNodeLabelDomain))
}

// stands returns how NodeLabelsAnnotation or NodeAnnotationsAnnotation lists a name from spec.metadata of a Machine API Machine: the name itself or, if the
// Machine's own metadata (own) has this name too, the name after a +.
func stands(name string, own map[string]string) string {
	if _, too := own[name]; too {
		return both + name
	}
	return name
}

const both = "+"

// annotatesNode reports whether Cluster API propagates an annotation from the Machine to its Node because of the annotation's domain. It does not consider
// Env.NodeSync, which may select more annotations.
func annotatesNode(annotation string) bool {
	domain, _, ok := strings.Cut(annotation, "/")
	return ok && within(domain, clusterv1.ManagedNodeAnnotationDomain)
}

func within(domain, of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }

// controlPlane reports whether labels, which are in Machine API's form, have the role of a control plane Machine.
func controlPlane(labels map[string]string) bool {
	return isControlPlane(labels[roleLabel])
}

func label(key string) string      { return "metadata.labels[" + key + "]" }
func annotation(key string) string { return "metadata.annotations[" + key + "]" }

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// put sets a value in a map, and makes the map if it is nil.
func put(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
}

// remember adds names to the list in an annotation (carrier). Callers pass all names at once, because each call reads and writes the whole list.
func remember(m *metadata, carrier string, names ...string) {
	if len(names) == 0 {
		return
	}
	put(&m.Annotations, carrier, strings.Join(sets.List(carried(m.Annotations, carrier).Insert(names...)), ","))
}

// carried returns the names in the list of an annotation (carrier). It is a set, because there may be as many names as labels.
func carried(annotations map[string]string, carrier string) sets.Set[string] {
	if annotations[carrier] == "" {
		return sets.New[string]()
	}
	return sets.New(strings.Split(annotations[carrier], ",")...)
}
