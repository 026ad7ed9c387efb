// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/machineapi"
)

// clusterAPIOwn is the message about a label of a Machine API object that has a meaning only for Cluster API's controllers, and clusterAPIAnnotation about
// such an annotation.
const (
	clusterAPIOwn = "this label has a meaning on an object of Cluster API, but none in Machine API: remove the label, or use the corresponding label of " +
		"Machine API"
	clusterAPIAnnotation = "this annotation has a meaning on an object of Cluster API, but none in Machine API: remove the annotation, or use the " +
		"corresponding annotation of Machine API"
)

func labelsTo(p *pass, m *mapiMachine, c *capiMachine) {
	own := m.Metadata.Labels
	if v, there := own[machineapi.InterruptibleLabel]; there && v == "" && interruptible(p, m.provider) {
		own = maps.Clone(own)
		delete(own, machineapi.InterruptibleLabel)
	}
	copyLabelsTo(p, own, &c.Metadata)
	for _, role := range []string{m.Metadata.Labels[roleLabel], m.Metadata.Labels[typeLabel]} {
		if role != "" {
			put(&c.Metadata.Labels, nodeRole+role, "")
		}
	}
	if controlPlane(m.Metadata.Labels) {
		put(&c.Metadata.Labels, clusterv1.MachineControlPlaneLabel, "")
	}
	nodeLabelsTo(p, m, c)
	if !p.Core.Template {
		addClusterName(p, &c.Metadata)
	}
}

// copyLabelsTo copies the Machine API's labels to c, so that a selector selects the same objects. If a label has the cluster's name, copyLabelsTo also adds
// Cluster API's label for the cluster's name. It refuses labels that have a meaning only in Cluster API.
func copyLabelsTo(p *pass, labels map[string]string, c *metadata) {
	for _, k := range sorted(labels) {
		v := labels[k]
		possibleLabel(p, label(k), k, v, "Cluster API refuses this label, and a MachineSet of Machine API creates no Machine that has it: use another label")
		switch {
		case k == clusterLabel && v != p.Env.ClusterName:
			p.Differs(label(k), v, "the cluster's name", p.Env.ClusterName)
		case k == clusterLabel:
			put(&c.Labels, clusterv1.ClusterNameLabel, v)
			put(&c.Labels, k, v)
		case k == clusterv1.ClusterNameLabel || k == clusterv1.MachineControlPlaneLabel || reachesNode(k):
			p.Unsupported(label(k), v, clusterAPIOwn)
		default:
			put(&c.Labels, k, v)
		}
	}
}

// possibleLabel reports an error for a label that the API server would accept on no object. The check is necessary because the API server checks only
// metadata.labels. In a Machine API object, it does not check the labels in a set's template and selector, nor those in spec.metadata. follows is the end of
// each message: the consequence and the remedy.
func possibleLabel(p *pass, path, k, v, follows string) {
	possibleName(p, path, "a label", k, follows)
	if len(validation.IsValidLabelValue(v)) > 0 {
		p.Invalid(path, v, "the value of a label must have at most 63 characters: letters, digits, dots, dashes and underscores. The first and the last "+
			"must be a letter or a digit. "+follows)
	}
}

// possibleAnnotation is possibleLabel for the name of an annotation, whose domain may have capital letters.
func possibleAnnotation(p *pass, path, k, follows string) {
	possibleName(p, path, "an annotation", strings.ToLower(k), follows)
}

func possibleName(p *pass, path, what, k, follows string) {
	if len(validation.IsQualifiedName(k)) > 0 {
		p.Invalid(path, k, "the name of "+what+" must have at most 63 characters after an "+
			"optional domain and a slash: letters, digits, dots, dashes and underscores. The first and the last must be a letter or a digit. "+follows)
	}
}

// addClusterName adds Cluster API's label with the cluster's name, unless c has it. Every Cluster API object has this label, and Cluster API's webhook would
// add it. The label is recorded in DerivedAnnotation, so that the conversion to Machine API does not copy it.
func addClusterName(p *pass, c *metadata) {
	if _, there := c.Labels[clusterv1.ClusterNameLabel]; !there {
		put(&c.Labels, clusterv1.ClusterNameLabel, p.Env.ClusterName)
		remember(c, DerivedAnnotation, clusterv1.ClusterNameLabel)
	}
}

func nodeLabelsTo(p *pass, m *mapiMachine, c *capiMachine) {
	var onNode []string
	for _, k := range sorted(m.Spec.Labels) {
		v := m.Spec.Labels[k]
		possibleLabel(p, nodeLabel(k), k, v, "Cluster API refuses this label, and in Machine API no Node gets it: use another label")
		switch have, there := c.Metadata.Labels[k]; {
		case k == machineapi.InterruptibleLabel && v == "" && interruptible(p, m.provider):
		case !reachesNode(k) && !p.Env.NodeSync.Labels.Match(k):
			p.Unsupported(nodeLabel(k), v,
				"Cluster API copies a label to Nodes only if its domain is node-role.kubernetes.io, node-restriction.kubernetes.io or "+
					"node.cluster.x-k8s.io, or if the flag --additional-sync-machine-labels of Cluster API's manager matches it. If the manager has this "+
					"flag, give Poundlock the same flag. Otherwise remove the label from spec.metadata.labels, and label the Node by hand")
		case k == clusterLabel || k == clusterv1.ClusterNameLabel || k == clusterv1.MachineControlPlaneLabel:
			p.Unsupported(nodeLabel(k), v, clusterAPIOwn)
		case there && have != v && reachesNode(k):
			p.Differs(nodeLabel(k), v, "the value that this label gets from the Machine's role", have)
		case there && have != v:
			p.Differs(nodeLabel(k), v, "the Machine's own label of the same name (in Cluster API the Machine and its Node share one label)", have)
		default:
			put(&c.Metadata.Labels, k, v)
			onNode = append(onNode, stands(k, m.Metadata.Labels))
		}
	}
	remember(&c.Metadata, NodeLabelsAnnotation, onNode...)
}

func nodeLabel(key string) string { return "spec.metadata.labels[" + key + "]" }

// interruptible reports whether a Machine's spec requests an instance that the cloud may take back; it returns false for a template. It is for a label that
// the Machine API's controllers set on such a Machine and its Node.
func interruptible(p *pass, spec any) bool {
	return !p.Core.Template && p.Env.Platform.Interruptible != nil && p.Env.Platform.Interruptible(spec)
}

func labelsFrom(p *pass, c *capiMachine, m *mapiMachine) {
	_, control := c.Metadata.Labels[clusterv1.MachineControlPlaneLabel]
	role, single := bornRole(c.Metadata)
	if single {
		put(&m.Metadata.Labels, roleLabel, role)
		put(&m.Metadata.Labels, typeLabel, role)
	}
	onNode := carried(c.Metadata.Annotations, NodeLabelsAnnotation)
	for _, k := range sorted(c.Metadata.Labels) {
		v := c.Metadata.Labels[k]
		switch {
		case k == clusterv1.MachineControlPlaneLabel:
		case onNode.Has(k):
			put(&m.Spec.Labels, k, v)
		case single && k == nodeRole+role, isRoleLabel(c.Metadata.Labels, k, v):
		case reachesNode(k):
			put(&m.Spec.Labels, k, v)
		default:
			copyLabelFrom(p, c.Metadata, k, &m.Metadata)
			if onNode.Has(both + k) {
				put(&m.Spec.Labels, k, v)
			}
		}
	}
	if interruptible(p, c.infra.spec) {
		put(&m.Metadata.Labels, machineapi.InterruptibleLabel, "")
		put(&m.Spec.Labels, machineapi.InterruptibleLabel, "")
	}
	if control != controlPlane(m.Metadata.Labels) {
		p.Invalid(label(clusterv1.MachineControlPlaneLabel), "", halfControlPlane(p, c))
	}
}

// copyLabelFrom is the reverse of copyLabelsTo for one label.
func copyLabelFrom(p *pass, c metadata, k string, m *metadata) {
	v := c.Labels[k]
	if k == clusterv1.ClusterNameLabel || k == clusterLabel {
		sameCluster(p, label(k), v)
	}
	switch {
	case k != clusterv1.ClusterNameLabel:
		put(&m.Labels, k, v)
	case !carried(c.Annotations, DerivedAnnotation).Has(k):
		put(&m.Labels, clusterLabel, v)
	}
}

// bornRole returns the role of a Machine that was created in Cluster API: the X of its only label node-role.kubernetes.io/X. The result is false if the
// Machine has the Machine API's label for a role or a type, or if it does not have exactly one label node-role.kubernetes.io/X.
func bornRole(c metadata) (string, bool) {
	_, role := c.Labels[roleLabel]
	if _, kind := c.Labels[typeLabel]; role || kind {
		return "", false
	}
	var roles []string
	onNode := carried(c.Annotations, NodeLabelsAnnotation)
	for k, v := range c.Labels {
		if role, ok := strings.CutPrefix(k, nodeRole); ok && role != "" && v == "" && !onNode.Has(k) {
			roles = append(roles, role)
		}
	}
	if len(roles) != 1 {
		return "", false
	}
	return roles[0], true
}

// isRoleLabel reports whether labelsTo makes the label k: v from the role or type in labels. The conversion to Machine API does not copy such a label.
func isRoleLabel(labels map[string]string, k, v string) bool {
	role, ok := strings.CutPrefix(k, nodeRole)
	return ok && role != "" && v == "" && (labels[roleLabel] == role || labels[typeLabel] == role)
}

func annotationsTo(p *pass, m *mapiMachine, c *capiMachine) {
	copyAnnotationsTo(p, m.Metadata.Annotations, &c.Metadata)
	var onNode []string
	for _, k := range sorted(m.Spec.Annotations) {
		v := m.Spec.Annotations[k]
		possibleAnnotation(p, nodeAnnotation(k), k, "Cluster API refuses this annotation, and in Machine API no Node gets it: use another name")
		switch have, there := c.Metadata.Annotations[k]; {
		case annotatesNode(k):
			put(&c.Metadata.Annotations, k, v)
		case !p.Env.NodeSync.Annotations.Match(k):
			p.Unsupported(nodeAnnotation(k), v,
				"Cluster API copies an annotation to Nodes only if its domain is node.cluster.x-k8s.io, or if the flag "+
					"--additional-sync-machine-annotations of Cluster API's manager matches it. If the manager has this flag, give Poundlock the same "+
					"flag. Otherwise remove the annotation from spec.metadata.annotations, and annotate the Node by hand")
		case meantForMachines(k):
			p.Unsupported(nodeAnnotation(k), v, clusterAPIAnnotation)
		case there && have != v:
			p.Differs(nodeAnnotation(k), v,
				"the Machine's own annotation of the same name (in Cluster API the Machine and its Node share one annotation),", have)
		default:
			put(&c.Metadata.Annotations, k, v)
			onNode = append(onNode, stands(k, m.Metadata.Annotations))
		}
	}
	remember(&c.Metadata, NodeAnnotationsAnnotation, onNode...)
}

func nodeAnnotation(key string) string { return "spec.metadata.annotations[" + key + "]" }

// meantForMachines reports whether an annotation has a meaning on a Machine: controllers of either API, or Poundlock, read it.
func meantForMachines(annotation string) bool {
	_, renamed := clusterAPIName(annotation)
	_, theirs := machineAPIName(annotation)
	return renamed || theirs || stays(annotation, "") || annotation == oldDelete || isHook(annotation)
}

func copyAnnotationsTo(p *pass, annotations map[string]string, c *metadata) {
	for _, k := range sorted(annotations) {
		v := annotations[k]
		possibleAnnotation(p, annotation(k), k, "Cluster API refuses this annotation, and a MachineSet of Machine API creates no Machine that has it: use "+
			"another name")
		name, renamed := clusterAPIName(k)
		_, theirs := machineAPIName(k)
		switch {
		case stays(k, v) || k == oldDelete:
		case name == clusterv1.DeleteMachineAnnotation && v == "":
			// An empty deletion annotation is not copied: it has no effect in Machine API, but in Cluster API the annotation's existence has an effect.
		case renamed:
			put(&c.Annotations, name, v)
		case theirs || isHook(k) || annotatesNode(k):
			p.Unsupported(annotation(k), v, clusterAPIAnnotation)
		default:
			put(&c.Annotations, k, v)
		}
	}
	oldDeleteTo(annotations, c)
}

// oldDeleteTo converts the older of Machine API's two names of the annotation that marks a Machine for deletion. Machine API still obeys the older name, but
// Cluster API does not know it. DerivedAnnotation records which of the two names the Machine API object has. If it lists Cluster API's name, the object has
// the older name. If it lists the older name, the object has both names. If it lists neither, the object has the newer name.
func oldDeleteTo(annotations map[string]string, c *metadata) {
	v := annotations[oldDelete]
	there := v != ""
	_, both := c.Annotations[clusterv1.DeleteMachineAnnotation]
	switch {
	case there && both:
		remember(c, DerivedAnnotation, oldDelete)
	case there:
		put(&c.Annotations, clusterv1.DeleteMachineAnnotation, v)
		remember(c, DerivedAnnotation, clusterv1.DeleteMachineAnnotation)
	}
}

func annotationsFrom(p *pass, c *capiMachine, m *mapiMachine) {
	onNode := carried(c.Metadata.Annotations, NodeAnnotationsAnnotation)
	copyAnnotationsFrom(p, c.Metadata, &m.Metadata, func(k, v string) bool {
		switch {
		case annotatesNode(k) || onNode.Has(k):
			put(&m.Spec.Annotations, k, v)
		case onNode.Has(both + k):
			put(&m.Spec.Annotations, k, v)
			return false
		case !isHook(k):
			return false
		}
		return true
	})
}

func copyAnnotationsFrom(p *pass, c metadata, m *metadata, elsewhere func(k, v string) bool) {
	derived := carried(c.Annotations, DerivedAnnotation)
	for _, k := range sorted(c.Annotations) {
		v := c.Annotations[k]
		name, renamed := machineAPIName(k)
		theirs, ours := clusterAPIName(k)
		switch {
		case k == clusterv1.DeleteMachineAnnotation:
			deleteFrom(derived, v, m)
		case stays(k, v) || derived.Has(k) || elsewhere(k, v):
		case renamed:
			put(&m.Annotations, name, v)
		case k == oldDelete:
			p.Unsupported(annotation(k), v, "this annotation has this name only in Machine API: use Cluster API's name of the annotation, "+
				clusterv1.DeleteMachineAnnotation)
		case ours:
			p.Unsupported(annotation(k), v, "this annotation has this name only in Machine API: use Cluster API's name of the annotation, "+theirs)
		default:
			put(&m.Annotations, k, v)
		}
	}
}

// deleteFrom is the reverse of copyAnnotationsTo and oldDeleteTo for the annotation that marks a Machine for deletion. v is the annotation's value in Cluster
// API. An empty value becomes "true", because an empty value marks a Machine in Cluster API but not in Machine API.
func deleteFrom(derived sets.Set[string], v string, m *metadata) {
	v = cmp.Or(v, "true")
	name, _ := machineAPIName(clusterv1.DeleteMachineAnnotation)
	if !derived.Has(clusterv1.DeleteMachineAnnotation) {
		put(&m.Annotations, name, v)
	}
	if derived.Has(clusterv1.DeleteMachineAnnotation) || derived.Has(oldDelete) {
		put(&m.Annotations, oldDelete, v)
	}
}
