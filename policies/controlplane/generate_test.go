// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
	"github.com/poundlock/poundlock/test/stories"
)

// plant is a control plane on a platform, each Machine in a zone of its own where the platform has such, and a MachineSet in a fourth.
type plant struct {
	generator.World
	kit conversiontest.Kit
}

func planted(t testing.TB, kit conversiontest.Kit, base map[string]any, n int) *plant {
	t.Helper()
	p := &plant{kit: kit}
	p.Namespace, p.Infrastructure = "openshift-machine-api", &configv1.Infrastructure{}
	into(t, kit.Infrastructure, p.Infrastructure)
	described(p.Infrastructure)
	for i := range n {
		m := running(fmt.Sprintf("lock-7x2k9-master-%d", i), "a", i)
		m.Labels, m.OwnerReferences = controlPlaneLabels(), nil
		m.Labels["machine.openshift.io/cluster-api-cluster"] = "lock-7x2k9"
		// As on every cluster: etcd's operator has its hook on each of them.
		m.Spec.LifecycleHooks.PreDrain = []machinev1beta1.LifecycleHook{{Name: "EtcdQuorumOperator", Owner: "clusteroperator/etcd"}}
		m.Spec.ProviderSpec = of(inZone(kit.Platform.Name, base, i%3))
		p.Machines = append(p.Machines, m)
	}
	worker := running("lock-7x2k9-worker-x", "a", 900)
	worker.Labels = map[string]string{"machine.openshift.io/cluster-api-machine-role": "worker", "machine.openshift.io/cluster-api-machine-type": "worker"}
	p.Machines = append(p.Machines, worker)
	set := machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "lock-7x2k9-worker-d"}}
	set.Spec.Template.Spec.ProviderSpec = of(inZone(kit.Platform.Name, kit.ProviderSpec, 3))
	p.MachineSets = []machinev1beta1.MachineSet{set}
	return p
}

func into(t testing.TB, from, to any) {
	t.Helper()
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// described gives the Infrastructure four failure domains where a platform has them there.
func described(i *configv1.Infrastructure) {
	for z := range 4 {
		name := fmt.Sprintf("zone-%d", z)
		if v := i.Spec.PlatformSpec.VSphere; v != nil {
			if z == 0 {
				v.FailureDomains = nil
			}
			v.FailureDomains = append(v.FailureDomains, configv1.VSpherePlatformFailureDomainSpec{
				Name: name, Region: "r", Zone: name, Server: "vcenter.example.com",
				Topology: configv1.VSpherePlatformTopology{
					Datacenter: "dc1", ComputeCluster: "/dc1/host/" + name, Datastore: "/dc1/datastore/ds1", Networks: []string{"VM Network"}, Folder: "/dc1/vm/lock-7x2k9",
				},
			})
		}
		if n := i.Spec.PlatformSpec.Nutanix; n != nil {
			id := "0005b6f1-8f43-a0f2-02b7-3cecef19371" + fmt.Sprint(z)
			n.FailureDomains = append(n.FailureDomains, configv1.NutanixFailureDomain{
				Name: name, Cluster: configv1.NutanixResourceIdentifier{Type: configv1.NutanixIdentifierUUID, UUID: &id},
				Subnets: []configv1.NutanixResourceIdentifier{{Type: configv1.NutanixIdentifierUUID, UUID: &id}},
			})
		}
	}
}

// inZone is a providerSpec of a control plane in one of four zones.
func inZone(platform string, base map[string]any, z int) map[string]any {
	var s map[string]any
	raw, _ := json.Marshal(base)
	_ = json.Unmarshal(raw, &s)
	s["userDataSecret"] = map[string]any{"name": "master-user-data"}
	letter, name := string(rune('a'+z)), fmt.Sprintf("zone-%d", z)
	switch platform {
	case "AWS":
		s["placement"] = map[string]any{"region": "us-east-1", "availabilityZone": "us-east-1" + letter}
		s["subnet"] = map[string]any{"filters": []any{map[string]any{"name": "tag:Name", "values": []any{"subnet-" + letter}}}}
	case "Azure":
		s["zone"], s["internalLoadBalancer"], s["subnet"] = fmt.Sprint(z+1), "lock-7x2k9-internal", "lock-7x2k9-master-subnet"
	case "GCP":
		s["zone"] = "us-central1-" + letter
	case "OpenStack":
		s["availabilityZone"], s["rootVolume"] = "nova-"+letter, map[string]any{"availabilityZone": "cinder-" + letter, "volumeType": "fast", "diskSize": 100}
		delete(s, "additionalBlockDevices")
	case "VSphere":
		s["workspace"] = map[string]any{"server": "vcenter.example.com", "datacenter": "dc1", "datastore": "/dc1/datastore/ds1", "folder": "/dc1/vm/lock-7x2k9",
			"resourcePool": "/dc1/host/" + name + "/Resources"}
		s["template"] = "lock-7x2k9-rhcos-r-" + name
		s["network"] = map[string]any{"devices": []any{map[string]any{"networkName": "VM Network", "ipAddrs": []any{fmt.Sprintf("10.0.0.1%d/24", z)}}}}
	case "Nutanix":
		id := map[string]any{"type": "uuid", "uuid": "0005b6f1-8f43-a0f2-02b7-3cecef19371" + fmt.Sprint(z)}
		s["failureDomain"], s["cluster"], s["subnets"] = map[string]any{"name": name}, id, []any{id}
	}
	return s
}

// plan is what comes of a set in a plant, once it is active.
func (p *plant) plan(set *machinev1.ControlPlaneMachineSet) controlplane.Plan {
	set = set.DeepCopy()
	set.Spec.State = machinev1.ControlPlaneMachineSetStateActive
	v := controlplane.View{Set: set, MayRecreate: true, Infrastructure: p.Infrastructure, Now: noon}
	for _, m := range p.Machines {
		if controlplane.OfControlPlane(m.Labels) {
			v.Machines, v.Nodes = append(v.Machines, m), append(v.Nodes, node(m.Name))
		}
	}
	return controlplane.Make(v)
}

func (p *plant) generate(t testing.TB) *machinev1.ControlPlaneMachineSet {
	t.Helper()
	g, refusal := generator.Generate(p.World)
	if refusal != nil {
		t.Fatalf("refused: %s: %s", refusal.Reason, refusal.Message)
	}
	return g.Set
}

func everyPlatform(t *testing.T, test func(*testing.T, conversiontest.Kit)) {
	t.Helper()
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) { test(t, kit) })
	}
}

// Where the Machines agree, activating a generated set does nothing.
func TestAGeneratedSetFindsNothingToDo(t *testing.T) {
	everyPlatform(t, func(t *testing.T, kit conversiontest.Kit) {
		for _, n := range []int{3, 5} {
			p := planted(t, kit, kit.ProviderSpec, n)
			set := p.generate(t)
			plan := p.plan(set)
			if d := cmp.Diff([]string{fmt.Sprintf("this will do nothing: all %d control plane Machines match the template", n)}, plan.Forecast()); d != "" {
				t.Error(d)
			}
			if got := *set.Spec.Replicas; int(got) != n {
				t.Errorf("replicas %d, want %d", got, n)
			}
			want := []string{"0", "1", "2", "3"}
			if n == 5 {
				want = want[:3] // with a fourth, one of five would move
			}
			if kit.Platform.Name == "PowerVS" {
				want = nil
			}
			if got := zonesOf(set); !slices.Equal(got, want) {
				t.Errorf("zones %v, want %v", got, want)
			}
			t.Logf("%s", raw(t, set.Spec))
		}
	})
}

func raw(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// zonesOf are the numbers of the plant's zones in the order in which a set lists them.
func zonesOf(set *machinev1.ControlPlaneMachineSet) []string {
	f := set.Spec.Template.OpenShiftMachineV1Beta1Machine.FailureDomains
	if f == nil {
		return nil
	}
	var names, out []string
	if f.AWS != nil {
		for _, d := range *f.AWS {
			names = append(names, d.Placement.AvailabilityZone)
		}
	}
	if f.Azure != nil {
		for _, d := range *f.Azure {
			names = append(names, d.Zone)
		}
	}
	if f.GCP != nil {
		for _, d := range *f.GCP {
			names = append(names, d.Zone)
		}
	}
	for _, d := range f.OpenStack {
		names = append(names, d.AvailabilityZone)
	}
	for _, d := range f.VSphere {
		names = append(names, d.Name)
	}
	for _, d := range f.Nutanix {
		names = append(names, d.Name)
	}
	for _, n := range names {
		last := n[len(n)-1]
		switch {
		case last >= 'a':
			last -= 'a' - '0'
		case f.Azure != nil:
			last--
		}
		out = append(out, string(last))
	}
	return out
}

// Older Machines that differ are replaced, those alone, and because of nothing else.
func TestAGeneratedSetFindsWhichOlderMachinesDiffer(t *testing.T) {
	everyPlatform(t, func(t *testing.T, kit conversiontest.Kit) {
		for different := range 4 {
			p := planted(t, kit, kit.ProviderSpec, 3)
			var want []string
			for i := range 2 {
				if different&(1<<i) != 0 {
					edit(&p.Machines[i].Spec.ProviderSpec, "userDataSecret", map[string]any{"name": "old-user-data"})
					want = append(want, p.Machines[i].Name+" [userDataSecret.name old-user-data → master-user-data]")
				}
			}
			plan := p.plan(p.generate(t))
			var got []string
			for _, i := range plan.Outdated() {
				for _, m := range i.Machines {
					got = append(got, fmt.Sprintf("%s %v", m.Name, m.In(controlplane.Rollout)))
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		}
	})
}

// The same of whatever a providerSpec may say. What admission does not take in a control plane is refused with its words.
func TestAGeneratedSetFindsNothingToDoWhateverAProviderSpecHas(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	everyPlatform(t, func(t *testing.T, kit conversiontest.Kit) {
		t.Logf("seed %d", seed)
		r, made := rand.New(rand.NewPCG(seed, 1)), 0
		for tries := 0; made < stories.Times(1, 3) && tries < 60; tries++ {
			var base map[string]any
			into(t, kit.AnyProviderSpec(r), &base)
			p := planted(t, kit, base, 3)
			g, refusal := generator.Generate(p.World)
			if refusal != nil {
				if refusal.Reason != generator.NotAdmitted || !strings.Contains(refusal.Message, "[controlplane/") {
					t.Fatalf("refused: %+v", refusal)
				}
				continue
			}
			made++
			plan := p.plan(g.Set)
			if f := plan.Forecast(); !strings.HasPrefix(f[0], "this will do nothing: ") {
				t.Fatalf("%q\nof %s\nfrom %s", f, raw(t, g.Set.Spec), raw(t, base))
			}
			if c := asked(t, nil, &controlplane.View{Set: g.Set, Machines: p.Machines, Infrastructure: p.Infrastructure,
				Now: noon}); !admission.Rules().Judge(c).Allowed() {
				t.Errorf("refused: %v", said(admission.Rules(), c))
			}
			u := generator.Next(nil, p.World)
			if again := generator.Next(u.Object, p.World); again.Write != "" || again.Condition.Status != metav1.ConditionTrue ||
				strings.Contains(again.Condition.Message, "edited") {
				t.Errorf("what was just generated is followed by %+v", again)
			}
		}
		if made < stories.Times(1, 3) {
			t.Errorf("only %d could be generated", made)
		}
	})
}
