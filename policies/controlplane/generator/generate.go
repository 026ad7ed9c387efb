// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// World is what a set is generated from, as the caller has read it. The generator changes nothing in it.
type World struct {
	// Namespace is Machine API's namespace.
	Namespace string
	// Machines are the control plane's Machines; others are ignored.
	Machines []machinev1beta1.Machine
	// MachineSets are all MachineSets of the namespace.
	MachineSets []machinev1beta1.MachineSet
	// Infrastructure is the Infrastructure named cluster; nil if there is none.
	Infrastructure *configv1.Infrastructure
}

// Reasons why no set can be generated, or why a generated set cannot follow the cluster. Conditions, events and a metric use these words.
const (
	NoControlPlaneMachines controlplane.Reason = "NoControlPlaneMachines"
	NoRunningMachine       controlplane.Reason = "NoRunningMachine"
	UnreadableProviderSpec controlplane.Reason = "UnreadableProviderSpec"
	ForeignProviderSpec    controlplane.Reason = "ForeignProviderSpec"
	UnsupportedSize        controlplane.Reason = "UnsupportedSize"
	NotAdmitted            controlplane.Reason = "NotAdmitted"
	CannotFollow           controlplane.Reason = "CannotFollow"
)

// Refusal is the reason why no set is generated.
type Refusal struct {
	Reason controlplane.Reason
	// Message is for people: sentences with the names of the objects and the remedy.
	Message string
}

func refuse(r controlplane.Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: r, Message: fmt.Sprintf(format, args...)}
}

// Generated is a generated set. It is inactive, and its activation would change as little as possible.
type Generated struct {
	Set *machinev1.ControlPlaneMachineSet
	// From is the name of the Machine whose providerSpec the template has.
	From string
	// Left lists, in sentences, what was left out and why.
	Left []string

	// vacant reports that the replicas are one more than the indexes that have a Machine. The size may then be a wrong guess.
	vacant bool
}

// Generate makes a set from the newest control plane Machine that runs. The set's failure domains are those of all control plane Machines and of the
// MachineSets (control-plane-machine-set-controller › Installing a ControlPlaneMachineSet within an existing cluster). Every rule of admission allows the set.
func Generate(w World) (*Generated, *Refusal) {
	g := &generator{World: w, row: platform.Named(platform.Of(w.Infrastructure))}
	for _, step := range []func() *Refusal{g.find, g.read, g.count, g.make} {
		if r := step(); r != nil {
			return nil, r
		}
	}
	return &g.Generated, nil
}

// Ungenerated returns why no set can be generated, as a reason and a message for the ClusterOperator of a cluster without a set. Both are "" if a set can be
// generated.
func Ungenerated(w World) (controlplane.Reason, string) {
	if _, r := Generate(w); r != nil {
		return r.Reason, r.Message
	}
	return "", ""
}

type generator struct {
	World
	Generated

	row platform.Row
	// masters are the control plane's Machines, the oldest first. stay are the Machines that determine where the control plane is (Plan.Staying).
	masters, stay []*machinev1beta1.Machine
	newest        *machinev1beta1.Machine
	// spec is the newest Machine's providerSpec, without members that only one Machine can have.
	spec     map[string]any
	replicas int32
}

// find sets masters to the control plane's Machines, and newest to the newest of them that runs.
func (g *generator) find() *Refusal {
	for i := range g.Machines {
		if m := &g.Machines[i]; controlplane.OfControlPlane(m.Labels) {
			g.masters = append(g.masters, m)
		}
	}
	if len(g.masters) == 0 {
		return refuse(NoControlPlaneMachines, "No ControlPlaneMachineSet can be generated: there is no Machine with the labels %s=master and %s=master in the "+
			"namespace %s. If the control plane was installed without Machines, first replace its hosts one by one with Machines that you create by hand",
			controlplane.RoleLabel, controlplane.TypeLabel, g.Namespace)
	}
	slices.SortStableFunc(g.masters, func(a, b *machinev1beta1.Machine) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var states []string
	for _, m := range g.masters {
		if m.DeletionTimestamp == nil && controlplane.Phase(m) == machinev1beta1.PhaseRunning {
			g.newest = m
		}
		states = append(states, fmt.Sprintf("%s (%s)", m.Name, life(m)))
	}
	if g.newest == nil {
		return refuse(NoRunningMachine, "No control plane Machine is running: %s. Poundlock generates a ControlPlaneMachineSet only from a running Machine",
			strings.Join(states, ", "))
	}
	g.From = g.newest.Name
	return nil
}

func life(m *machinev1beta1.Machine) string {
	if m.DeletionTimestamp != nil {
		return "being deleted"
	}
	return cmp.Or(controlplane.Phase(m), "no phase")
}

// read sets spec from the newest Machine. It refuses Machines of different platforms. All other differences between the Machines are reported by the plan.
func (g *generator) read() *Refusal {
	if g.row.Spec == nil {
		return refuse(controlplane.UnknownPlatform,
			"No ControlPlaneMachineSet can be generated: the Infrastructure named cluster names the platform %s, whose providerSpec Poundlock does not know",
			cmp.Or(string(g.row.Name), "none"))
	}
	for _, m := range g.masters {
		switch spec := platform.ProviderSpec(m.Spec); {
		case spec == nil:
			return refuse(UnreadableProviderSpec,
				"spec.providerSpec.value of Machine %s cannot be read: no ControlPlaneMachineSet can be generated until this field is an object as in the other "+
					"Machines",
				m.Name)
		case spec["kind"] != g.row.Kind:
			return refuse(ForeignProviderSpec,
				"spec.providerSpec.value.kind of Machine %s is %s, but on %s it must be %s: a ControlPlaneMachineSet is for one platform. Remove the Machine, or "+
					"correct its providerSpec",
				m.Name, values.Text(spec["kind"]), g.row.Name, g.row.Kind)
		}
	}
	if err := json.Unmarshal(g.newest.Spec.ProviderSpec.Value.Raw, g.row.Spec()); err != nil {
		return refuse(UnreadableProviderSpec, "No ControlPlaneMachineSet can be generated: the providerSpec of Machine %s, the newest running control plane "+
			"Machine, cannot be read: %s",
			g.From, platform.Unreadable(platform.MachinePath(), g.row, err))
	}
	g.spec = platform.ProviderSpec(g.newest.Spec)
	delete(g.spec, "metadata")
	// With a field that only one Machine can have in the template, every other Machine would be outdated forever.
	if all := platform.StripUnique(g.spec); len(all) > 0 {
		g.Left = append(g.Left, "These fields are left out of the template, because each Machine needs its own value: "+strings.Join(all, ", ")+".")
	}
	bare(g.spec)
	return nil
}

// bare removes the members of a value that are null. Such members mean nothing, and a merge patch could not express them.
func bare(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			bare(item)
		}
	case map[string]any:
		for name, m := range v {
			if bare(m); m == nil {
				delete(v, name)
			}
		}
	}
}

// count sets the replicas from the Machines' indexes: 3 or 5. One index may have no Machine; admission allows this, too.
func (g *generator) count() *Refusal {
	for _, replicas := range []int32{3, 5} {
		p := controlplane.Make(controlplane.View{Set: &machinev1.ControlPlaneMachineSet{Spec: machinev1.ControlPlaneMachineSetSpec{Replicas: &replicas}},
			Machines: g.all()})
		n := len(p.Taken())
		if n != int(replicas) && n != int(replicas)-1 {
			continue
		}
		// If four indexes have Machines and one of the Machines is being deleted, the control plane more likely has three indexes and a replacement that somebody
		// created by hand.
		if g.vacant = n < int(replicas); g.vacant && n > 3 && p.LeavingIndex() {
			return refuse(UnsupportedSize,
				"No ControlPlaneMachineSet can be generated yet. The control plane's Machines have %d indexes (the number at the end of the name), and the Machine "+
					"of one index is being deleted (%s). Once this deletion is complete, Poundlock decides between 3 and 5 replicas",
				n, strings.Join(p.Taken(), "; "))
		}
		g.replicas = replicas
		g.stay = p.Staying()
		return nil
	}
	p := controlplane.Make(controlplane.View{Set: &machinev1.ControlPlaneMachineSet{}, Machines: g.all()})
	return refuse(UnsupportedSize,
		"The control plane's Machines have %s (the number at the end of the name): %s. A ControlPlaneMachineSet manages 3 or 5 Machines and cannot change "+
			"their number. To have a ControlPlaneMachineSet, first change the control plane to 3 or 5 Machines by "+
			"hand", amount.Of(len(p.Taken()), "index"), strings.Join(p.Taken(), "; "))
}

func (g *generator) all() []machinev1beta1.Machine {
	var out []machinev1beta1.Machine
	for _, m := range g.masters {
		out = append(out, *m)
	}
	return out
}

// draft is a set that may be generated, with what it leaves out and how many Machines it would replace.
type draft struct {
	set      *machinev1.ControlPlaneMachineSet
	left     []string
	replaced int
}

// make chooses the draft that replaces the fewest Machines. Among equal drafts it chooses the one with the most failure domains, which drafts yields first. It
// skips drafts that the rules of admission would refuse, because the webhook could refuse Poundlock's own writes.
func (g *generator) make() *Refusal {
	var best *draft
	reason := ""
	for d := range g.drafts() {
		if best != nil && d.replaced >= best.replaced {
			continue
		}
		if denied := g.denied(nil, d.set); denied != "" {
			reason = cmp.Or(reason, denied)
			continue
		}
		if best = &d; d.replaced == 0 {
			break
		}
	}
	if best == nil {
		return refuse(NotAdmitted, "A ControlPlaneMachineSet generated from Machine %s would be refused: %s", g.From, reason)
	}
	g.Set, g.Left = best.set, append(g.Left, best.left...)
	return nil
}

// drafts yields sets with all failure domains, then with only those of the control plane, then with none. It yields two sets for each of these lists: the first
// without those fields of the template to which failure domains yield (Setting.Yields), the second with them.
func (g *generator) drafts() iter.Seq[draft] {
	own, more := g.domains()
	lists := [][]machinev1.FailureDomains{slices.Concat(own, more)}
	for _, fewer := range [][]machinev1.FailureDomains{own, nil} {
		if len(fewer) < len(lists[len(lists)-1]) {
			lists = append(lists, fewer)
		}
	}
	return func(yield func(draft) bool) {
		for _, list := range lists {
			for _, keep := range []bool{false, true} {
				d := draft{set: g.set(list, keep)}
				d.replaced = g.replaced(d.set)
				if away := lists[0][len(list):]; len(away) > 0 {
					d.left = []string{fmt.Sprintf("Some failure domains are left out (%s), because with them the set would replace a control plane Machine.",
						strings.Join(values.Names(away, g.domainName), ", "))}
				}
				if !yield(d) {
					return
				}
			}
		}
	}
}

func (g *generator) domainName(d machinev1.FailureDomains) string { return g.domain(d).Name }

func (g *generator) plan(set *machinev1.ControlPlaneMachineSet) controlplane.Plan {
	return controlplane.Make(controlplane.View{Set: set, Machines: g.all(), Infrastructure: g.Infrastructure})
}

// replaced counts the Machines that the set would replace.
func (g *generator) replaced(set *machinev1.ControlPlaneMachineSet) int {
	p, n := g.plan(set), 0
	for _, m := range p.Machines() {
		if !m.Deleting && !m.Updated() {
			n++
		}
	}
	return n
}

func (g *generator) set(domains []machinev1.FailureDomains, keep bool) *machinev1.ControlPlaneMachineSet {
	labels := controlplane.Selecting()
	labels[controlplane.ClusterLabel] = g.newest.Labels[controlplane.ClusterLabel]
	if i := g.Infrastructure; labels[controlplane.ClusterLabel] == "" && i != nil {
		labels[controlplane.ClusterLabel] = i.Status.InfrastructureName
	}
	node := g.newest.Spec.ObjectMeta
	return &machinev1.ControlPlaneMachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: controlplane.Name},
		Spec: machinev1.ControlPlaneMachineSetSpec{
			State: machinev1.ControlPlaneMachineSetStateInactive, Replicas: &g.replicas,
			Strategy: machinev1.ControlPlaneMachineSetStrategy{Type: machinev1.RollingUpdate},
			Selector: metav1.LabelSelector{MatchLabels: controlplane.Selecting()},
			Template: machinev1.ControlPlaneMachineSetTemplate{
				MachineType: machinev1.OpenShiftMachineV1Beta1MachineType,
				OpenShiftMachineV1Beta1Machine: &machinev1.OpenShiftMachineV1Beta1MachineTemplate{
					FailureDomains: joined(g.row.Name, domains), ObjectMeta: machinev1.ControlPlaneMachineSetTemplateObjectMeta{Labels: labels},
					Spec: machinev1beta1.MachineSpec{
						ObjectMeta:   machinev1beta1.ObjectMeta{Labels: node.Labels, Annotations: node.Annotations},
						Taints:       g.newest.Spec.Taints,
						ProviderSpec: machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: values.Raw(g.template(domains, keep))}},
						// If Cluster API is authoritative for the newest Machine, it will be authoritative for the Machines that replace it.
						AuthoritativeAPI: g.newest.Spec.AuthoritativeAPI,
					},
				},
			},
		},
	}
}

// joined returns one union with the failure domains of several unions; nil if there are none.
func joined(platform configv1.PlatformType, all []machinev1.FailureDomains) *machinev1.FailureDomains {
	if len(all) == 0 {
		return nil
	}
	out := &machinev1.FailureDomains{Platform: platform}
	for _, d := range all {
		out.AWS, out.Azure, out.GCP = values.Appended(out.AWS, d.AWS), values.Appended(out.Azure, d.Azure), values.Appended(out.GCP, d.GCP)
		out.OpenStack, out.VSphere, out.Nutanix = append(out.OpenStack, d.OpenStack...), append(out.VSphere, d.VSphere...), append(out.Nutanix, d.Nutanix...)
	}
	return out
}

// template returns the providerSpec without the fields that the failure domains set. If "keep" is true, it keeps those fields that a failure domain sets only
// if the template lacks them (Setting.Yields).
func (g *generator) template(domains []machinev1.FailureDomains, keep bool) map[string]any {
	out := values.Plain(g.spec)
	for _, one := range domains {
		for _, s := range g.domain(one).Sets {
			if !s.Yields || !keep {
				out = values.Remove(out, values.Path(s.Path))
			}
		}
	}
	spec, _ := out.(map[string]any)
	return spec
}

// denied returns what the rules of admission refuse if the set "after" replaces the set "before" (nil for none); "" if they allow it.
func (w World) denied(before, after any) string {
	c := policies.Change{
		Subject: policies.Subject{
			Side: policies.SideMachineAPI, Kind: controlplane.Kind, Namespace: w.Namespace, Name: controlplane.Name,
			Resource: schema.GroupResource{Group: machinev1.GroupName, Resource: controlplane.Resource},
		},
		Operation: admissionv1.Create,
		Facts:     policies.Facts{ControlPlane: &policies.ControlPlane{Machines: w.Machines, Infrastructure: w.Infrastructure}},
	}
	var err error
	if c.New, err = policies.ParseObject(values.Raw(after)); err != nil {
		return err.Error()
	}
	if before != nil {
		c.Operation = admissionv1.Update
		if c.Old, err = policies.ParseObject(values.Raw(before)); err != nil {
			return err.Error()
		}
	}
	var out []string
	for _, f := range slices.DeleteFunc(slices.Clone(admission.Rules()), func(r policies.Rule) bool { return r.ID == admission.ForecastRule }).Judge(c) {
		for _, e := range f.Denials {
			out = append(out, fmt.Sprintf("%s [%s]", e, f.Rule))
		}
	}
	return strings.Join(out, "; ")
}
