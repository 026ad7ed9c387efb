// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/conversion/aws/awstest"
	"github.com/poundlock/poundlock/conversion/azure/azuretest"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/vsphere/vspheretest"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
	"github.com/poundlock/poundlock/test/stories"
)

type planting = func(*plant)

func onPlant(i int, do func(*machinev1beta1.Machine)) planting {
	return func(p *plant) { do(&p.Machines[i]) }
}

func uprooted(names ...string) planting {
	return func(p *plant) {
		var kept []machinev1beta1.Machine
		for _, m := range p.Machines {
			gone := false
			for _, n := range names {
				gone = gone || strings.HasSuffix(m.Name, n)
			}
			if !gone {
				kept = append(kept, m)
			}
		}
		p.Machines = kept
	}
}

func also(name string, z int) planting {
	return func(p *plant) {
		m := *p.Machines[0].DeepCopy()
		m.Name = name
		m.Spec.ProviderSpec = of(inZone(p.kit.Platform.Name, p.kit.ProviderSpec, z))
		m.CreationTimestamp = metav1.NewTime(noon)
		p.Machines = append(p.Machines, m)
	}
}

func stopped(m *machinev1beta1.Machine) { m.Status.Phase = nil }

func platformIs(name configv1.PlatformType) planting {
	return func(p *plant) { p.Infrastructure.Status.PlatformStatus.Type = name }
}

// A cluster without a generated set gets the reason, and the remedy. Beside each is the nearest cluster that gets a set.
func TestWhatNoSetIsGeneratedFrom(t *testing.T) {
	topology := func(p *plant) { p.Infrastructure.Status.ControlPlaneTopology = "HighlyAvailableArbiter" }
	for sentence, c := range map[string]struct {
		kit    func() conversiontest.Kit
		do     []planting
		reason controlplane.Reason
		words  string
	}{
		"no Machine, as in a cluster that somebody else made": {do: []planting{uprooted("master-0", "master-1", "master-2")}, reason: generator.NoControlPlaneMachines, words: "in the namespace " +
			"openshift-machine-api"},
		"none with the labels": {do: []planting{onPlant(0, func(m *machinev1beta1.Machine) { m.Labels = nil }), uprooted("master-1", "master-2")}, reason: generator.NoControlPlaneMachines},
		"none runs": {do: []planting{onPlant(0, stopped), onPlant(1, failed), onPlant(2, going)}, reason: generator.NoRunningMachine,
			words: "lock-7x2k9-master-0 (no phase), lock-7x2k9-master-1 (Failed), lock-7x2k9-master-2 (being deleted)"},
		"one runs":                         {do: []planting{onPlant(0, stopped), onPlant(1, failed)}},
		"a platform that nobody knows":     {do: []planting{platformIs("BareMetal")}, reason: controlplane.UnknownPlatform, words: "BareMetal"},
		"no platform":                      {do: []planting{func(p *plant) { p.Infrastructure = nil }}, reason: controlplane.UnknownPlatform},
		"a Machine of another platform":    {do: []planting{onPlant(1, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "kind", "GCPMachineProviderSpec") })}, reason: generator.ForeignProviderSpec, words: "Machine lock-7x2k9-master-1 is GCPMachineProviderSpec"},
		"a worker of another platform":     {do: []planting{onPlant(3, func(m *machinev1beta1.Machine) { m.Spec.ProviderSpec.Value = nil })}},
		"a providerSpec that is no object": {do: []planting{onPlant(0, func(m *machinev1beta1.Machine) { m.Spec.ProviderSpec.Value.Raw = []byte(`"x"`) })}, reason: generator.UnreadableProviderSpec, words: "master-0"},
		"no providerSpec":                  {do: []planting{onPlant(2, func(m *machinev1beta1.Machine) { m.Spec.ProviderSpec.Value = nil })}, reason: generator.UnreadableProviderSpec, words: "master-2"},
		"a field of another type":          {do: []planting{onPlant(2, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "instanceType", 3) })}, reason: generator.UnreadableProviderSpec, words: "instanceType"},
		"the same in an older one":         {do: []planting{onPlant(0, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "instanceType", 3) })}},
		"one index": {do: []planting{uprooted("master-1", "master-2")}, reason: generator.UnsupportedSize, words: "1 index (the number " +
			"at the end of the name): 0: lock-7x2k9-master-0"},
		"two of three":       {do: []planting{uprooted("master-1")}},
		"two and an arbiter": {do: []planting{uprooted("master-1"), topology}, reason: generator.NotAdmitted, words: "[controlplane/replicas]"},
		"four of five":       {do: []planting{also("lock-7x2k9-master-3", 0)}},
		"four, one of them being deleted": {do: []planting{also("lock-7x2k9-master-3", 0), onPlant(0, going)}, reason: generator.UnsupportedSize, words: "the " +
			"Machine of one index is being deleted"},
		"three, of which one goes":          {do: []planting{onPlant(0, going)}},
		"three and a replacement of one":    {do: []planting{also("lock-7x2k9-master-x-0", 0)}},
		"five":                              {do: []planting{also("lock-7x2k9-master-3", 0), also("lock-7x2k9-master-4", 1)}},
		"six":                               {do: []planting{also("m-3", 0), also("m-4", 1), also("m-5", 2)}, reason: generator.UnsupportedSize, words: "6 indexes"},
		"what admission refuses":            {kit: azuretest.Kit, do: []planting{onPlant(2, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "internalLoadBalancer", nil) })}, reason: generator.NotAdmitted, words: "[controlplane/azure]"},
		"the same in an older one of Azure": {kit: azuretest.Kit, do: []planting{onPlant(0, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "internalLoadBalancer", nil) })}},
		"one in no failure domain": {kit: vspheretest.Kit, do: []planting{onPlant(0, func(m *machinev1beta1.Machine) {
			edit(&m.Spec.ProviderSpec, "workspace", map[string]any{"server": "other"})
		})}, reason: generator.NotAdmitted, words: "Machine lock-7x2k9-master-0 is in other"},
		"none in any, but all in one place":  {kit: vspheretest.Kit, do: []planting{func(p *plant) { p.Infrastructure.Spec.PlatformSpec.VSphere.FailureDomains = nil }, inOnePlace}},
		"a failure domain with another name": {kit: vspheretest.Kit, do: []planting{func(p *plant) { p.Infrastructure.Spec.PlatformSpec.VSphere.FailureDomains[0].Name = "first" }}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if c.kit == nil {
				c.kit = awstest.Kit
			}
			p := planted(t, c.kit(), c.kit().ProviderSpec, 3)
			for _, do := range c.do {
				do(p)
			}
			g, refusal := generator.Generate(p.World)
			if refusal == nil {
				if c.reason != "" {
					t.Errorf("made %s, want %s", raw(t, g.Set.Spec), c.reason)
				}
				return
			}
			if refusal.Reason != c.reason || !strings.Contains(refusal.Message, c.words) {
				t.Errorf("%s: %s; want %s and %q", refusal.Reason, refusal.Message, c.reason, c.words)
			}
			if reason, words := generator.Ungenerated(p.World); reason != refusal.Reason || words != refusal.Message {
				t.Error("Ungenerated says otherwise")
			}
		})
	}
}

func inOnePlace(p *plant) {
	for i := range 3 {
		p.Machines[i].Spec.ProviderSpec = of(inZone(p.kit.Platform.Name, p.kit.ProviderSpec, 0))
	}
}

// What a set is made from, beyond what the plan sees.
func TestWhatASetIsGeneratedFrom(t *testing.T) {
	newer := func(m *machinev1beta1.Machine) {
		edit(&m.Spec.ProviderSpec, "instanceType", "m6i.2xlarge")
		m.Spec.Taints, m.Spec.ObjectMeta.Labels = taints(), map[string]string{"rack": "7"}
	}
	for sentence, c := range map[string]struct {
		do   []planting
		want map[string]any // by path below the template
		left string
	}{
		"the newest":                        {do: []planting{onPlant(2, newer)}, want: map[string]any{"spec.providerSpec.value.instanceType": "m6i.2xlarge", "spec.metadata.labels.rack": "7"}},
		"the newest of those that run":      {do: []planting{onPlant(2, newer), onPlant(2, failed)}, want: map[string]any{"spec.providerSpec.value.instanceType": "m6i.large"}},
		"the last by name of one age":       {do: []planting{onPlant(0, newer), onPlant(0, sameAge), onPlant(1, sameAge), onPlant(2, sameAge)}, want: map[string]any{"spec.providerSpec.value.instanceType": "m6i.large"}},
		"a cluster's name that is left out": {do: []planting{onPlant(2, func(m *machinev1beta1.Machine) { delete(m.Labels, "machine.openshift.io/cluster-api-cluster") })}, want: map[string]any{"metadata.labels": labelled()}},
		"which API is authoritative":        {do: []planting{onPlant(2, func(m *machinev1beta1.Machine) { m.Spec.AuthoritativeAPI = "ClusterAPI" })}, want: map[string]any{"spec.authoritativeAPI": "ClusterAPI"}},
		"no hooks":                          {want: map[string]any{"spec.lifecycleHooks": nil}},
		"no place that the domains set":     {want: map[string]any{"spec.providerSpec.value.subnet": nil, "spec.providerSpec.value.placement": map[string]any{"region": "us-east-1"}}},
		"a MachineSet at the edge": {do: []planting{worker(func(s *machinev1beta1.MachineSet) {
			s.Spec.Template.Spec.Labels = map[string]string{"node-role.kubernetes.io/edge": ""}
		})}, want: domainsOf("a", "b", "c")},
		"a MachineSet in another region": {do: []planting{worker(func(s *machinev1beta1.MachineSet) {
			edit(&s.Spec.Template.Spec.ProviderSpec, "placement", map[string]any{"region": "x", "availabilityZone": "x1"})
		})}, want: domainsOf("a", "b", "c")},
		"a MachineSet with another subnet": {do: []planting{worker(func(s *machinev1beta1.MachineSet) {
			edit(&s.Spec.Template.Spec.ProviderSpec, "placement", map[string]any{"region": "us-east-1", "availabilityZone": "us-east-1a"})
		})}, want: domainsOf("a", "b", "c")},
		"two Machines in one zone": {do: []planting{onPlant(2, func(m *machinev1beta1.Machine) {
			m.Spec.ProviderSpec = of(inZone("AWS", awstest.Kit().ProviderSpec, 1))
		})}, want: domainsOf("a", "b"), left: "Some failure domains are left out (us-east-1d)"},
		"a zone that is only being left":     {do: []planting{also("lock-7x2k9-master-y-2", 1), onPlant(2, going), worker(func(s *machinev1beta1.MachineSet) { s.Name = "none"; s.Spec.Template.Spec.ProviderSpec.Value = nil })}, want: domainsOf("a", "b")},
		"a zone that nobody else is left in": {do: []planting{onPlant(2, going)}, want: domainsOf("a", "b", "c", "d")},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := planted(t, awstest.Kit(), awstest.Kit().ProviderSpec, 3)
			for _, do := range c.do {
				do(p)
			}
			u := generator.Next(nil, p.World)
			if u.Write != generator.CreateSet {
				t.Fatalf("%+v", u.Refusal)
			}
			for path, want := range c.want {
				if d := cmp.Diff(want, at(u.Object, "spec.template.machines_v1beta1_machine_openshift_io."+path)); d != "" {
					t.Errorf("%s: %s", path, d)
				}
			}
			if !strings.Contains(u.Note, c.left) || c.left == "" && strings.Contains(u.Note, "Left out") {
				t.Errorf("says %q", u.Note)
			}
		})
	}
}

func sameAge(m *machinev1beta1.Machine) { m.CreationTimestamp = metav1.NewTime(noon) }

func worker(do func(*machinev1beta1.MachineSet)) planting {
	return func(p *plant) { do(&p.MachineSets[0]) }
}

func labelled() map[string]any {
	return map[string]any{"machine.openshift.io/cluster-api-cluster": "lock-7x2k9", "machine.openshift.io/cluster-api-machine-role": "master",
		"machine.openshift.io/cluster-api-machine-type": "master"}
}

func domainsOf(zones ...string) map[string]any {
	var all []any
	for _, z := range zones {
		all = append(all, domainIn(z, "subnet-"+z))
	}
	return map[string]any{"failureDomains.aws": all}
}

func domainIn(zone, subnet string) map[string]any {
	return map[string]any{"placement": map[string]any{"availabilityZone": "us-east-1" + zone}, "subnet": map[string]any{
		"type": "Filters", "filters": []any{map[string]any{"name": "tag:Name", "values": []any{subnet}}},
	}}
}

func at(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// merged is what an API server makes of a merge patch.
func merged(to any, patch map[string]any) map[string]any {
	out := map[string]any{}
	if m, ok := to.(map[string]any); ok {
		for k, v := range m {
			out[k] = v
		}
	}
	for k, v := range patch {
		if sub, ok := v.(map[string]any); ok {
			out[k] = merged(out[k], sub)
		} else if out[k] = v; v == nil {
			delete(out, k)
		}
	}
	return out
}

const below = "spec.template.machines_v1beta1_machine_openshift_io."

// The generator's fields follow the cluster, a person's stay, whatever order lists are in; what nobody may touch is not touched.
func TestWhatIsKeptOfAGeneratedSet(t *testing.T) {
	larger := onPlant(2, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "instanceType", "m6i.2xlarge") })
	tagged := func(names ...string) []any {
		var out []any
		for _, n := range names {
			out = append(out, map[string]any{"name": n, "value": "1"})
		}
		return out
	}
	tag := func(names ...string) planting {
		return func(p *plant) {
			for i := range 3 {
				edit(&p.Machines[i].Spec.ProviderSpec, "tags", tagged(names...))
			}
		}
	}
	value := func(member string) string { return below + "spec.providerSpec.value." + member }
	same := func(zones ...string) []any { return domainsOf(zones...)["failureDomains.aws"].([]any) }
	for sentence, c := range map[string]struct {
		before []planting
		edit   map[string]any // what a person makes of the set, by path; nil removes
		then   []planting
		do     generator.Write
		want   map[string]any // what is stored in the end, by path
		reason controlplane.Reason
		words  string
	}{
		"nothing happens":                    {reason: "AsFound"},
		"a newer Machine is larger":          {then: []planting{larger}, do: "Follow", want: map[string]any{value("instanceType"): "m6i.2xlarge"}, reason: "AsFound"},
		"but a person has chosen the size":   {edit: map[string]any{value("instanceType"): "m7i.large"}, then: []planting{larger}, do: "Follow", want: map[string]any{value("instanceType"): "m7i.large"}, reason: "AsFound", words: "Somebody edited these fields, and Poundlock keeps the edits: instanceType m6i.2xlarge → m7i.large"},
		"and nothing else happens":           {edit: map[string]any{value("instanceType"): "m7i.large"}, reason: "AsFound", words: "instanceType m6i.large → m7i.large"},
		"a person has removed it":            {edit: map[string]any{value("instanceType"): nil}, then: []planting{larger}, do: "Follow", want: map[string]any{value("instanceType"): nil}, reason: "AsFound"},
		"a person has added what is nowhere": {edit: map[string]any{value("keyName"): "k"}, then: []planting{larger}, do: "Follow", want: map[string]any{value("keyName"): "k", value("instanceType"): "m6i.2xlarge"}, reason: "AsFound"},
		"another field of the same object":   {edit: map[string]any{value("placement.tenancy"): "dedicated"}, then: []planting{larger}, do: "Follow", want: map[string]any{value("placement"): map[string]any{"region": "us-east-1", "tenancy": "dedicated"}}, reason: "AsFound"},
		"a person wants OnDelete":            {edit: map[string]any{"spec.strategy.type": "OnDelete"}, then: []planting{larger}, do: "Follow", want: map[string]any{"spec.strategy.type": "OnDelete"}, reason: "AsFound"},
		"a person names Machines":            {edit: map[string]any{"spec.machineNamePrefix": "cp"}, then: []planting{larger}, do: "Follow", want: map[string]any{"spec.machineNamePrefix": "cp"}, reason: "AsFound"},
		"a person has edited a failure domain": {
			edit: map[string]any{below + "failureDomains.aws": append([]any{domainIn("d", "mine")}, same("a", "b", "c")...)},
			then: []planting{worker(func(s *machinev1beta1.MachineSet) {
				s.Spec.Template.Spec.ProviderSpec = of(inZone("AWS", awstest.Kit().ProviderSpec, 4))
			})}, do: "Follow",
			want: map[string]any{below + "failureDomains.aws": append([]any{domainIn("d", "mine")}, same("a", "b", "c", "e")...)}, reason: "AsFound",
		},
		"a person has removed a failure domain": {
			edit: map[string]any{below + "failureDomains.aws": same("c", "b", "a")}, then: []planting{larger}, do: "Follow",
			want: map[string]any{below + "failureDomains.aws": same("c", "b", "a")}, reason: "AsFound",
		},
		"a failure domain is no more": {
			then: []planting{worker(func(s *machinev1beta1.MachineSet) { s.Spec.Template.Spec.ProviderSpec.Value = nil })}, do: "Follow",
			want: map[string]any{below + "failureDomains.aws": same("a", "b", "c")}, reason: "AsFound",
		},
		"a person has added a tag": {
			before: []planting{tag("x", "y")}, edit: map[string]any{value("tags"): tagged("mine", "y", "x")}, then: []planting{tag("x", "z")}, do: "Follow",
			want: map[string]any{value("tags"): tagged("mine", "x", "z")}, reason: "AsFound",
		},
		"tags in another order":            {before: []planting{tag("x", "y")}, edit: map[string]any{value("tags"): tagged("y", "x")}, reason: "AsFound"},
		"an active set":                    {edit: map[string]any{"spec.state": "Active"}, then: []planting{larger}},
		"one that is being deleted":        {edit: map[string]any{"metadata.deletionTimestamp": "2026-11-22T00:00:00Z"}, then: []planting{larger}},
		"one that a person made":           {edit: map[string]any{"metadata.annotations": nil}, then: []planting{larger}},
		"one that a person made their own": {edit: map[string]any{"metadata.annotations": map[string]any{generator.GeneratedAnnotation: "mine"}}, then: []planting{larger}},
		"one for Cluster API":              {edit: map[string]any{"spec.template.machineType": "machines_v1beta2_cluster_x_k8s_io"}, then: []planting{larger}},
		"nothing runs any more":            {then: []planting{larger, onPlant(0, stopped), onPlant(1, stopped), onPlant(2, stopped)}, reason: generator.NoRunningMachine, want: map[string]any{value("instanceType"): "m6i.large"}},
		"the control plane has grown":      {then: []planting{also("m-3", 0), also("m-4", 1)}, do: "Remake", reason: "AsFound"},
		"it has, and somebody has edited":  {edit: map[string]any{value("instanceType"): "m7i.large"}, then: []planting{also("m-3", 0), also("m-4", 1)}, do: "Follow", reason: generator.CannotFollow, words: "kubectl -n openshift-machine-api delete", want: map[string]any{"spec.replicas": float64(3)}},
		"it is growing, or is being replaced": {then: []planting{also("m-3", 0)}, reason: generator.CannotFollow, words: "If somebody is only replacing a " +
			"Machine by hand"},
		"a Machine is gone": {then: []planting{uprooted("master-1")}, reason: "AsFound"},
		"edits that admission no longer takes": {edit: map[string]any{below + "failureDomains.aws": same("a", "b", "c")}, then: []planting{onPlant(2, func(m *machinev1beta1.Machine) {
			m.Spec.ProviderSpec = of(inZone("AWS", awstest.Kit().ProviderSpec, 3))
		})}, reason: generator.CannotFollow, words: "[controlplane/failure-domains] Somebody edited these fields, and Poundlock keeps the edits: " +
			"failureDomains.aws[us-east-1d]",
			want: map[string]any{below + "failureDomains.aws": same("a", "b", "c")}},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := planted(t, awstest.Kit(), awstest.Kit().ProviderSpec, 3)
			for _, do := range c.before {
				do(p)
			}
			stored := generator.Next(nil, p.World).Object
			for path, v := range c.edit {
				stored = merged(stored, nested(strings.Split(path, "."), v))
			}
			for _, do := range c.then {
				do(p)
			}
			u := generator.Next(stored, p.World)
			if u.Write != c.do || u.Condition.Reason != string(c.reason) || !strings.Contains(u.Condition.Message, c.words) {
				t.Errorf("does %q and says %s: %s; want %q, %s and %q", u.Write, u.Condition.Reason, u.Condition.Message, c.do, c.reason, c.words)
			}
			end := merged(stored, u.Patch)
			for path, want := range c.want {
				if d := cmp.Diff(want, at(end, path)); d != "" {
					t.Errorf("%s: %s", path, d)
				}
			}
			if u.Write == generator.PatchSet {
				if again := generator.Next(end, p.World); again.Write != "" {
					t.Errorf("it is never enough: %s", raw(t, again.Patch))
				}
			}
		})
	}
}

// Whatever the cluster turns into: what a person edited is what they made of it, and all else is as if it had been generated now.
func TestASetFollowsWhateverAProviderSpecHas(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	everyPlatform(t, func(t *testing.T, kit conversiontest.Kit) {
		t.Logf("seed %d", seed)
		r, followed := rand.New(rand.NewPCG(seed, 2)), 0
		for tries := 0; followed < stories.Times(1, 2) && tries < 60; tries++ {
			var base, then map[string]any
			into(t, kit.AnyProviderSpec(r), &base)
			into(t, kit.AnyProviderSpec(r), &then)
			stored := generator.Next(nil, planted(t, kit, base, 3).World).Object
			now := planted(t, kit, then, 3)
			fresh := generator.Next(nil, now.World).Object
			if stored == nil || fresh == nil {
				continue
			}
			edit := nested(strings.Split(below+"spec.providerSpec.value.userDataSecret.name", "."), "mine")
			stored, fresh = merged(stored, edit), merged(fresh, edit)
			u := generator.Next(stored, now.World)
			if u.Write == "" {
				continue
			}
			followed++
			end := merged(stored, u.Patch)
			if d := cmp.Diff(fresh, end); d != "" {
				t.Errorf("of %s\nand %s: %s", raw(t, base), raw(t, then), d)
			}
			if again := generator.Next(end, now.World); again.Write != "" ||
				!strings.Contains(again.Condition.Message, "userDataSecret.name master-user-data → mine") {
				t.Errorf("%q %s", again.Write, again.Condition.Message)
			}
		}
		if followed == 0 {
			t.Error("none followed")
		}
	})
}

func nested(way []string, v any) map[string]any {
	if len(way) == 1 {
		return map[string]any{way[0]: v}
	}
	return map[string]any{way[0]: nested(way[1:], v)}
}

// What is decided does not depend on the order in which the shell lists.
func TestAGeneratedSetDependsOnNoOrder(t *testing.T) {
	everyPlatform(t, func(t *testing.T, kit conversiontest.Kit) {
		p := planted(t, kit, kit.ProviderSpec, 3)
		one := generator.Next(nil, p.World)
		for i, j := 0, len(p.Machines)-1; i < j; i, j = i+1, j-1 {
			p.Machines[i], p.Machines[j] = p.Machines[j], p.Machines[i]
		}
		if d := cmp.Diff(one, generator.Next(nil, p.World)); d != "" {
			t.Error(d)
		}
		var again map[string]any
		if err := json.Unmarshal([]byte(fmt.Sprint(at(one.Object, "metadata.annotations").(map[string]any)[generator.GeneratedAnnotation])), &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(one.Object["spec"], any(again)); d != "" {
			t.Error(d)
		}
	})
}

func taints() []corev1.Taint { return []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}} }
