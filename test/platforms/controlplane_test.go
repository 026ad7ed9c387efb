// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/testcluster"
)

var controlPlane = flag.Int("control-plane", 0, "play the story of a control plane of 3 or 5 Machines; 0 for not at all")

// TestAControlPlaneRolls: on each platform a set is generated, made Active, replaces the whole control plane with larger machines, and does so again once
// Cluster API is authoritative.
func TestAControlPlaneRolls(t *testing.T) {
	if *controlPlane == 0 {
		t.Run("skipped, it takes minutes: make proof WHAT=platforms CONTROL_PLANE=3 plays it", func(t *testing.T) { t.SkipNow() })
		return
	}
	for _, name := range chosen() {
		t.Run(name, func(t *testing.T) {
			stage, err := testcluster.Set(t.Context(), testcluster.Options{Platform: name, ControlPlane: *controlPlane, Out: os.Stderr})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := stage.Strike(); err != nil {
					t.Error(err)
				}
			})
			play{stage, name}.rolls(t, sizes()[strings.ToLower(name)])
			if err := stage.Cloud.Audit(); err != nil {
				t.Error(err)
			}
		})
	}
}

// sizes are merge patches of a providerSpec that ask for a larger machine, and for one larger still.
func sizes() map[string][2]string {
	return map[string][2]string{
		"aws":       {`{"instanceType":"m6i.2xlarge"}`, `{"instanceType":"m6i.4xlarge"}`},
		"azure":     {`{"vmSize":"Standard_D8s_v3"}`, `{"vmSize":"Standard_D16s_v3"}`},
		"gcp":       {`{"machineType":"n2-standard-8"}`, `{"machineType":"n2-standard-16"}`},
		"openstack": {`{"flavor":"m1.2xlarge"}`, `{"flavor":"m1.4xlarge"}`},
		"vsphere":   {`{"memoryMiB":32768}`, `{"memoryMiB":65536}`},
		"powervs":   {`{"memoryGiB":64}`, `{"memoryGiB":128}`},
		"nutanix":   {`{"memorySize":"32Gi"}`, `{"memorySize":"64Gi"}`},
	}
}

func (p play) rolls(t *testing.T, sizes [2]string) {
	set := named("machine.openshift.io/v1", "ControlPlaneMachineSet", p.Pairs[0].MachineAPI, "cluster")
	t.Cleanup(func() {
		if t.Failed() {
			p.tells(set)
		}
	})
	p.eventually(t, "the set is generated, Inactive", func() string { return p.read(t, set, "spec", "state") }, "Inactive")
	before := p.masters(t)
	p.patch(t, set, `{"spec":{"state":"Active"}}`)
	p.updated(t, set)
	if now := p.masters(t); !slices.Equal(now, before) {
		t.Errorf("activation made %q of %q", now, before)
	}
	zones := p.zones()
	p.resize(t, set, sizes[0])
	p.replaced(t, set, before, "MachineAPI")
	p.same(t)

	before = p.masters(t)
	p.request(t, set, "ClusterAPI")
	p.eventually(t, "Cluster API is authoritative", func() string { return p.read(t, set, "status", "authoritativeAPI") }, "ClusterAPI")
	p.resize(t, set, sizes[1])
	p.replaced(t, set, before, "ClusterAPI")
	p.same(t)

	if now := p.zones(); !slices.Equal(now, zones) {
		t.Errorf("the instances are in %q, and were in %q", now, zones)
	}
	p.voted(t)
}

// tells returns the set's own report: what it waits for, and why.
func (p play) tells(set *unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // the test's own has ended
	defer cancel()
	now := set.DeepCopy()
	if err := p.Admin.Get(ctx, client.ObjectKeyFromObject(set), now); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
	for _, c := range conditions {
		fmt.Fprintf(os.Stderr, "the set says %v\n", c)
	}
}

func (p play) resize(t *testing.T, set *unstructured.Unstructured, spec string) {
	t.Helper()
	p.patch(t, set, fmt.Sprintf(`{"spec":{"template":{"machines_v1beta1_machine_openshift_io":{"spec":{"providerSpec":{"value":%s}}}}}}`, spec))
}

// replaced waits until each Machine has gone, one after the other, and checks who asked for the new instances.
func (p play) replaced(t *testing.T, set *unstructured.Unstructured, before []string, by string) {
	t.Helper()
	for n := range before {
		p.eventually(t, fmt.Sprintf("%d of %q are replaced", n+1, before), func() string {
			left := slices.DeleteFunc(p.masters(t), func(name string) bool { return !slices.Contains(before, name) })
			return fmt.Sprint(len(left) < len(before)-n)
		}, "true")
	}
	p.updated(t, set)
	now := p.masters(t)
	for _, i := range p.instances() {
		if slices.Contains(now, i.Machine.Name) && string(i.CreatedBy) != by {
			t.Errorf("the instance of %s was made by %s, want %s", i.Machine.Name, i.CreatedBy, by)
		}
	}
}

func (p play) updated(t *testing.T, set *unstructured.Unstructured) {
	t.Helper()
	p.eventually(t, "all Machines are updated", func() string {
		now := p.get(t, set)
		seen, _, _ := unstructured.NestedInt64(now.Object, "status", "observedGeneration")
		var out []string
		for _, field := range []string{"replicas", "readyReplicas", "updatedReplicas"} {
			n, _, _ := unstructured.NestedInt64(now.Object, "status", field)
			out = append(out, fmt.Sprint(n))
		}
		return fmt.Sprint(strings.Join(out, " "), " ", seen == now.GetGeneration())
	}, fmt.Sprintf("%[1]d %[1]d %[1]d true", *controlPlane))
}

// masters are the names of the control plane's Machines.
func (p play) masters(t *testing.T) []string {
	t.Helper()
	var out []string
	all := p.list(t, p.machineAPI("MachineList", ""))
	for _, m := range all {
		if m.GetLabels()["machine.openshift.io/cluster-api-machine-role"] == "master" {
			out = append(out, m.GetName())
		}
	}
	slices.Sort(out)
	return out
}

// instances are those of the control plane that run.
func (p play) instances() []machinetest.Instance {
	return slices.DeleteFunc(p.Cloud.Instances(), func(i machinetest.Instance) bool {
		return i.State != machinetest.Running || !strings.Contains(i.Machine.Name, "master-")
	})
}

// zones are where each index has its instance.
func (p play) zones() []string {
	var out []string
	for _, i := range p.instances() {
		out = append(out, i.Machine.Name[strings.LastIndex(i.Machine.Name, "-")+1:]+" "+i.Zone)
	}
	slices.Sort(out)
	return out
}

// voted checks that etcd never lost a member before it had another.
func (p play) voted(t *testing.T) {
	t.Helper()
	etcd, err := p.Etcd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if fewest, _ := etcd.Fewest(*controlPlane); fewest != *controlPlane || len(etcd.History) != 5*(*controlPlane) {
		t.Errorf("etcd had only %d members, or not each Machine came and went once: %v", fewest, etcd.History)
	}
}

func (p play) read(t *testing.T, o *unstructured.Unstructured, path ...string) string {
	t.Helper()
	found := o.DeepCopy()
	if err := p.Admin.Get(t.Context(), client.ObjectKeyFromObject(o), found); err != nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(found.Object, path...)
	return text
}
