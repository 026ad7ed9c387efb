// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/internal/machineapi"
)

// metadata has those parts of an object's metadata that the conversion copies.
type metadata struct {
	Name        string            `json:"name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// mapiMachine is a Machine API Machine, or the template of a MachineSet.
type mapiMachine struct {
	Metadata metadata                   `json:"metadata"`
	Spec     machinev1beta1.MachineSpec `json:"spec"`

	// provider is a pointer to the typed providerSpec. The conversion uses it, and not the raw providerSpec in Spec. nil: there is no providerSpec of the
	// platform's kind.
	provider any
}

// capiMachine is a Cluster API Machine, or the template of a MachineSet.
type capiMachine struct {
	Metadata metadata              `json:"metadata"`
	Spec     clusterv1.MachineSpec `json:"spec"`

	infra infra
	// set is the name of the MachineSet whose template this is; "" for a Machine.
	set string
}

// infra is the infrastructure object of a Machine or template. A conversion to Cluster API makes it, and a conversion to Machine API reads it.
type infra struct {
	// spec is a pointer to the platform's type. If it is nil, the object does not exist (unread is false) or cannot be decoded (unread is true, and the pass has
	// the error).
	spec   any
	unread bool
	// name is the object's name, and root the path of its spec for errors. Both are set only for a conversion to Machine API.
	name, root string
}

type pass = conversion.Pass

func at(paths ...string) []string { return conversion.At(paths...) }

var machine conversion.Rows[mapiMachine, capiMachine]

const authority = "The field says which API is authoritative. The conversion does not copy the field, because Poundlock sets it."

// Machines converts a Machine, or the template of a MachineSet.
var Machines = conversion.Table[mapiMachine, capiMachine]{
	machine.Same("metadata.name", "metadata.name"),
	machine.Iso(at("metadata.labels", "spec.metadata.labels"), at("metadata.labels"),
		"The labels are copied, with three exceptions. The label machine.openshift.io/cluster-api-cluster becomes cluster.x-k8s.io/cluster-name. If the "+
			"Machine's role and type are X, the mirror also has the label node-role.kubernetes.io/X, and on the control plane also "+
			"cluster.x-k8s.io/control-plane. The labels in spec.metadata.labels, which are for the Node, become labels of the Machine if Cluster API "+
			"copies them to Nodes: labels of Cluster API's own domains, and labels that match --additional-sync-machine-labels.",
		labelsTo, labelsFrom),
	machine.Iso(at("metadata.annotations", "spec.metadata.annotations"), at("metadata.annotations"),
		"The annotations are copied, except last-applied-configuration and the annotations that have another name in Cluster API, which "+
			"docs/fields/core.md lists. The annotations in spec.metadata.annotations, which are for the Node, must be in the domain node.cluster.x-k8s.io, "+
			"or match --additional-sync-machine-annotations.",
		annotationsTo, annotationsFrom),
	machine.Iso(at("spec.lifecycleHooks.preDrain[].name", "spec.lifecycleHooks.preDrain[].owner",
		"spec.lifecycleHooks.preTerminate[].name", "spec.lifecycleHooks.preTerminate[].owner"), at("Machine"+conversion.Elsewhere+"metadata.annotations"),
		"A hook becomes an annotation, pre-drain.delete.hook.machine.cluster.x-k8s.io/NAME or pre-terminate.delete.hook.machine.cluster.x-k8s.io/NAME, "+
			"whose value is the hook's owner. The hooks come back in the order of their names. Name and owner need at least 3 characters each, and the "+
			"name has no domain.",
		hooksTo, hooksFrom),
	machine.OnlyMAPI("spec.metadata.name", "Cluster API cannot set the name of a Node: remove it"),
	machine.OnlyMAPI("spec.metadata.generateName", "Cluster API cannot set the name of a Node: remove it"),
	machine.OnlyMAPI("spec.metadata.namespace", "this field is for the Node, and a Node has no namespace: remove it"),
	machine.OnlyMAPI("spec.metadata.ownerReferences.*", "Cluster API cannot set the owner references of a Node: remove them"),
	machine.Iso(at("spec.taints[].key", "spec.taints[].value", "spec.taints[].effect"),
		at("spec.taints[].key", "spec.taints[].value", "spec.taints[].effect", "spec.taints[].propagation"),
		"The mirror's propagation is always Always, because Machine API keeps its taints on the Node. Cluster API accepts taints only if its feature gate "+
			"MachineTaintPropagation is on.",
		taintsTo, taintsFrom),
	machine.OnlyMAPI("spec.taints[].timeAdded", "Cluster API has no field for the time at which a taint was added: remove it"),
	machine.Iso(at("spec.providerSpec.value", "spec.providerID"),
		at("spec.infrastructureRef.apiGroup", "spec.infrastructureRef.kind", "spec.infrastructureRef.name",
			"spec.failureDomain", "spec.bootstrap.dataSecretName", "spec.providerID"),
		"The page of the platform describes how the fields of the providerSpec and of the infrastructure object convert.", providerTo, providerFrom),
	machine.Iso(at("spec.authoritativeAPI"), nil, authority, ignore, ignoreBack),

	machine.Iso(nil, at("spec.clusterName"), "The value is always the cluster's name.", clusterTo, clusterFrom),
	machine.OnlyCAPI("spec.bootstrap.configRef.*",
		"Machine API takes a Machine's bootstrap data only from a Secret: set bootstrap.dataSecretName, and remove configRef"),
	machine.OnlyCAPI("spec.version", "Machine API has no field for the Kubernetes version of a Machine: remove it"),
	machine.OnlyCAPI("spec.readinessGates.*", "Machine API has no readiness gates for a Machine: remove them"),
	machine.Iso(nil, at("spec.minReadySeconds"),
		"The template of a MachineSet and its Machines have the minReadySeconds of the MachineSet. A Machine without a MachineSet must have none, because "+
			"Machine API has no such field in a Machine.",
		ignore, readyFrom),
	machine.OnlyCAPIBeyond("spec.deletion.nodeDrainTimeoutSeconds", "0", "Machine API has no such timeout for the deletion of a Machine."),
	machine.OnlyCAPIBeyond("spec.deletion.nodeVolumeDetachTimeoutSeconds", "0", "Machine API has no such timeout for the deletion of a Machine."),
	machine.OnlyCAPIBeyond("spec.deletion.nodeDeletionTimeoutSeconds", "10", "Machine API has no such timeout for the deletion of a Machine."),
}

func ignore(*pass, *mapiMachine, *capiMachine)     {}
func ignoreBack(*pass, *capiMachine, *mapiMachine) {}

func clusterTo(p *pass, _ *mapiMachine, c *capiMachine) { c.Spec.ClusterName = p.Env.ClusterName }

func clusterFrom(p *pass, c *capiMachine, _ *mapiMachine) {
	ownCluster(p, c.Spec.ClusterName)
}

// ownCluster reports an error if spec.clusterName is not the cluster's name. Cluster API's webhooks make the field immutable, so the message says to create a
// new object.
func ownCluster(p *pass, name string) {
	if name != p.Env.ClusterName {
		p.Unsupported("spec.clusterName", name, fmt.Sprintf("must equal the cluster's name, which is %q. The field cannot be changed in an existing "+
			"object, so create the object again with this clusterName", p.Env.ClusterName))
	}
}

func sameCluster(p *pass, path, name string) {
	if name != p.Env.ClusterName {
		p.Differs(path, name, "the cluster's name", p.Env.ClusterName)
	}
}

// readyFrom reports an error for minReadySeconds on a Machine without a MachineSet, because Machine API has this value only in the MachineSet. It accepts the
// value on a Machine of a MachineSet and in the set's template: there it is the set's value, and otherwise no Machine of a set with minReadySeconds could be
// mirrored.
func readyFrom(p *pass, c *capiMachine, _ *mapiMachine) {
	ofASet := p.Core.Template || c.Metadata.Labels[clusterv1.MachineSetNameLabel] != ""
	if s := c.Spec.MinReadySeconds; s != nil && *s != 0 && !ofASet {
		p.Unsupported("spec.minReadySeconds", *s,
			"in Machine API a Machine without a MachineSet is available as soon as it is ready: set minReadySeconds to 0, or remove it")
	}
}

func taintsTo(p *pass, m *mapiMachine, c *capiMachine) {
	if takes := p.Env.TakesTaints; len(m.Spec.Taints) > 0 && takes != nil && !*takes {
		p.Unsupported("spec.taints", nil, "Cluster API refuses taints while its feature gate MachineTaintPropagation is off: set "+
			"--feature-gates=MachineTaintPropagation=true for Cluster API's manager, or remove the taints")
	}
	seen := map[string]bool{}
	for i, t := range m.Spec.Taints {
		path := fmt.Sprintf("spec.taints[%d]", i)
		if id := t.Key + ":" + string(t.Effect); seen[id] {
			p.Invalid(path, id, "the taint is listed twice: remove one of the two")
		} else {
			seen[id] = true
		}
		if !effect(t.Effect) || t.Key == "" {
			p.Invalid(path, t.Key+":"+string(t.Effect), "a taint needs a key and an effect, which is NoSchedule, PreferNoSchedule or NoExecute: set both")
		}
		c.Spec.Taints = append(c.Spec.Taints, clusterv1.MachineTaint{
			Key: t.Key, Value: t.Value, Effect: t.Effect, Propagation: clusterv1.MachineTaintPropagationAlways,
		})
	}
}

func effect(e corev1.TaintEffect) bool {
	return e == corev1.TaintEffectNoSchedule || e == corev1.TaintEffectPreferNoSchedule || e == corev1.TaintEffectNoExecute
}

func taintsFrom(p *pass, c *capiMachine, m *mapiMachine) {
	for i, t := range c.Spec.Taints {
		if t.Propagation != clusterv1.MachineTaintPropagationAlways {
			p.Unsupported(fmt.Sprintf("spec.taints[%d].propagation", i), string(t.Propagation),
				"Machine API always keeps a taint on the Node: set propagation to Always")
		}
		m.Spec.Taints = append(m.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
}

func providerTo(p *pass, m *mapiMachine, c *capiMachine) {
	if m.provider == nil {
		return // the decoder has reported it
	}
	if id := ptr.Deref(m.Spec.ProviderID, ""); !ofAnother(p, id) {
		p.Core.ProviderID, c.Spec.ProviderID = id, id
	}
	p.Core.Name = m.Metadata.Name
	p.Core.ControlPlane, p.Core.Windows = controlPlane(m.Metadata.Labels), m.Metadata.Labels[machineapi.SystemLabel] == windows
	provider := p.At(providerPath)
	c.infra.spec = p.Env.Platform.Spec.ToClusterAPI(provider, m.provider)
	if p.Core.ControlPlane {
		provider.WarnOfRollout()
	}
	c.Spec.FailureDomain, c.Spec.Bootstrap.DataSecretName = p.Core.FailureDomain, p.Core.BootstrapSecret
	checkInstance(p)
}

// ofAnother reports whether a template has a provider ID, and reports an error if so. The ID comes from the Machine that somebody copied into the template.
// Machine API's controllers replace it in each new Machine, but Cluster API's would take the Machine's instance for theirs, and terminate it.
func ofAnother(p *pass, id string) bool {
	if !p.Core.Template || id == "" {
		return false
	}
	p.Unsupported("spec.providerID", id, "a template has no instance, and in Cluster API each new machine would take over the instance with this id: remove "+
		"providerID from the template")
	return true
}

// checkInstance reports an error if the Machine's provider ID has another cloud's scheme. Most providers read only the last part of an ID. They would act on
// the instance of their own cloud that has this last part, which may belong to another Machine.
func checkInstance(p *pass) {
	id, form := p.Core.ProviderID, p.Env.Platform.InstanceID
	const at = "spec.providerID"
	// Google Cloud's rows check the whole ID, and may already have reported it.
	reported := slices.ContainsFunc(p.Errors(), func(e *field.Error) bool { return e.Field == at })
	if id != "" && !p.Core.Template && !reported && instanceid.Scheme(id) != instanceid.Scheme(form) {
		p.Invalid(at, id, "must be of the form "+form)
	}
}

func providerFrom(p *pass, c *capiMachine, m *mapiMachine) {
	if !refers(p, c) {
		return
	}
	p.Core.Name = c.Metadata.Name
	_, p.Core.ControlPlane = c.Metadata.Labels[clusterv1.MachineControlPlaneLabel]
	p.Core.FailureDomain, p.Core.BootstrapSecret = c.Spec.FailureDomain, c.Spec.Bootstrap.DataSecretName
	if !ofAnother(p, c.Spec.ProviderID) {
		p.Core.ProviderID = c.Spec.ProviderID
	}
	if p.Core.BootstrapSecret == nil || *p.Core.BootstrapSecret == "" {
		p.Required("spec.bootstrap.dataSecretName", "Machine API takes a Machine's bootstrap data only from a Secret: name the Secret")
	}
	m.provider = p.Env.Platform.Spec.ToMachineAPI(p.Under(c.infra.root), c.infra.spec)
	if p.Core.ProviderID != "" {
		m.Spec.ProviderID = &p.Core.ProviderID
	}
	checkInstance(p)
}

// refers returns true if the infrastructure object exists and is the object that spec.infrastructureRef names. Otherwise it reports an error, unless the
// object exists and cannot be decoded: that error has been reported before.
func refers(p *pass, c *capiMachine) bool {
	ref, want := c.Spec.InfrastructureRef, p.Env.Platform.InfraMachine
	if p.Core.Template {
		want = p.Env.Platform.InfraMachineTemplate
	}
	switch {
	case ref.Kind != want.Kind || ref.APIGroup != want.Group:
		p.Unsupported("spec.infrastructureRef", ref.Kind+"."+ref.APIGroup, "this kind does not belong to the cluster's platform: name an object of the "+
			"kind "+want.Kind+"."+want.Group)
	case c.infra.unread:
	case c.infra.spec == nil:
		p.Required("spec.infrastructureRef", fmt.Sprintf("%s %q does not exist: create it, or name an existing object", ref.Kind, ref.Name))
	case c.infra.name != ref.Name:
		p.Invalid("spec.infrastructureRef.name", ref.Name, fmt.Sprintf(
			"the conversion was given the infrastructure object %q instead of the one that this reference names", c.infra.name))
	default:
		return true
	}
	return false
}

func machineToClusterAPI(p *pass, raw []byte) twin {
	var m mapiMachine
	var c capiMachine
	if readMachine(p, raw, &m) {
		Machines.ToClusterAPI(p, &m, &c)
	}
	return twin{core: object{metadata: c.Metadata, spec: &c.Spec}, infraName: c.Metadata.Name, infra: c.infra.spec}
}

func readMachine(p *pass, raw []byte, m *mapiMachine) bool {
	var o struct {
		Metadata metadata     `json:"metadata"`
		Spec     withProvider `json:"spec"`
	}
	o.Spec.ProviderSpec.Value = p.Env.Platform.Spec.NewProviderSpec()
	fits := decode(p, raw, &o, func(p *pass) string { return recognise(p, providerPath, &o.Spec) })
	*m = mapiMachine{Metadata: o.Metadata, Spec: o.Spec.MachineSpec, provider: o.Spec.ProviderSpec.Value}
	return fits
}

func machineToMachineAPI(p *pass, raw, infraRaw []byte) object {
	var m mapiMachine
	var c capiMachine
	if !decode(p, raw, &c, nothing) {
		return object{}
	}
	ownedByASet(p, raw)
	c.infra = readInfraMachine(p, infraRaw)
	if c.infra.spec != nil && c.infra.name != c.Metadata.Name {
		p.Unsupported("spec.infrastructureRef.name", c.infra.name,
			"must equal the Machine's name, because Poundlock finds the infrastructure object by the Machine's name")
	}
	Machines.ToMachineAPI(p, &c, &m)
	p.Under(p.Env.Platform.InfraMachine.Kind + ".spec").WarnOfReplacement()
	return object{metadata: m.Metadata, spec: &m.Spec, provider: m.provider}
}

// ownedByASet reports an error for a Machine whose controlling owner is an object of Cluster API, but no MachineSet. Such an owner (a MachinePool, or a
// control plane of Cluster API) would keep replacing and terminating its instances, no matter which API is authoritative for the Machine.
func ownedByASet(p *pass, raw []byte) {
	for _, owner := range ownersOf(raw) {
		group, _, _ := strings.Cut(owner.APIVersion, "/")
		ours := group == clusterv1.GroupVersion.Group || strings.HasSuffix(group, "."+clusterv1.GroupVersion.Group)
		if ours && owner.Controller != nil && *owner.Controller && owner.Kind != "MachineSet" {
			p.Unsupported("metadata.ownerReferences", owner.Name, fmt.Sprintf(
				"%s %s owns this Machine. The Machine API has no such kind, so after a move the %[1]s would still replace and terminate its instances, "+
					"including this Machine's instance: leave Cluster API authoritative. If you need a Machine in the Machine API, create a Machine with "+
					"another name in the Machine API, and scale the %[1]s down", owner.Kind, owner.Name))
		}
	}
}

// readInfraMachine decodes an infrastructure machine. raw is nil if there is none.
func readInfraMachine(p *pass, raw []byte) infra {
	var o struct {
		Metadata metadata `json:"metadata"`
		Spec     any      `json:"spec"`
	}
	o.Spec = p.Env.Platform.Spec.NewInfraSpec()
	if !readInfra(p, p.Env.Platform.InfraMachine, raw, &o) {
		return infra{unread: raw != nil}
	}
	return infra{spec: o.Spec, name: o.Metadata.Name, root: p.Env.Platform.InfraMachine.Kind + ".spec"}
}
