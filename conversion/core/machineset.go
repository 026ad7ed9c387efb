// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

type mapiSet struct {
	Metadata metadata                      `json:"metadata"`
	Spec     machinev1beta1.MachineSetSpec `json:"spec"`

	provider any
}

type capiSet struct {
	Metadata metadata                 `json:"metadata"`
	Spec     clusterv1.MachineSetSpec `json:"spec"`

	infra infra
}

var set conversion.Rows[mapiSet, capiSet]

const nameless = "in both APIs a MachineSet chooses the names and the namespace of its Machines: remove this field"

// MachineSets converts a MachineSet. The table Machines converts the MachineSet's template.
var MachineSets = conversion.Table[mapiSet, capiSet]{
	set.Same("metadata.name", "metadata.name"),
	set.Iso(at("metadata.labels"), at("metadata.labels"),
		"The labels are copied. Only the label machine.openshift.io/cluster-api-cluster gets another name, cluster.x-k8s.io/cluster-name.",
		setLabelsTo, setLabelsFrom),
	set.Iso(at("metadata.annotations"), at("metadata.annotations"),
		"The annotations are copied, with three exceptions: last-applied-configuration; the annotations that have another name in Cluster API, which "+
			"docs/fields/core.md lists; and the annotations that the cluster-autoscaler-operator writes in addition to the limits of autoscaling.",
		setAnnotationsTo, setAnnotationsFrom),
	set.Same("spec.replicas", "spec.replicas"),
	set.Iso(at("spec.minReadySeconds"), at("Template"+conversion.Elsewhere+"spec.template.spec.minReadySeconds"),
		"0 means the same as absent.", setReadyTo, setReadyFrom),
	set.Words("spec.deletePolicy", "spec.deletion.order", "An absent value means Random on both sides.",
		conversion.Word{MachineAPI: "Random", ClusterAPI: "Random"},
		conversion.Word{MachineAPI: "Newest", ClusterAPI: "Newest"},
		conversion.Word{MachineAPI: "Oldest", ClusterAPI: "Oldest"}),
	set.Iso(at("spec.selector.matchLabels", "spec.selector.matchExpressions[].key", "spec.selector.matchExpressions[].operator",
		"spec.selector.matchExpressions[].values"),
		at("spec.selector.matchLabels", "spec.selector.matchExpressions[].key", "spec.selector.matchExpressions[].operator",
			"spec.selector.matchExpressions[].values"),
		"The selector is copied. Cluster API adds the label cluster.x-k8s.io/cluster-name to each selector. This label comes back, as "+
			"machine.openshift.io/cluster-api-cluster, only if the selector has no other label. The selector of a MachineSet in Machine API cannot be "+
			"changed. So if the selector is changed in Cluster API in any other way, the MachineSet can no longer be mirrored to Machine API.",
		selectorTo, selectorFrom),
	set.Iso(at("spec.authoritativeAPI"), nil, authority, func(*pass, *mapiSet, *capiSet) {}, func(*pass, *capiSet, *mapiSet) {}),
	set.Iso(nil, at("spec.clusterName"), "The value is always the cluster's name.",
		func(p *pass, _ *mapiSet, c *capiSet) { c.Spec.ClusterName = p.Env.ClusterName },
		func(p *pass, c *capiSet, _ *mapiSet) { ownCluster(p, c.Spec.ClusterName) }),
	set.OnlyCAPI("spec.machineNaming.*", "Machine API chooses the names of a MachineSet's Machines itself: remove machineNaming"),
	set.OnlyMAPI("spec.template.metadata.name", nameless),
	set.OnlyMAPI("spec.template.metadata.generateName", nameless),
	set.OnlyMAPI("spec.template.metadata.namespace", nameless),
	set.OnlyMAPI("spec.template.metadata.ownerReferences.*", "in both APIs a MachineSet sets the owner references of its Machines: remove them"),
	set.Iso(at("spec.template"), at("spec.template"), "The template is converted in the same way as a Machine.", templateTo, templateFrom).
		With(templateLines(), "spec.template", "spec.template"),
}

// templateLines returns the lines of the table Machines, except for the name, which a template does not have.
func templateLines() []conversion.Line {
	var out []conversion.Line
	for _, l := range Machines.Lines() {
		if len(l.MachineAPI) != 1 || l.MachineAPI[0] != "metadata.name" {
			out = append(out, l)
		}
	}
	return out
}

func setLabelsTo(p *pass, m *mapiSet, c *capiSet) {
	for _, k := range sorted(m.Metadata.Labels) {
		copyLabelsTo(p, map[string]string{k: m.Metadata.Labels[k]}, &c.Metadata)
	}
	addClusterName(p, &c.Metadata)
}

func setLabelsFrom(p *pass, c *capiSet, m *mapiSet) {
	for _, k := range sorted(c.Metadata.Labels) {
		if k == clusterv1.MachineControlPlaneLabel || reachesNode(k) {
			p.Unsupported(label(k), c.Metadata.Labels[k],
				"in Machine API only the Machines of a MachineSet can have this label, not the MachineSet: remove it")
			continue
		}
		copyLabelFrom(p, c.Metadata, k, &m.Metadata)
	}
}

func setAnnotationsTo(p *pass, m *mapiSet, c *capiSet) {
	copyAnnotationsTo(p, m.Metadata.Annotations, &c.Metadata)
}

func setAnnotationsFrom(p *pass, c *capiSet, m *mapiSet) {
	copyAnnotationsFrom(p, c.Metadata, &m.Metadata, func(k, v string) bool {
		if isHook(k) || annotatesNode(k) {
			p.Unsupported(annotation(k), v, "in Machine API only the Machines of a MachineSet can have this annotation, not the MachineSet: remove it")
			return true
		}
		return false
	})
}

func setReadyTo(p *pass, m *mapiSet, c *capiSet) {
	if m.Spec.MinReadySeconds < 0 {
		p.Invalid("spec.minReadySeconds", m.Spec.MinReadySeconds, "Cluster API refuses a negative number: set minReadySeconds to 0, or remove it")
	}
	if s := m.Spec.MinReadySeconds; s != 0 {
		c.Spec.Template.Spec.MinReadySeconds = &s
	}
}

func setReadyFrom(_ *pass, c *capiSet, m *mapiSet) {
	if s := c.Spec.Template.Spec.MinReadySeconds; s != nil {
		m.Spec.MinReadySeconds = *s
	}
}

// newSelector is the end of a message. It describes the only way to change the selector of a Machine API MachineSet.
const newSelector = ". A MachineSet's selector cannot be changed: delete the MachineSet with --cascade=orphan, which keeps its Machines, and create the " +
	"MachineSet again with another selector"

func selectorTo(p *pass, m *mapiSet, c *capiSet) {
	c.Spec.Selector = selector(p, m.Spec.Selector, func(path, k string) string {
		if k == clusterv1.ClusterNameLabel || k == clusterv1.MachineControlPlaneLabel || reachesNode(k) {
			p.Unsupported(path, k, "on a Machine this label has a meaning in Cluster API, but none in Machine API, so the selector would not convert back"+
				newSelector)
		}
		return k
	})
	possibleSelector(p, m.Spec.Selector, "Cluster API refuses this label, and a MachineSet of Machine API creates no Machine that has it"+newSelector)
	if len(m.Spec.Selector.MatchLabels)+len(m.Spec.Selector.MatchExpressions) == 0 {
		p.Required("spec.selector", "Cluster API refuses an empty selector"+newSelector)
	}
}

func selectorFrom(p *pass, c *capiSet, m *mapiSet) {
	m.Spec.Selector = selector(p, withoutImplied(c.Spec.Selector, c.Spec.ClusterName), func(path, k string) string {
		if k == clusterv1.ClusterNameLabel {
			return clusterLabel
		}
		if k == clusterv1.MachineControlPlaneLabel || reachesNode(k) {
			p.Unsupported(path, k, "the Machines of Machine API do not have this label, so the selector would select none of them: use a label that the "+
				"Machines of both APIs have")
		}
		return k
	})
}

// withoutImplied returns a selector without the label for the cluster's name. Cluster API's controller adds this label to each set's selector. The label must
// not reach the Machine API, where a selector is immutable and the label would be a change: the set would lose its Machines that do not have the label. A
// selector that has nothing but this label stays as it is.
func withoutImplied(s metav1.LabelSelector, cluster string) metav1.LabelSelector {
	name, has := s.MatchLabels[clusterv1.ClusterNameLabel]
	if !has || name != cluster || len(s.MatchLabels)+len(s.MatchExpressions) == 1 {
		return s
	}
	s.MatchLabels = maps.Clone(s.MatchLabels)
	delete(s.MatchLabels, clusterv1.ClusterNameLabel)
	return s
}

func selector(p *pass, from metav1.LabelSelector, name func(path, key string) string) metav1.LabelSelector {
	var out metav1.LabelSelector
	for _, k := range sorted(from.MatchLabels) {
		path := "spec.selector.matchLabels[" + k + "]"
		to := name(path, k)
		if have, twice := out.MatchLabels[to]; twice && have != from.MatchLabels[k] {
			p.Differs(path, from.MatchLabels[k], "the value that the selector already has for "+to, have)
		}
		put(&out.MatchLabels, to, from.MatchLabels[k])
	}
	for _, e := range from.MatchExpressions {
		e.Key = name("spec.selector.matchExpressions", e.Key)
		out.MatchExpressions = append(out.MatchExpressions, e)
	}
	return out
}

// possibleSelector reports an error for each label in a selector that no object can have, and for invalid expressions. follows is the end of each message:
// the consequence and the remedy.
func possibleSelector(p *pass, s metav1.LabelSelector, follows string) {
	for _, k := range sorted(s.MatchLabels) {
		possibleLabel(p, "spec.selector.matchLabels["+k+"]", k, s.MatchLabels[k], follows)
	}
	if _, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: s.MatchExpressions}); err != nil {
		p.Invalid("spec.selector.matchExpressions", nil, err.Error()+". "+follows)
	}
}

func templateTo(p *pass, m *mapiSet, c *capiSet) {
	t := m.Spec.Template
	from, to := mapiMachine{Metadata: metadata{Labels: t.Labels, Annotations: t.Annotations}, Spec: t.Spec, provider: m.provider}, capiMachine{}
	Machines.ToClusterAPI(p.At("spec.template"), &from, &to)
	ready := c.Spec.Template.Spec.MinReadySeconds
	c.Spec.Template = clusterv1.MachineTemplateSpec{
		ObjectMeta: clusterv1.ObjectMeta{Labels: to.Metadata.Labels, Annotations: to.Metadata.Annotations}, Spec: to.Spec,
	}
	c.Spec.Template.Spec.MinReadySeconds = ready
	c.infra = to.infra
}

func templateFrom(p *pass, c *capiSet, m *mapiSet) {
	t := c.Spec.Template
	if v, ok := t.Annotations[clusterv1.PausedAnnotation]; ok {
		p.Unsupported("spec.template."+annotation(clusterv1.PausedAnnotation), v, "Cluster API would copy this annotation to each Machine of the "+
			"MachineSet, and so pause the Machines. But only Poundlock may pause a Machine that also exists in Machine API: remove the annotation from the "+
			"template")
	}
	from, to := capiMachine{Metadata: metadata{Labels: t.Labels, Annotations: t.Annotations}, Spec: t.Spec, infra: c.infra, set: c.Metadata.Name}, mapiMachine{}
	Machines.ToMachineAPI(p.At("spec.template"), &from, &to)
	m.Spec.Template = machinev1beta1.MachineTemplateSpec{
		ObjectMeta: machinev1beta1.ObjectMeta{Labels: to.Metadata.Labels, Annotations: to.Metadata.Annotations}, Spec: to.Spec,
	}
	m.provider = to.provider
}

func setToClusterAPI(p *pass, raw []byte) twin {
	var m mapiSet
	var c capiSet
	p.Core.Template = true
	if readMachineSet(p, raw, &m) {
		MachineSets.ToClusterAPI(p, &m, &c)
	}
	return twin{core: object{metadata: c.Metadata, spec: &c.Spec}, infra: c.infra.spec}
}

func readMachineSet(p *pass, raw []byte, m *mapiSet) bool {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			machinev1beta1.MachineSetSpec `json:",inline"`
			Template                      struct {
				Metadata machinev1beta1.ObjectMeta `json:"metadata"`
				Spec     withProvider              `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	template := &o.Spec.Template
	template.Spec.ProviderSpec.Value = p.Env.Platform.Spec.NewProviderSpec()
	fits := decode(p, raw, &o, func(p *pass) string { return recognise(p, "spec.template."+providerPath, &template.Spec) })
	*m = mapiSet{Metadata: o.Metadata, Spec: o.Spec.MachineSetSpec, provider: template.Spec.ProviderSpec.Value}
	m.Spec.Template = machinev1beta1.MachineTemplateSpec{ObjectMeta: template.Metadata, Spec: template.Spec.MachineSpec}
	return fits
}

func setToMachineAPI(p *pass, raw, infraRaw []byte) object {
	var m mapiSet
	var c capiSet
	p.Core.Template = true
	if !decode(p, raw, &c, nothing) {
		return object{}
	}
	ownedByNoDeployment(p, raw)
	c.infra = readTemplate(p, infraRaw)
	MachineSets.ToMachineAPI(p, &c, &m)
	p.Under(p.Env.Platform.InfraMachineTemplate.Kind + ".spec.template.spec").WarnOfReplacement()
	return object{metadata: m.Metadata, spec: &m.Spec, provider: m.provider}
}

// readTemplate decodes an infrastructure machine template. raw is nil if there is none.
func readTemplate(p *pass, raw []byte) infra {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Template struct {
				Metadata metadata `json:"metadata"`
				Spec     any      `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	o.Spec.Template.Spec = p.Env.Platform.Spec.NewInfraSpec()
	if !readInfra(p, p.Env.Platform.InfraMachineTemplate, raw, &o) {
		return infra{unread: raw != nil}
	}
	if of := o.Spec.Template.Metadata; len(of.Labels)+len(of.Annotations) > 0 {
		p.Under(p.Env.Platform.InfraMachineTemplate.Kind).Unsupported("spec.template.metadata", nil,
			"Machine API has no fields for labels and annotations of infrastructure machines: create a template without them, and name this template in "+
				"the MachineSet")
	}
	return infra{spec: o.Spec.Template.Spec, name: o.Metadata.Name, root: p.Env.Platform.InfraMachineTemplate.Kind + ".spec.template.spec"}
}

// ownedByNoDeployment reports an error for a MachineSet that a MachineDeployment owns. At its next rollout the MachineDeployment would create another
// MachineSet and scale this one down. But a paused MachineSet does not scale down, so there would be twice as many Machines.
//
// The remedy in the message pauses the MachineDeployment by the annotation. spec.paused would not be enough: the MachineDeployment's controller would adopt
// the MachineSet again and restore the label.
func ownedByNoDeployment(p *pass, raw []byte) {
	set := metadataOf(raw)
	for i, owner := range set.OwnerReferences {
		if group, _, _ := strings.Cut(owner.APIVersion, "/"); group != clusterv1.GroupVersion.Group || owner.Kind != "MachineDeployment" {
			continue
		}
		kubectl := func(verb, resource, name string) string {
			return fmt.Sprintf("kubectl -n %s %s %s.%s %s", set.Namespace, verb, resource, clusterv1.GroupVersion.Group, name)
		}
		p.Unsupported("metadata.ownerReferences", owner.Name, fmt.Sprintf(
			"MachineDeployment %s owns this MachineSet. The Machine API has no such kind, so at its next rollout the MachineDeployment would create a "+
				"second MachineSet, while this one is paused and keeps its Machines: leave Cluster API authoritative, or detach the MachineSet. First "+
				"pause the MachineDeployment: %s %s=; then remove the label (LABEL) by which the MachineDeployment selects the MachineSet: %s %s- LABEL-; "+
				"then remove the owner reference: %s --type json -p "+
				`'[{"op":"test","path":"/metadata/ownerReferences/%[8]d/uid","value":"%[7]s"},{"op":"remove","path":"/metadata/ownerReferences/%[8]d"}]'. `+
				"Do not delete the MachineDeployment: its deletion, even with --cascade=orphan, would also delete this MachineSet and its Machines",
			owner.Name, kubectl("annotate", "machinedeployments", owner.Name), clusterv1.PausedAnnotation,
			kubectl("label", "machinesets", set.Name), clusterv1.MachineDeploymentNameLabel,
			kubectl("patch", "machinesets", set.Name), owner.UID, i))
	}
}

// metadataOf returns the metadata of an object from its JSON. It cannot fail, because this JSON has been decoded before.
func metadataOf(raw []byte) metav1.ObjectMeta {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	_ = json.Unmarshal(raw, &o)
	return o.Metadata
}

func ownersOf(raw []byte) []metav1.OwnerReference { return metadataOf(raw).OwnerReferences }
