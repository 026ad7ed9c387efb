// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetemplate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

var pair = authority.Pair{MachineAPI: "openshift-machine-api", ClusterAPI: "openshift-cluster-api"}

// world gets from a list.
func world(all ...*unstructured.Unstructured) environment.Get {
	return func(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
		for _, o := range all {
			if o.GroupVersionKind() == kind && o.GetNamespace() == namespace && o.GetName() == name {
				return o, nil
			}
		}
		return nil, nil
	}
}

func object(kind schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: maps.Clone(content)}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func cluster(kit conversiontest.Kit) []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		object(configv1.GroupVersion.WithKind("Infrastructure"), "", "cluster", kit.Infrastructure),
		object(kit.Platform.InfraCluster.GroupVersionKind, pair.ClusterAPI, "lock-7x2k9", map[string]any{"spec": kit.InfraCluster}),
	}
}

// master is a kit's providerSpec with what makes it one of the control plane, and without what failure domains say; domains are those, nil
// where the platform has none.
func master(kit conversiontest.Kit) (spec, domains map[string]any) {
	spec = (&unstructured.Unstructured{Object: kit.ProviderSpec}).DeepCopy().Object
	spec["userDataSecret"] = map[string]any{"name": "master-user-data"}
	one := map[string]any{}
	switch kit.Platform.Name {
	case "AWS":
		unstructured.RemoveNestedField(spec, "placement", "availabilityZone")
		spec["loadBalancers"] = []any{map[string]any{"name": "lock-7x2k9-int", "type": "network"}, map[string]any{"name": "lock-7x2k9-ext", "type": "network"}}
		one["placement"] = map[string]any{"availabilityZone": "us-east-1a"}
		one["subnet"] = map[string]any{"type": "ID", "id": "subnet-1"}
	case "Azure":
		delete(spec, "zone")
		spec["internalLoadBalancer"], spec["subnet"] = "lock-7x2k9-internal", "lock-7x2k9-master-subnet"
		one["zone"] = "2"
	case "GCP":
		one["zone"] = spec["zone"]
		delete(spec, "zone")
	case "OpenStack":
		one["availabilityZone"] = "nova"
		delete(spec, "availabilityZone")
	case "VSphere":
		if !described(kit) {
			break
		}
		spec["workspace"], spec["template"], spec["network"] = map[string]any{}, "", map[string]any{"devices": []any{}}
		one["name"] = "fd1"
	case "Nutanix":
		if !described(kit) {
			break
		}
		spec["cluster"], spec["subnets"], spec["failureDomain"] = map[string]any{"type": ""}, []any{}, nil
		one["name"] = "fd1"
	case "PowerVS":
		spec["loadBalancers"] = []any{map[string]any{"name": "lock-7x2k9-loadbalancer", "type": "Application"},
			map[string]any{"name": "lock-7x2k9-loadbalancer-int", "type": "Application"}}
	}
	if len(one) == 0 {
		return spec, nil
	}
	return spec, map[string]any{"platform": kit.Platform.Name, strings.ToLower(kit.Platform.Name): []any{one}}
}

func labels() map[string]any {
	return map[string]any{
		"machine.openshift.io/cluster-api-cluster": "lock-7x2k9", "machine.openshift.io/cluster-api-machine-role": "master", "machine.openshift.io/cluster-api-machine-type": "master",
	}
}

func set(t *testing.T, template map[string]any) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": "cluster"},
		"spec":     map[string]any{"replicas": 3, "state": "Active", "selector": map[string]any{"matchLabels": labels()}, "template": template},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func machineAPI(t *testing.T, providerSpec, domains map[string]any) []byte {
	return set(t, map[string]any{"machineType": "machines_v1beta1_machine_openshift_io", "machines_v1beta1_machine_openshift_io": map[string]any{
		"metadata": map[string]any{"labels": labels()}, "failureDomains": domains, "spec": map[string]any{"providerSpec": map[string]any{"value": providerSpec}},
	}})
}

func clusterAPI(t *testing.T, kind schema.GroupVersionKind, name string, domains map[string]any) []byte {
	return set(t, map[string]any{"machineType": "machines_v1beta2_cluster_x_k8s_io", "machines_v1beta2_cluster_x_k8s_io": map[string]any{
		"metadata": map[string]any{"labels": labels()}, "failureDomains": domains, "spec": map[string]any{
			"infrastructureRef": map[string]any{"apiGroup": kind.Group, "kind": kind.Kind, "name": name},
			"bootstrap":         map[string]any{"dataSecretName": "master-user-data"},
		},
	}})
}

func read(t *testing.T, raw []byte) *machinev1.ControlPlaneMachineSet {
	t.Helper()
	out := &machinev1.ControlPlaneMachineSet{}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// described reports whether the Infrastructure of a kit describes the failure domain fd1.
func described(kit conversiontest.Kit) bool {
	domains, _, _ := unstructured.NestedSlice(kit.Infrastructure, "spec", "platformSpec", strings.ToLower(kit.Platform.Name), "failureDomains")
	return slices.ContainsFunc(domains, func(d any) bool { return d.(map[string]any)["name"] == "fd1" })
}

// inDomain is a kit whose Infrastructure describes the failure domain fd1.
func inDomain(kit conversiontest.Kit) (zoned conversiontest.Kit, ok bool) {
	set := func(o map[string]any, value []any, path ...string) map[string]any {
		out := &unstructured.Unstructured{Object: o}
		out = out.DeepCopy()
		_ = unstructured.SetNestedSlice(out.Object, value, path...) // a kit's maps are maps
		return out.Object
	}
	switch kit.Platform.Name {
	case "VSphere":
		kit.Infrastructure = set(kit.Infrastructure,
			[]any{map[string]any{"name": "fd1", "region": "r", "zone": "z", "server": "vcenter.example.com", "topology": map[string]any{
				"computeCluster": "/dc1/host/cluster1", "datacenter": "dc1", "datastore": "/dc1/datastore/ds1", "networks": []any{"/dc1/network/VM Network"}, "template": "/dc1/vm/images/rhcos",
			}}}, "spec", "platformSpec", "vsphere", "failureDomains")
	case "Nutanix":
		kit.Infrastructure = set(kit.Infrastructure,
			[]any{map[string]any{"name": "fd1", "cluster": map[string]any{"type": "UUID", "uuid": "0005a0f3-8f43-a0f2-02b7-3cecef193712"},
				"subnets": []any{map[string]any{"type": "Name", "name": "one"}}}}, "spec", "platformSpec", "nutanix", "failureDomains")
		kit.InfraCluster = set(kit.InfraCluster,
			[]any{map[string]any{"name": "fd1", "controlPlane": true, "cluster": map[string]any{"type": "uuid", "uuid": "0005a0f3-8f43-a0f2-02b7-3cecef193712"},
				"subnets": []any{map[string]any{"type": "name", "name": "one"}}}}, "failureDomains")
	default:
		return kit, false
	}
	return kit, true
}

// kits are the platforms, those with tags that Machine API's controllers give to every machine of a cluster, and those whose Infrastructure
// describes failure domains.
func kits() map[string]conversiontest.Kit {
	list := func(entry map[string]any) []any { return []any{entry} }
	of := map[string]map[string]any{
		"AWS":   {"resourceTags": list(map[string]any{"key": "cost", "value": "42"})},
		"Azure": {"resourceTags": []any{map[string]any{"key": "cost", "value": "42"}, map[string]any{"key": "team", "value": "locks"}}}, // as the kit's AzureCluster
		"GCP": {"resourceLabels": list(map[string]any{"key": "cost", "value": "42"}),
			"resourceTags": list(map[string]any{"parentID": "openshift", "key": "cost", "value": "42"})},
	}
	out := map[string]conversiontest.Kit{}
	for _, kit := range platformstest.Kits() {
		name := kit.Platform.Name
		if tags := of[name]; tags != nil {
			tagged := kit
			tagged.Infrastructure = (&unstructured.Unstructured{Object: kit.Infrastructure}).DeepCopy().Object
			status := tagged.Infrastructure["status"].(map[string]any)["platformStatus"].(map[string]any)[strings.ToLower(name)].(map[string]any)
			maps.Copy(status, tags)
			out[name+", with tags"] = tagged
		}
		if zoned, ok := inDomain(kit); ok {
			out[name+", in a failure domain"] = zoned
		}
		out[name] = kit
	}
	return out
}

// A set that goes over to the template that was reflected from it asks for the very same Machines, on every platform.
func TestWhatIsReflectedResolvesToTheSame(t *testing.T) {
	for name, kit := range kits() {
		t.Run(name, func(t *testing.T) {
			env := kit.Env()
			spec, domains := master(kit)
			want := read(t, machineAPI(t, spec, domains))
			template, errs := Reflect(want, env)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if !strings.HasPrefix(template.GetName(), "cluster-") {
				t.Errorf("the template is called %s", template.GetName())
			}
			kind := kit.Platform.InfraMachineTemplate.GroupVersionKind
			got, err := Resolve(world(append(cluster(kit), template)...), nil, pair, clusterAPI(t, kind, template.GetName(), domains))
			if err != nil || len(got.Unresolved) > 0 {
				t.Fatal(got.Unresolved, err)
			}
			if got.Set.Spec.Template.MachineType != controlplane.MachineAPIMember {
				t.Errorf("the machine type is %s", got.Set.Spec.Template.MachineType)
			}
			plan := controlplane.Make(controlplane.View{
				Set: got.Set, Unresolved: got.Unresolved, Infrastructure: infrastructure(t, kit), Machines: []machinev1beta1.Machine{made(t, want, kit)},
			})
			if m := plan.Indexes[0].Machines[0]; len(m.Differences) > 0 {
				t.Errorf("the Machine of the one differs from what the other makes: %v", m.Differences)
			}
		})
	}
}

// A Machine that has been moved to Cluster API is mirrored back in the words of the conversion. That must not replace it.
func TestAMovedMachineIsAsItsSetHasIt(t *testing.T) {
	for name, kit := range kits() {
		t.Run(name, func(t *testing.T) {
			spec, domains := master(kit)
			of := read(t, machineAPI(t, spec, domains))
			plan := controlplane.Make(controlplane.View{Set: of, Infrastructure: infrastructure(t, kit),
				Machines: []machinev1beta1.Machine{mirrored(t, made(t, of, kit), kit)}})
			if m := plan.Indexes[0].Machines[0]; !m.Updated() {
				t.Errorf("the Machine would be replaced: %v", m.Differences)
			}
		})
	}
}

// mirrored is a Machine as the mirror writes it while Cluster API is authoritative.
func mirrored(t *testing.T, m machinev1beta1.Machine, kit conversiontest.Kit) machinev1beta1.Machine {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&m)
	if err != nil {
		t.Fatal(err)
	}
	twin, errs := core.ToClusterAPI("Machine", &unstructured.Unstructured{Object: content}, kit.Env())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	back, errs := core.ToMachineAPI("Machine", twin, kit.Env())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	out := machinev1beta1.Machine{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(back.Object, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func infrastructure(t *testing.T, kit conversiontest.Kit) *configv1.Infrastructure {
	t.Helper()
	out := &configv1.Infrastructure{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(kit.Infrastructure, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// made is a Machine that a set made.
func made(t *testing.T, set *machinev1.ControlPlaneMachineSet, kit conversiontest.Kit) machinev1beta1.Machine {
	t.Helper()
	where, errs := controlplane.Places(set, infrastructure(t, kit))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	raw, err := json.Marshal(where[0].ProviderSpec)
	if err != nil {
		t.Fatal(err)
	}
	m := machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "lock-7x2k9-master-0",
		Labels: set.Spec.Template.OpenShiftMachineV1Beta1Machine.ObjectMeta.Labels}}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: raw}
	return m
}

// The template for Cluster API names no zone, so a set whose zone stands in its providerSpec has to list it, and reads where.
func TestASetForClusterAPIListsItsOnlyZone(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		name := kit.Platform.Name
		if name != "GCP" && name != "Azure" { // the others convert what is in no zone
			continue
		}
		t.Run(name, func(t *testing.T) {
			spec, domains := master(kit)
			template, errs := Reflect(read(t, machineAPI(t, spec, domains)), kit.Env())
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			got, err := Resolve(world(append(cluster(kit), template)...), nil, pair,
				clusterAPI(t, kit.Platform.InfraMachineTemplate.GroupVersionKind, template.GetName(), nil))
			if err != nil || len(got.Unresolved) == 0 {
				t.Fatal(got.Unresolved, err)
			}
			for _, e := range got.Unresolved {
				if e.Field != "spec.template.machines_v1beta2_cluster_x_k8s_io.failureDomains" || !strings.Contains(e.Detail, `{"platform":"`+name+`","`+strings.ToLower(name)+`":[{"zone":"ZONE"}]}`) {
					t.Error(e)
				}
			}
		})
	}
}

// What a failure domain would set is not missed in the template where the Infrastructure does not have that failure domain.
func TestAFailureDomainThatTheInfrastructureDoesNotHave(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		if !described(kit) {
			continue
		}
		spec, domains := master(kit)
		for _, v := range domains {
			if list, ok := v.([]any); ok && len(list) > 0 {
				list[0] = map[string]any{"name": "absent"}
			}
		}
		for _, member := range []string{"workspace", "template"} {
			delete(spec, member)
		}
		template, errs := Reflect(read(t, machineAPI(t, spec, domains)), kit.Env())
		if template != nil || len(errs) != 1 || !strings.Contains(errs[0].Detail, "no such failure domain") {
			t.Errorf("%s: %v", kit.Platform.Name, errs)
		}
	}
}

// Where the infrastructure cluster object has no account of the cloud, as OpenShift's operator writes Azure's, it is read from elsewhere.
func TestTheAccountIsReadFromElsewhere(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		if kit.Platform.Name != "Azure" {
			continue
		}
		own, _, _ := unstructured.NestedString(kit.InfraCluster, "subscriptionID")
		kit.InfraCluster = (&unstructured.Unstructured{Object: kit.InfraCluster}).DeepCopy().Object
		delete(kit.InfraCluster, "subscriptionID")
		env := kit.Env()
		env.Account = own
		spec, domains := master(kit)
		template, errs := Reflect(read(t, machineAPI(t, spec, domains)), env)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		account := func(conversion.Platform, map[string]any) (string, error) { return own, nil }
		set := clusterAPI(t, kit.Platform.InfraMachineTemplate.GroupVersionKind, template.GetName(), domains)
		if got, err := Resolve(world(append(cluster(kit), template)...), account, pair, set); err != nil || len(got.Unresolved) > 0 {
			t.Error(got.Unresolved, err)
		}
		if got, err := Resolve(world(append(cluster(kit), template)...), nil, pair, set); err != nil || len(got.Unresolved) == 0 {
			t.Error("without it nothing is missing", err)
		}
	}
}

// A set for Cluster API is resolved with each of its failure domains: without a subnet in one of them a Machine there gets no instance, unless the template or
// the AWSCluster names one.
func TestAPlaceWithoutASubnet(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		if kit.Platform.Name != "AWS" {
			continue
		}
		spec, domains := master(kit)
		delete(spec, "subnet")
		template, errs := Reflect(read(t, machineAPI(t, spec, domains)), kit.Env())
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		kind := kit.Platform.InfraMachineTemplate.GroupVersionKind
		zone := map[string]any{"placement": map[string]any{"availabilityZone": "us-east-1b"}}
		domains["aws"] = append(domains["aws"].([]any), zone)
		without := read(t, machineAPI(t, spec, domains))
		set := clusterAPI(t, kind, template.GetName(), domains)
		resolve := func() field.ErrorList {
			t.Helper()
			got, err := Resolve(world(append(cluster(kit), template)...), nil, pair, set)
			if err != nil {
				t.Fatal(err)
			}
			return got.Unresolved
		}
		errs = resolve()
		if len(errs) != 1 || errs[0].Field != "spec.template.machines_v1beta2_cluster_x_k8s_io.spec.infrastructureRef" ||
			!strings.HasPrefix(errs[0].Detail, "subnet: Cluster API would create no instance") || !strings.Contains(errs[0].Detail, "us-east-1b") {
			t.Errorf("without a subnet: %v", errs)
		}
		if _, errs := Reflect(without, kit.Env()); len(errs) != 1 ||
			errs[0].Field != "spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value.subnet" {
			t.Errorf("without a subnet in the other member: %v", errs)
		}
		kit.InfraCluster = (&unstructured.Unstructured{Object: kit.InfraCluster}).DeepCopy().Object
		_ = unstructured.SetNestedSlice(kit.InfraCluster, []any{map[string]any{"id": "subnet-2", "availabilityZone": "us-east-1b"}}, "network", "subnets")
		if errs := resolve(); len(errs) > 0 {
			t.Errorf("the AWSCluster lists one: %v", errs)
		}
	}
}
