// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
	"github.com/poundlock/poundlock/policies/policiestest"
)

const (
	inTemplate = "spec.template.machines_v1beta1_machine_openshift_io."
	inProvider = inTemplate + "spec.providerSpec.value."
	inDomains  = inTemplate + "failureDomains"
)

// controlPlaneLabels are what every Machine of a control plane has.
func controlPlaneLabels() map[string]string {
	return map[string]string{
		"machine.openshift.io/cluster-api-cluster": "c", "machine.openshift.io/cluster-api-machine-role": "master", "machine.openshift.io/cluster-api-machine-type": "master",
	}
}

// reviewed is world with the labels that a cluster has, and nothing that anybody warns of.
func reviewed() *controlplane.View {
	v := world()
	v.Infrastructure.Status.ControlPlaneTopology = configv1.HighlyAvailableTopologyMode
	v.Set.Spec.Selector = metav1.LabelSelector{MatchLabels: map[string]string{
		"machine.openshift.io/cluster-api-machine-role": "master", "machine.openshift.io/cluster-api-machine-type": "master",
	}}
	template(v).ObjectMeta.Labels = controlPlaneLabels()
	for i := range v.Machines {
		v.Machines[i].Labels = controlPlaneLabels()
	}
	common(v, "ami", map[string]any{"id": "ami-1"})
	common(v, "userDataSecret", map[string]any{"name": "master-user-data"})
	common(v, "loadBalancers", []any{map[string]any{"name": "int", "type": "network"}})
	return v
}

// common sets a member of the providerSpec in the set and in every Machine.
func common(v *controlplane.View, key string, value any) {
	want(key, value)(v)
	for i := range v.Machines {
		edit(&v.Machines[i].Spec.ProviderSpec, key, value)
	}
}

// on another platform than AWS, with the providerSpec of all as given and, in each Machine, with what its own adds.
func platformed(name configv1.PlatformType, all map[string]any, domains *machinev1.FailureDomains, each ...map[string]any) change {
	return func(v *controlplane.View) {
		all := maps.Clone(all)
		all["userDataSecret"] = map[string]any{"name": "master-user-data"}
		v.Infrastructure.Status.PlatformStatus.Type = name
		template(v).Spec.ProviderSpec = of(maps.Clone(all))
		if template(v).FailureDomains = domains; domains != nil {
			domains.Platform = name
		}
		for i := range v.Machines {
			s := maps.Clone(all)
			if i < len(each) {
				maps.Copy(s, each[i])
			}
			v.Machines[i].Spec.ProviderSpec = of(s)
		}
	}
}

func object(t testing.TB, set *machinev1.ControlPlaneMachineSet) *policies.Object {
	t.Helper()
	raw, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	o, err := policies.ParseObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// asked is a request about the set of a view: stored is what it was, nil for CREATE.
func asked(t testing.TB, stored *machinev1.ControlPlaneMachineSet, v *controlplane.View) policies.Change {
	t.Helper()
	c := policies.Change{
		Subject: policies.Subject{
			Side: policies.SideMachineAPI, Kind: controlplane.Kind, Namespace: "m", Name: v.Set.Name,
			Resource: schema.GroupResource{Group: "machine.openshift.io", Resource: controlplane.Resource},
		},
		Operation: admissionv1.Create, New: object(t, v.Set),
		Facts: policies.Facts{ControlPlane: &policies.ControlPlane{Machines: v.Machines, Nodes: v.Nodes, Infrastructure: v.Infrastructure, Now: v.Now,
			MayRecreate: v.MayRecreate}},
	}
	if stored != nil {
		c.Operation, c.Old = admissionv1.Update, object(t, stored)
	}
	return c
}

// said is what the rules say, but for the forecast: "denied <field>" and "warned [<words>]" by rule.
func said(rules policies.Set, c policies.Change) map[string][]string {
	out := map[string][]string{}
	for _, f := range rules.Judge(c) {
		for _, e := range f.Denials {
			out[f.Rule] = append(out[f.Rule], "denied "+e.Field)
		}
		for _, w := range f.Warnings {
			if f.Rule != "controlplane/forecast" {
				out[f.Rule] = append(out[f.Rule], "warned "+w)
			}
		}
	}
	return out
}

// row is a case: what the cluster is, what was stored, what is asked for, and what the rules say.
type row struct {
	// in is done to the cluster, the set included, stored to the stored set and what is asked alike, do to what is asked alone.
	in, stored, do []change
	create         bool
	want           map[string][]string
}

func (r row) change(t testing.TB) policies.Change {
	v := reviewed()
	for _, do := range slices.Concat(r.in, r.stored) {
		do(v)
	}
	var stored *machinev1.ControlPlaneMachineSet
	if !r.create {
		stored = v.Set.DeepCopy()
	}
	for _, do := range r.do {
		do(v)
	}
	return asked(t, stored, v)
}

func one(rule string, value ...string) map[string][]string {
	return map[string][]string{"controlplane/" + rule: value}
}

// joined adds a Machine of the control plane that runs.
func joined(name, zone string) change {
	return func(v *controlplane.View) {
		with(name, zone, false)(v)
		v.Machines[len(v.Machines)-1].Labels = controlPlaneLabels()
	}
}

func inactive(v *controlplane.View) { v.Set.Spec.State = machinev1.ControlPlaneMachineSetStateInactive }
func activate(v *controlplane.View) { v.Set.Spec.State = machinev1.ControlPlaneMachineSetStateActive }

func domains(names ...string) change {
	return func(v *controlplane.View) { template(v).FailureDomains.AWS = zones(names...) }
}

func prefix(s string) change { return func(v *controlplane.View) { v.Set.Spec.MachineNamePrefix = s } }

func replicas(n int32) change { return func(v *controlplane.View) { v.Set.Spec.Replicas = &n } }

func noRecreate(v *controlplane.View) { v.MayRecreate = false }

func noDomains(v *controlplane.View) { template(v).FailureDomains = nil }

func changes(all ...change) []change { return all }

func azureSpec() map[string]any {
	return map[string]any{"kind": "AzureMachineProviderSpec", "subnet": "s", "internalLoadBalancer": "ilb", "zone": "1"}
}

func gcpSpec() map[string]any {
	return map[string]any{"kind": "GCPMachineProviderSpec", "region": "eu-1", "zone": "eu-1-a", "targetPools": []any{"p"}}
}

func inRegion(v *controlplane.View) {
	v.Infrastructure.Status.PlatformStatus.GCP = &configv1.GCPPlatformStatus{Region: "eu-1", ProjectID: "p"}
	v.Infrastructure.Status.PlatformStatus.AWS = &configv1.AWSPlatformStatus{Region: "eu-west-1"}
}

func devices(all ...map[string]any) map[string]any {
	list := []any{}
	for _, d := range all {
		list = append(list, d)
	}
	return map[string]any{"kind": "OpenstackProviderSpec", "additionalBlockDevices": list}
}

func vSphereSpec() map[string]any {
	return map[string]any{
		"kind": "VSphereMachineProviderSpec", "template": "rhcos", "network": map[string]any{"devices": []any{map[string]any{"networkName": "n"}}},
		"workspace": map[string]any{"server": "vc", "datacenter": "dc", "folder": "/dc/vm/c"},
	}
}

func vCenter(v *controlplane.View) {
	v.Infrastructure.Spec.PlatformSpec.VSphere = &configv1.VSpherePlatformSpec{
		VCenters: []configv1.VSpherePlatformVCenterSpec{{Server: "vc", Datacenters: []string{"dc"}}},
		FailureDomains: []configv1.VSpherePlatformFailureDomainSpec{{Name: "east", Region: "r", Zone: "z", Server: "vc", Topology: configv1.VSpherePlatformTopology{
			Datacenter: "dc", ComputeCluster: "/dc/host/x", Datastore: "/dc/datastore/d", Networks: []string{"n"}, Folder: "/dc/vm/c",
		}}},
	}
}

// inEast is what the failure domain east makes of the providerSpec.
func inEast() map[string]any {
	return map[string]any{"workspace": map[string]any{"server": "vc", "datacenter": "dc", "folder": "/dc/vm/c", "datastore": "/dc/datastore/d",
		"resourcePool": "/dc/host/x/Resources"}}
}

func id(kind, value string) map[string]any { return map[string]any{"type": kind, kind: value} }

func nutanixSpec() map[string]any {
	return map[string]any{"kind": "NutanixMachineProviderConfig", "cluster": id("name", "pe"), "image": id("uuid", "1"), "subnets": []any{id("uuid", "2")}}
}

func with1(spec map[string]any, key string, value any) map[string]any {
	if spec[key] = value; value == nil {
		delete(spec, key)
	}
	return spec
}

func TestRules(t *testing.T) {
	long := strings.Repeat("a", 57)
	stale := changes(want("warpFactor", 9), want("loadBalancers", nil), domains("a", "b", "d"), prefix("x"))
	for text, r := range map[string]row{
		"a set that is as it should be": {create: true},
		"and one that is changed":       {do: changes(larger)},
		"another name": {create: true, do: changes(func(v *controlplane.View) { v.Set.Name = "mine" }), want: one("name", "denied "+
			"metadata.name")},
		"Recreate, where it is not allowed": {create: true, in: changes(noRecreate), do: changes(strategy("Recreate")), want: one("recreate", "denied "+
			"spec.strategy.type")},
		"and was there before":            {in: changes(noRecreate), stored: changes(strategy("Recreate")), do: changes(strategy("Recreate"), larger)},
		"RollingUpdate is always allowed": {create: true, in: changes(noRecreate), do: changes(strategy("RollingUpdate"))},
		"Recreate, where it is allowed": {do: changes(strategy("Recreate")), want: one("recreate", "warned with the strategy Recreate each Machine is deleted "+
			"before its replacement is created. Until the replacement has joined, etcd has 2 of 3 members and tolerates the failure of 0 more. etcd's hook holds "+
			"each deleted Machine until a person removes the hook. Remove it only when all other etcd members are healthy")},
		"a failure domain twice":              {create: true, do: changes(domains("a", "b", "c", "a")), want: one("duplicate-domains", "denied "+inDomains+".aws[3]")},
		"and once more, where it was twice":   {stored: changes(domains("a", "b", "c", "a")), do: changes(larger)},
		"and elsewhere in the list":           {stored: changes(domains("a", "b", "c", "a")), do: changes(domains("a", "a", "b", "c"))},
		"and the set is activated":            {stored: changes(inactive, domains("a", "b", "c", "a")), do: changes(activate), want: one("duplicate-domains", "denied "+inDomains+".aws[3]")},
		"failure domains in any order":        {create: true, do: changes(domains("c", "b", "a"))},
		"one more than there are Machines in": {create: true, do: changes(domains("a", "b", "c", "d"))},

		"a Machine that is in no failure domain, at creation":   {create: true, do: changes(domains("a", "b")), want: one("failure-domains", "denied "+inDomains)},
		"and at creation inactive":                              {create: true, do: changes(inactive, domains("a", "b")), want: one("failure-domains", "denied "+inDomains)},
		"and at activation":                                     {stored: changes(inactive, domains("a", "b")), do: changes(activate), want: one("failure-domains", "denied "+inDomains)},
		"and at a change of an inactive set's":                  {stored: changes(inactive), do: changes(domains("a", "b")), want: one("failure-domains", "denied "+inDomains)},
		"but not at a change of something else":                 {stored: changes(inactive, domains("a", "b")), do: changes(larger)},
		"two of them are named each":                            {create: true, do: changes(domains("a")), want: one("failure-domains", "denied "+inDomains, "denied "+inDomains)},
		"one that goes is not asked about":                      {in: changes(on(2, going)), create: true, do: changes(domains("a", "b"))},
		"the same zone with another subnet":                     {create: true, do: changes(func(v *controlplane.View) { other := "x"; (*template(v).FailureDomains.AWS)[2].Subnet.ID = &other }), want: one("failure-domains", "denied "+inDomains)},
		"no failure domains, and Machines in three":             {create: true, do: changes(noDomains, want("placement", map[string]any{"availabilityZone": "a"}), want("subnet", map[string]any{"id": "subnet-a"})), want: one("failure-domains", "denied "+inDomains, "denied "+inDomains)},
		"no failure domains, and a template in none":            {create: true, do: changes(noDomains, want("subnet", map[string]any{"id": "s"})), want: one("failure-domains", "denied "+inDomains, "denied "+inDomains, "denied "+inDomains)},
		"an active set is deliberately moved to another domain": {do: changes(domains("a", "b", "d"))},
		"and to three others":                                   {do: changes(domains("d", "e", "f"))},
		"but not to fewer":                                      {do: changes(domains("a", "b")), want: one("failure-domains", "denied "+inDomains)},
		"nor to one of the template's":                          {do: changes(noDomains, want("placement", map[string]any{"availabilityZone": "a"}), want("subnet", map[string]any{"id": "s"})), want: one("failure-domains", "denied "+inDomains)},
		"two subnets of one zone are one place":                 {do: changes(domains("a", "b", "b2"), func(v *controlplane.View) { (*template(v).FailureDomains.AWS)[2].Placement.AvailabilityZone = "b" }), want: one("failure-domains", "denied "+inDomains)},

		"five replicas for three Machines": {create: true, do: changes(replicas(5)), want: one("replicas", "denied spec.replicas")},
		"five replicas at activation": {stored: changes(inactive, replicas(5)), do: changes(activate), want: one("replicas", "denied "+
			"spec.replicas")},
		"but not at a change of an active one":         {stored: changes(replicas(5)), do: changes(larger)},
		"three for five":                               {in: changes(joined("c-master-3", "a"), joined("c-master-4", "b")), create: true, want: one("replicas", "denied spec.replicas")},
		"a Machine that is being replaced counts once": {in: changes(joined("c-master-x-0", "a"), on(0, going)), create: true},
		"two that run at one index": {in: changes(joined("c-master-x-0", "a")), create: true, want: one("one-per-index", "denied "+
			"spec.state")},
		"two that run at one index, at activation": {in: changes(joined("c-master-x-0", "a")), stored: changes(inactive), do: changes(activate), want: one("one-per-index", "denied "+
			"spec.state")},
		"of which an inactive set deletes none":           {in: changes(joined("c-master-x-0", "a")), create: true, do: changes(inactive)},
		"and an active one is replacing":                  {in: changes(joined("c-master-x-0", "a")), do: changes(larger)},
		"or of which one is not ready":                    {in: changes(joined("c-master-x-0", "a"), notReady(3)), create: true},
		"one that is lost is recreated":                   {in: changes(without(1)), create: true},
		"two of three is nothing that one would activate": {in: changes(without(1), without(1)), create: true, want: one("replicas", "denied spec.replicas")},
		"a control plane of two is no three": {in: changes(without(1), func(v *controlplane.View) {
			v.Infrastructure.Status.ControlPlaneTopology = configv1.DualReplicaTopologyMode
		}), create: true, want: one("replicas", "denied spec.replicas")},
		"no Machine at all": {in: changes(without(0), without(0), without(0)), create: true},

		"a selector that does not match the template": {create: true, do: changes(func(v *controlplane.View) { v.Set.Spec.Selector.MatchLabels["x"] = "y" }), want: one("selector", "denied "+inTemplate+"metadata.labels")},
		"one that takes workers too": {create: true, do: changes(func(v *controlplane.View) {
			v.Set.Spec.Selector.MatchLabels = map[string]string{"machine.openshift.io/cluster-api-cluster": "c"}
		}), want: one("selector", "denied spec.selector")},
		"an empty one": {create: true, do: changes(func(v *controlplane.View) { v.Set.Spec.Selector = metav1.LabelSelector{} }), want: one("selector", "denied "+
			"spec.selector")},
		"one that is none": {create: true, do: changes(func(v *controlplane.View) {
			v.Set.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}
		}), want: one("selector", "denied spec.selector")},
		"another cluster's label": {create: true, do: changes(func(v *controlplane.View) {
			template(v).ObjectMeta.Labels["machine.openshift.io/cluster-api-cluster"] = "d"
		}), want: one("selector", "warned "+inTemplate+
			"metadata.labels[machine.openshift.io/cluster-api-cluster] is d, but the name of the cluster is c. Machine API finds a Machine's cloud resources by "+
			"this label")},

		"a long prefix on AWS":             {do: changes(prefix(strings.Repeat("a", 245)))},
		"one too long for an object":       {in: changes(without(2), joined("c-master-10", "c")), do: changes(prefix(strings.Repeat("a", 245))), want: one("machine-names", "denied spec.machineNamePrefix")},
		"one too long for a host on Azure": {in: changes(platformed("Azure", azureSpec(), nil)), do: changes(prefix(long)), want: one("machine-names", "denied spec.machineNamePrefix")},
		"one letter less":                  {in: changes(platformed("Azure", azureSpec(), nil)), do: changes(prefix(long[:55]))},
		"one with a dot on Azure":          {in: changes(platformed("Azure", azureSpec(), nil)), do: changes(prefix("a.b"))},
		"one with a dot on GCP": {in: changes(platformed("GCP", gcpSpec(), nil)), do: changes(prefix("a.b")), want: one("machine-names", "denied "+
			"spec.machineNamePrefix")},
		"one that begins with a number on GCP": {in: changes(platformed("GCP", gcpSpec(), nil)), do: changes(prefix("1a")), want: one("machine-names", "denied "+
			"spec.machineNamePrefix")},
		"one too long for Power VS": {in: changes(platformed("PowerVS", map[string]any{"kind": "PowerVSMachineProviderConfig"}, nil)), do: changes(prefix(strings.Repeat("a", 41))), want: one("machine-names", "denied spec.machineNamePrefix")},
		"a host's name on vSphere":  {in: changes(vCenter, platformed("VSphere", vSphereSpec(), nil)), do: changes(prefix(long)), want: one("machine-names", "denied spec.machineNamePrefix")},

		"another platform's failure domains":   {create: true, do: changes(func(v *controlplane.View) { template(v).FailureDomains.Platform = "GCP" }), want: one("platform", "denied "+inDomains+".platform")},
		"another platform's providerSpec":      {create: true, do: changes(want("kind", "GCPMachineProviderSpec")), want: one("platform", "denied "+inProvider+"kind")},
		"one of a kind that nobody knows":      {create: true, do: changes(want("kind", "X")), want: one("platform", "denied "+inProvider+"kind")},
		"one without a kind":                   {create: true, do: changes(want("kind", nil)), want: one("platform", "denied "+inProvider+"kind")},
		"and a change of one that had none":    {stored: changes(want("kind", nil)), do: changes(larger)},
		"a platform that nobody knows":         {in: changes(platformed("BareMetal", map[string]any{"kind": "BareMetalMachineProviderSpec", "x": 1}, nil)), create: true},
		"and there a kind that somebody knows": {in: changes(platformed("BareMetal", map[string]any{"kind": "AWSMachineProviderConfig"}, nil)), create: true, want: one("platform", "denied "+inProvider+"kind")},
		"no platform at all":                   {in: changes(func(v *controlplane.View) { v.Infrastructure.Status.PlatformStatus = nil }), create: true, want: one("platform", "denied "+inDomains+".platform")},
		"no Infrastructure":                    {in: changes(func(v *controlplane.View) { v.Infrastructure = nil }), create: true, want: one("platform", "denied "+inDomains+".platform")},
		"and no failure domains": {in: changes(platformed("AWS", map[string]any{"kind": "AWSMachineProviderConfig"}, nil), func(v *controlplane.View) { v.Infrastructure = nil }), create: true,
			want: one("platform", "warned the Infrastructure named cluster has no platform: the providerSpec was not checked")},

		"a misspelt field": {do: changes(want("instanceTyp", "m6i.large")), want: one("provider-spec", "warned "+inProvider+"instanceTyp: "+
			"Machine API has no such field and ignores it; did you mean instanceType?")},
		"one in a list": {do: changes(want("blockDevices", []any{map[string]any{"ebs": map[string]any{"volumesize": 1}}})), want: one("provider-spec", "warned "+inProvider+"blockDevices[0].ebs.volumesize: Machine API has no such field and ignores it; did you mean volumeSize?")},
		"one that is nobody's slip": {do: changes(want("warpFactor", 9)), want: one("provider-spec", "warned "+inProvider+"warpFactor: Machine API has no "+
			"such field and ignores it")},
		"is told once":                   {stored: changes(want("warpFactor", 9)), do: changes(larger)},
		"and again at activation":        {stored: changes(inactive, want("warpFactor", 9)), do: changes(activate), want: one("provider-spec", "warned "+inProvider+"warpFactor: Machine API has no such field and ignores it")},
		"a field of another type":        {do: changes(want("instanceType", 3)), want: one("provider-spec", "denied "+inProvider+"instanceType")},
		"and deeper":                     {do: changes(want("ami", map[string]any{"id": []any{}})), want: one("provider-spec", "denied "+inProvider+"ami.id")},
		"a number without an end":        {in: changes(platformed("Nutanix", nutanixSpec(), nil)), create: true, do: changes(want("memorySize", "1e-999999999")), want: one("provider-spec", "denied "+strings.TrimSuffix(inProvider, "."))},
		"a vast number":                  {in: changes(platformed("Nutanix", nutanixSpec(), nil)), create: true, do: changes(want("memorySize", "1e999999999")), want: one("provider-spec", "denied "+inProvider+"memorySize")},
		"no providerSpec":                {create: true, do: changes(func(v *controlplane.View) { template(v).Spec.ProviderSpec.Value = nil }), want: one("provider-spec", "denied "+strings.TrimSuffix(inProvider, "."))},
		"no template":                    {create: true, do: changes(func(v *controlplane.View) { v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine = nil }), want: map[string][]string{"controlplane/provider-spec": {"denied " + strings.TrimSuffix(inProvider, ".")}, "controlplane/selector": {"denied " + inTemplate + "metadata.labels"}}},
		"whatever was wrong before":      {stored: stale, do: changes(larger)},
		"is nobody's but who touches it": {stored: stale, do: changes(want("warpFactor", nil), want("warpFacter", 9)), want: one("provider-spec", "warned "+inProvider+"warpFacter: Machine API has no such field and ignores it")},

		"a template with an instance's id": {do: changes(func(v *controlplane.View) { id := "aws:///x"; template(v).Spec.ProviderID = &id }), want: one("one-machine", "denied "+inTemplate+"spec.providerID")},
		"vSphere: one address for all":     {in: changes(vCenter, platformed("VSphere", vSphereSpec(), nil)), do: changes(want("network", map[string]any{"devices": []any{map[string]any{"networkName": "n"}, map[string]any{"networkName": "m", "ipAddrs": []any{"10.0.0.1/24"}}}})), want: one("one-machine", "denied "+inProvider+"network.devices[1].ipAddrs")},
		"OpenStack: one address for all":   {in: changes(platformed("OpenStack", devices(), nil)), do: changes(want("ports", []any{map[string]any{"fixedIPs": []any{map[string]any{"subnetID": "s"}, map[string]any{"ipAddress": "10.0.0.1"}}}})), want: one("one-machine", "denied "+inProvider+"ports[0].fixedIPs[1].ipAddress")},
		"the workers' configuration":       {do: changes(want("userDataSecret", map[string]any{"name": "worker-user-data"})), want: one("user-data", "warned "+inProvider+"userDataSecret.name: with the Secret worker-user-data a Machine becomes a worker, not a Node of the control plane")},
		"no configuration": {do: changes(want("userDataSecret", nil)), want: one("user-data", "warned "+inProvider+"userDataSecret.name: without this Secret a "+
			"Machine starts, but never becomes a Node")},
		"AWS: a spot instance": {do: changes(want("spotMarketOptions", map[string]any{})), want: one("aws", "warned "+inProvider+"spotMarketOptions: "+
			"with this field the cloud may terminate the instance at any moment, and its etcd member with it. Leave the field out")},
		"Azure: a spot instance": {in: changes(platformed("Azure", azureSpec(), nil)), do: changes(want("spotVMOptions", map[string]any{})), want: one("azure", "warned "+inProvider+"spotVMOptions: "+
			"with this field the cloud may terminate the instance at any moment, and its etcd member with it. Leave the field out")},
		"GCP: a preemptible instance": {in: changes(platformed("GCP", gcpSpec(), nil)), do: changes(want("preemptible", true)), want: one("gcp", "warned "+inProvider+"preemptible: "+
			"with this field the cloud may terminate the instance at any moment, and its etcd member with it. Leave the field out")},
		"AWS: another region": {in: changes(inRegion), do: changes(want("placement", map[string]any{"region": "us-east-1"})), want: one("aws", "denied "+inProvider+"placement.region")},
		"AWS: the cluster's":  {in: changes(inRegion), do: changes(want("placement", map[string]any{"region": "eu-west-1"}))},
		"AWS: no image":       {do: changes(want("ami", nil)), want: one("aws", "warned "+inProvider+"ami: no instance is created without an image: set ami.id")},
		"AWS: no load balancer": {do: changes(want("loadBalancers", nil)), want: one("aws", "warned "+inProvider+"loadBalancers: without this field a new "+
			"Machine is behind no load balancer, so no client reaches its API server. Leave the field out only if you balance the load yourself")},
		"AWS: no subnet in a domain": {do: changes(func(v *controlplane.View) { (*template(v).FailureDomains.AWS)[2].Subnet = nil }), want: one("aws", "warned "+inProvider+"subnet: without a subnet, a Machine gets the first subnet that AWS lists in the Machine's zone (in the failure domain c)")},
		"AWS: no subnet, for Cluster API": {do: changes(func(v *controlplane.View) {
			(*template(v).FailureDomains.AWS)[2].Subnet, template(v).Spec.AuthoritativeAPI = nil, machinev1beta1.MachineAuthorityClusterAPI
		}), want: map[string][]string{
			"controlplane/aws": {"warned " + inProvider + "subnet: without a subnet, Cluster API takes one that spec.network.subnets of the AWSCluster lists for " +
				"the Machine's zone. If the AWSCluster lists none for that zone, Cluster API creates no instance (in the failure domain c)"},
			"controlplane/request-warning": {"warned new Machines will boot with Secret /master-user-data. Unlike " +
				"worker-user-data, OpenShift does not copy this Secret to that namespace. If the Secret does not exist there yet, " +
				"create it from the one in m before the set creates a Machine (guide: Boot data)"},
		}},

		"Azure":                            {in: changes(platformed("Azure", azureSpec(), nil)), create: true},
		"Azure: no internal load balancer": {in: changes(platformed("Azure", with1(azureSpec(), "internalLoadBalancer", nil), nil)), create: true, want: one("azure", "denied "+inProvider+"internalLoadBalancer")},
		"Azure: which was missing before":  {in: changes(platformed("Azure", with1(azureSpec(), "internalLoadBalancer", nil), nil)), do: changes(want("vmSize", "x"))},
		"Azure: no subnet":                 {in: changes(platformed("Azure", with1(azureSpec(), "subnet", nil), nil)), create: true, want: one("azure", "warned "+inProvider+"subnet: no Machine is created without a subnet: name one")},
		"Azure: a subnet for each domain":  {in: changes(platformed("Azure", with1(azureSpec(), "subnet", nil), &machinev1.FailureDomains{Azure: &[]machinev1.AzureFailureDomain{{Zone: "1", Subnet: "s"}}}, map[string]any{"subnet": "s"}, map[string]any{"subnet": "s"}, map[string]any{"subnet": "s"})), create: true},
		"Azure: a region without zones":    {in: changes(platformed("Azure", with1(azureSpec(), "zone", nil), nil)), create: true},
		"GCP":                              {in: changes(inRegion, platformed("GCP", gcpSpec(), nil)), create: true},
		"GCP: no target pools": {in: changes(platformed("GCP", with1(gcpSpec(), "targetPools", nil), nil)), create: true, want: one("gcp", "warned "+inProvider+"targetPools: "+
			"without this field a new Machine is in no target pool, so no client outside the cluster reaches its API server. Leave the field out only if the API "+
			"is not published")},
		"GCP: another region, and so its zone": {in: changes(inRegion, platformed("GCP", with1(with1(gcpSpec(), "region", "us-1"), "zone", "us-1-a"), nil)), create: true, want: one("gcp", "denied "+inProvider+"region", "denied "+inProvider+"zone")},
		"GCP: another project":                 {in: changes(inRegion, platformed("GCP", with1(gcpSpec(), "projectID", "q"), nil)), create: true, want: one("gcp", "warned "+inProvider+"projectID: the cluster is in the project p, but new Machines would be in the project that this field names")},
		"OpenStack: a disk for etcd":           {in: changes(platformed("OpenStack", devices(map[string]any{"name": "etcd", "sizeGiB": 10}), nil)), create: true},
		"OpenStack: a small one":               {in: changes(platformed("OpenStack", devices(map[string]any{"name": "etcd", "sizeGiB": 9}), nil)), create: true, want: one("openstack", "denied "+inProvider+"additionalBlockDevices[0].sizeGiB")},
		"OpenStack: two of a name":             {in: changes(platformed("OpenStack", devices(map[string]any{"name": "etcd", "sizeGiB": 10}, map[string]any{"name": "etcd", "sizeGiB": 10}), nil)), create: true, want: one("openstack", "denied "+inProvider+"additionalBlockDevices[1].name")},
		"OpenStack: one of another name": {in: changes(platformed("OpenStack", devices(map[string]any{"name": "var", "sizeGiB": 10}), nil)), create: true, want: one("openstack", "warned "+inProvider+"additionalBlockDevices[0].name: "+
			"a control plane uses only the block device named etcd, and nothing uses this one, which is named var")},
		"vSphere":                                                {in: changes(vCenter, platformed("VSphere", vSphereSpec(), nil)), create: true},
		"vSphere: no template":                                   {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "template", nil), nil)), create: true, want: one("vsphere", "denied "+inProvider+"template")},
		"vSphere: no network":                                    {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "network", nil), nil)), create: true, want: one("vsphere", "denied "+inProvider+"network.devices")},
		"vSphere: no workspace":                                  {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "workspace", nil), nil)), create: true, want: one("vsphere", "denied "+inProvider+"workspace.datacenter", "denied "+inProvider+"workspace.server")},
		"vSphere: a server of nobody's":                          {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "workspace", map[string]any{"server": "x", "datacenter": "dc"}), nil)), create: true, want: one("vsphere", "denied "+inProvider+"workspace.server")},
		"vSphere: a datacenter of nobody's":                      {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "workspace", map[string]any{"server": "vc", "datacenter": "x"}), nil)), create: true, want: one("vsphere", "denied "+inProvider+"workspace.datacenter")},
		"vSphere: a folder of another datacenter":                {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "workspace", map[string]any{"server": "vc", "datacenter": "dc", "folder": "/x/vm/c"}), nil)), create: true, want: one("vsphere", "denied "+inProvider+"workspace.folder")},
		"vSphere: a template in its folder":                      {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "template", "/dc/vm/images/rhcos"), nil)), create: true},
		"vSphere: a template of another datacenter":              {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "template", "/x/vm/rhcos"), nil)), create: true, want: one("vsphere", "denied "+inProvider+"template")},
		"vSphere: a folder for a template":                       {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "template", "/dc/vm/images/"), nil)), create: true, want: one("vsphere", "denied "+inProvider+"template")},
		"vSphere: a network that every failure domain overrides": {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "network", map[string]any{"devices": []any{map[string]any{"networkName": "old"}}}), &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "east"}}}, eastern(), eastern(), eastern())), create: true, want: one("vsphere", "warned "+inProvider+"network.devices[0].networkName: each failure domain replaces old with its own network: leave this field out")},
		"vSphere: a network that one leaves":                     {in: changes(vCenter, western, platformed("VSphere", with1(vSphereSpec(), "network", map[string]any{"devices": []any{map[string]any{"networkName": "old"}}}), &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "east"}, {Name: "west"}}}, eastern(), eastern(), eastern())), create: true},
		"OpenStack: a root volume with a size":                   {in: changes(platformed("OpenStack", with1(devices(), "rootVolume", map[string]any{"diskSize": 100}), volumes(), volume(100), volume(100), volume(100))), create: true},
		"OpenStack: a root volume without a size":                {in: changes(platformed("OpenStack", devices(), volumes(), volume(100), volume(100), volume(100))), create: true, want: one("openstack", "denied "+inProvider+"rootVolume.diskSize")},
		"vSphere: a failure domain brings what it needs":         {in: changes(vCenter, platformed("VSphere", with1(with1(vSphereSpec(), "workspace", nil), "network", nil), &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "east"}}}, eastern(), eastern(), eastern())), create: true},
		"vSphere: and overrides the rest":                        {in: changes(vCenter, platformed("VSphere", with1(vSphereSpec(), "workspace", map[string]any{"server": "old"}), &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "east"}}}, inEast(), inEast(), inEast())), create: true, want: one("vsphere", "warned "+inProvider+"workspace.server: old has no effect, because the failure domain sets vc")},
		"vSphere: Machines of another template":                  {in: changes(vCenter, platformed("VSphere", vSphereSpec(), &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "east"}}}, with1(inEast(), "template", "old"), with1(inEast(), "template", "old"), inEast())), create: true, do: changes(want("workspace", nil))},
		"vSphere: a failure domain of nobody's":                  {in: changes(vCenter, platformed("VSphere", vSphereSpec(), &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "west"}}})), create: true, want: one("failure-domains", "denied "+inDomains+".vsphere[0].name")},
		"Nutanix":                                                {in: changes(platformed("Nutanix", nutanixSpec(), nil)), create: true},
		"Nutanix: names that are none":                           {in: changes(platformed("Nutanix", with1(with1(nutanixSpec(), "cluster", map[string]any{"type": "name"}), "image", nil), nil)), create: true, want: one("nutanix", "denied "+inProvider+"cluster.name", "denied "+inProvider+"image.type")},
		"Nutanix: no subnet":                                     {in: changes(platformed("Nutanix", with1(nutanixSpec(), "subnets", nil), nil)), create: true, want: one("nutanix", "denied "+inProvider+"subnets")},
		"Nutanix: one twice":                                     {in: changes(platformed("Nutanix", with1(nutanixSpec(), "subnets", []any{id("name", "a"), id("name", "a")}), nil)), create: true, want: one("nutanix", "denied "+inProvider+"subnets[1]")},

		"its cluster's label is changed": {do: changes(clustered("other")), want: map[string][]string{
			"controlplane/machine-labels": {"denied " + inLabels + "[machine.openshift.io/cluster-api-cluster]"},
			"controlplane/selector": {"warned " + inLabels + "[machine.openshift.io/cluster-api-cluster] is other, but the name of the cluster is c. " +
				"Machine API finds a Machine's cloud resources by this label"},
		}},
		"the cluster's own in the place of another":  {in: changes(clustered("other")), do: changes(clustered("c"))},
		"a label that the Machine controller writes": {do: changes(func(v *controlplane.View) { template(v).ObjectMeta.Labels["machine.openshift.io/zone"] = "a" }), want: one("machine-labels", "warned "+inLabels+"[machine.openshift.io/zone]: the Machine controller writes this value to each Machine, so the value in the template has no effect. Remove it")},
		"a finalizer of the collector's":             {do: changes(finalizer), want: one("foreground", "denied metadata.finalizers")},
		"that was there":                             {stored: changes(finalizer), do: changes(larger)},
	} {
		t.Run(text, func(t *testing.T) {
			c := r.change(t)
			if d := cmp.Diff(r.want, said(admission.Rules(), c), cmp.Transformer("empty", func(m map[string][]string) map[string][]string {
				if len(m) == 0 {
					return nil
				}
				return m
			})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
				for _, f := range admission.Rules().Judge(c) {
					t.Logf("%s: %v %q", f.Rule, f.Denials, f.Warnings)
				}
			}
			needsNothingElse(t, c)
		})
	}
}

// needsNothingElse asks each rule with what it declares alone.
func needsNothingElse(t *testing.T, c policies.Change) {
	t.Helper()
	for _, r := range admission.Rules().Applying(c) {
		alone := c
		if r.Needs == nil || !r.Needs(c).Has(policies.NeedControlPlane) {
			alone.Facts = policies.Facts{}
		}
		if d := cmp.Diff(r.Check(c), r.Check(alone)); d != "" {
			t.Errorf("%s, with what it declares alone:\n%s", r.ID, d)
		}
	}
}

func eastern() map[string]any {
	out := inEast()
	out["network"] = map[string]any{"devices": []any{map[string]any{"networkName": "n"}}}
	return out
}

func finalizer(v *controlplane.View) { v.Set.Finalizers = []string{metav1.FinalizerDeleteDependents} }

// What a request does not change it is not judged for.
func TestMetadataIsNobodysBusiness(t *testing.T) {
	v := reviewed()
	for _, do := range changes(domains("a", "a"), replicas(5), prefix(strings.Repeat("a", 245)), want("kind", "X")) {
		do(v)
	}
	stored := v.Set.DeepCopy()
	v.Set.Labels, v.Set.Finalizers = map[string]string{"a": "b"}, []string{"x"}
	c := asked(t, stored, v)
	if got := admission.Rules().Needs(c); got != 0 {
		t.Errorf("needs %v to judge metadata", got)
	}
	if d := cmp.Diff(map[string][]string{}, said(admission.Rules(), c)); d != "" {
		t.Errorf("an edit of metadata (-want +got):\n%s", d)
	}
	stored.DeletionTimestamp = &metav1.Time{Time: noon}
	larger(v)
	if d := cmp.Diff(map[string][]string{}, said(admission.Rules(), asked(t, stored, v))); d != "" {
		t.Errorf("an edit of what is being deleted (-want +got):\n%s", d)
	}
}

// A set that is being deleted does nothing any more, and a user who activates it reads that.
func TestASetThatIsBeingDeleted(t *testing.T) {
	warned := func(do ...change) (out []string) {
		v := reviewed()
		inactive(v)
		v.Set.DeletionTimestamp, v.Set.Finalizers = &metav1.Time{Time: noon}, []string{controlplane.Finalizer}
		stored := v.Set.DeepCopy()
		for _, do := range do {
			do(v)
		}
		for _, f := range admission.Rules().Judge(asked(t, stored, v)) {
			out = append(out, f.Warnings...)
		}
		return out
	}
	if got := warned(activate); len(got) != 1 || !strings.HasPrefix(got[0], "metadata.deletionTimestamp: ") {
		t.Errorf("activated: warned %q", got)
	}
	if got := warned(func(v *controlplane.View) { v.Set.Labels = map[string]string{"a": "b"} }); got != nil {
		t.Errorf("an edit of metadata: warned %q", got)
	}
}

// What a review cannot be read as must be an answer, whatever it is.
func TestNothingPanics(t *testing.T) {
	for _, spec := range []string{`null`, `[]`, `{}`, `"x"`, `{"replicas":"x"}`, `{"template":[]}`,
		`{"template":{"machines_v1beta1_machine_openshift_io":{"failureDomains":[],"spec":1}}}`,
		`{"template":{"machines_v1beta1_machine_openshift_io":{"failureDomains":{"aws":[null,1],"platform":"AWS"},"spec":{"providerSpec":{"value":[1]}}}}}`,
		`{"template":{"machines_v1beta1_machine_openshift_io":{"failureDomains":{"platform":"VSphere"},"spec":{"providerSpec":{"value":null}}}}}`} {
		for _, platform := range []configv1.PlatformType{"", "AWS", "Azure", "GCP", "OpenStack", "VSphere", "Nutanix", "PowerVS", "None"} {
			v := reviewed()
			v.Infrastructure.Status.PlatformStatus.Type = platform
			c := asked(t, v.Set, v)
			var err error
			if c.New, err = policies.ParseObject([]byte(`{"metadata":{"name":"cluster"},"spec":` + spec + `}`)); err != nil {
				t.Fatal(err)
			}
			admission.Rules().Judge(c)
			c.Operation, c.Old = admissionv1.Create, nil
			admission.Rules().Judge(c)
		}
	}
}

func TestDeletion(t *testing.T) {
	for text, c := range map[string]struct {
		do          []change
		propagation metav1.DeletionPropagation
		want        map[string][]string
	}{
		"in the foreground":           {propagation: "Foreground", want: one("foreground", "denied metadata.name")},
		"in the foreground, inactive": {do: changes(inactive), propagation: "Foreground", want: one("foreground", "denied metadata.name")},
		"as its finalizer says":       {do: changes(finalizer), want: one("foreground", "denied metadata.name")},
		"as its finalizer says, but for --cascade": {do: changes(finalizer, inactive), propagation: "Background", want: one("delete", "warned no Machine is "+
			"deleted. Poundlock will generate the set again from the Machines, as Inactive. Use kubectl replace without --force: with --force, kubectl cannot "+
			"create your set, because the generated set exists already")},
		"in the background": {propagation: "Background", do: changes(func(v *controlplane.View) { v.Set.Status.Replicas = 3 }), want: one("delete",
			"warned the control plane's 3 Machines and their Nodes keep running, except Machines that are already being deleted. From now on nothing replaces a "+
				"Machine. Poundlock will generate the set again from the Machines, as Inactive. Use kubectl replace without --force: with --force, kubectl cannot "+
				"create your set, because the generated set exists already. Once that set is Active, it manages the Machines again")},
		"orphaning": {propagation: "Orphan", do: changes(inactive), want: one("delete", "warned no Machine is deleted. Poundlock will generate the set again "+
			"from the Machines, as Inactive. Use kubectl replace without --force: with --force, kubectl cannot create your set, because the generated set exists "+
			"already")},
		"again": {do: changes(func(v *controlplane.View) { v.Set.DeletionTimestamp = &metav1.Time{Time: noon} })},
	} {
		t.Run(text, func(t *testing.T) {
			v := reviewed()
			for _, do := range c.do {
				do(v)
			}
			r := asked(t, v.Set, v)
			r.Operation, r.New, r.Propagation, r.Facts = admissionv1.Delete, nil, c.propagation, policies.Facts{}
			got := said(admission.Rules(), r)
			if d := cmp.Diff(c.want, got); d != "" && len(c.want)+len(got) > 0 {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestForecastRule wants a word on every request that changes the spec, and none on others.
func TestForecastRule(t *testing.T) {
	forecast := func(c policies.Change) []string {
		for _, f := range admission.Rules().Judge(c) {
			if f.Rule == "controlplane/forecast" {
				return f.Warnings
			}
		}
		return nil
	}
	for text, c := range map[string]struct {
		r    row
		want []string
	}{
		"nothing is changed": {r: row{do: changes(func(v *controlplane.View) { v.Set.Labels = map[string]string{"a": "b"} })}},
		"nothing comes of it": {r: row{do: changes(want("deviceIndex", 0))}, want: []string{"this will do nothing: all 3 control plane Machines match the " +
			"template"}},
		"an inactive one is changed": {r: row{stored: changes(inactive), do: changes(larger)}, want: []string{"the set is Inactive. If it were Active, it " +
			"would replace 3 of 3 control plane Machines, one at a time: c-master-0 (instanceType m6i.xlarge → m6i.2xlarge), c-master-1 (instanceType m6i.xlarge → " +
			"m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}},
		"it is refused": {r: row{do: changes(larger, domains("a", "b"))}},
		"it is activated": {r: row{stored: changes(inactive), do: changes(activate)}, want: []string{"this will do nothing: all 3 control plane " +
			"Machines match the template"}},
		"one is moved to another zone": {r: row{do: changes(domains("a", "b", "d"))}, want: []string{"this will replace 1 of 3 control plane Machines, one at " +
			"a time: c-master-2 (placement.availabilityZone c → d, subnet.id subnet-c → subnet-d)"}},
	} {
		t.Run(text, func(t *testing.T) {
			if d := cmp.Diff(c.want, forecast(c.r.change(t))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	t.Run("authority is moving", func(t *testing.T) {
		c := row{do: changes(larger)}.change(t)
		c.New = with2(t, c.New, `{"authoritativeAPI":"Migrating"}`)
		want := []string{"this change has no effect while status.authoritativeAPI of the set is Migrating. After that:",
			"this will replace 3 of 3 control plane Machines, one at a time: c-master-0 (instanceType m6i.xlarge → m6i.2xlarge), c-master-1 (instanceType " +
				"m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}
		if d := cmp.Diff(want, forecast(c)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// TestAReviewForecastsWithTheOperatorsGrace: a review's forecast has the Machines in the order in which the operator replaces them, whatever grace the operator
// has. The Node of the last Machine has been not ready for five minutes, so it is lost once the grace is shorter, and then it is replaced first.
func TestAReviewForecastsWithTheOperatorsGrace(t *testing.T) {
	for grace, first := range map[time.Duration]string{
		0: "c-master-2", time.Minute: "c-master-2", 7 * time.Minute: "c-master-0", controlplane.NotReadyGrace: "c-master-0",
	} {
		v := reviewed()
		v.Nodes[2].CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
		v.Nodes[2].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse,
			LastTransitionTime: metav1.NewTime(noon.Add(-5 * time.Minute))}}
		stored := v.Set.DeepCopy()
		larger(v)
		c := asked(t, stored, v)
		c.Facts.ControlPlane.NotReadyGrace = &grace
		var got []string
		for _, f := range admission.Rules().Judge(c) {
			if f.Rule == "controlplane/forecast" {
				got = f.Warnings
			}
		}
		v.NotReadyGrace = grace
		p := controlplane.Make(*v)
		if d := cmp.Diff(p.Forecast(), got); d != "" {
			t.Errorf("with a grace of %s (-operator +review):\n%s", grace, d)
		}
		if all := strings.Join(got, " "); !strings.Contains(all, "at a time: "+first+" (") {
			t.Errorf("with a grace of %s, want %s first: %q", grace, first, all)
		}
	}
}

// with2 gives an object another status.
func with2(t *testing.T, o *policies.Object, status string) *policies.Object {
	t.Helper()
	content := map[string]any{}
	if err := json.Unmarshal(o.Raw(), &content); err != nil {
		t.Fatal(err)
	}
	content["status"] = json.RawMessage(status)
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	out, err := policies.ParseObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCases holds the rules that look up nothing against the cases that their twins in CEL are held against too.
func TestCases(t *testing.T) {
	cases, err := policiestest.Load("testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Rule+"/"+c.Name, func(t *testing.T) {
			var denied []string
			for _, f := range admission.Rules().Judge(c.Change) {
				for _, e := range f.Denials {
					if f.Rule == c.Rule {
						denied = append(denied, e.Field)
					}
				}
			}
			if d := cmp.Diff(c.Denied, denied); d != "" {
				t.Errorf("denied fields (-want +got):\n%s", d)
			}
		})
	}
}

// TestTemplatesOfVSphere: the installer's Machines name their template without its folder, and the Infrastructure promises that one without a template has
// the region's and the zone's.
func TestTemplatesOfVSphere(t *testing.T) {
	for text, c := range map[string]struct {
		topology, set, machines string
		want                    string
	}{
		"the domain's, with its folder": {topology: "/dc/vm/rhcos", machines: "rhcos", want: "this will do nothing: all 3 control plane Machines " +
			"match the template"},
		"one that is made of region and zone": {machines: "c-rhcos-r-z", want: "this will do nothing: all 3 control plane Machines match the template"},
		"the set's own, where the domain has none": {set: "rhcos", machines: "/dc/vm/rhcos", want: "this will do nothing: all 3 control plane Machines match " +
			"the template"},
		"the domain's, in a folder of one's own": {topology: "/dc/vm/x/rhcos", machines: "rhcos", want: "this will do nothing: all 3 control plane Machines " +
			"match the template"},
		"the same, by its path": {topology: "/dc/vm/x/rhcos", machines: "/dc/vm/x/rhcos", want: "this will do nothing: all 3 control plane " +
			"Machines match the template"},
		"another folder than the domain's": {topology: "/dc/vm/x/rhcos", machines: "/dc/vm/y/rhcos", want: "this will replace 3 of 3 control plane " +
			"Machines, one at a time: c-master-0 (template /dc/vm/y/rhcos → rhcos), c-master-1 (template /dc/vm/y/rhcos → rhcos), c-master-2 (template " +
			"/dc/vm/y/rhcos → rhcos)"},
	} {
		t.Run(text, func(t *testing.T) {
			v := reviewed()
			own := eastern()
			own["template"] = c.machines
			vCenter(v)
			v.Infrastructure.Spec.PlatformSpec.VSphere.FailureDomains[0].Topology.Template = c.topology
			platformed("VSphere", with1(vSphereSpec(), "template", c.set), &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "east"}}}, own,
				own, own)(v)
			p := controlplane.Make(*v)
			if d := cmp.Diff([]string{c.want}, p.Forecast()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// The order of failure domains changes no answer.
func TestOrderOfFailureDomains(t *testing.T) {
	answer := func(names ...string) map[string][]string {
		return said(admission.Rules(), row{create: true, do: changes(domains(names...))}.change(t))
	}
	want := answer("a", "b", "d")
	for _, names := range [][]string{{"a", "d", "b"}, {"b", "a", "d"}, {"b", "d", "a"}, {"d", "a", "b"}, {"d", "b", "a"}} {
		if d := cmp.Diff(want, answer(names...)); d != "" {
			t.Errorf("%v (-a,b,d +got):\n%s", names, d)
		}
	}
}

func TestRowsAreWhole(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range admission.Rules() {
		if !strings.HasPrefix(r.ID, "controlplane/") || ids[r.ID] || r.Clause == "" || r.Description == "" || r.Remedy == "" || len(r.On) == 0 || r.Check == nil {
			t.Errorf("%s: a row needs an id of its own, a clause, a sentence, a remedy, a scope and a check", r.ID)
		}
		ids[r.ID] = true
	}
}

const inLabels = "spec.template.machines_v1beta1_machine_openshift_io.metadata.labels"

func clustered(cluster string) change {
	return func(v *controlplane.View) {
		template(v).ObjectMeta.Labels["machine.openshift.io/cluster-api-cluster"] = cluster
	}
}

func TestReleased(t *testing.T) {
	deleting := func(v *controlplane.View) {
		v.Set.DeletionTimestamp, v.Set.Finalizers = &metav1.Time{Time: noon}, []string{controlplane.Finalizer}
	}
	for text, c := range map[string]struct {
		do   []change
		kept bool
		want []string
	}{
		"Machines refer to it":    {do: changes(deleting, on(0, going)), want: []string{"c-master-1, c-master-2"}},
		"the finalizer stays":     {do: changes(deleting), kept: true},
		"no Machine refers to it": {do: changes(deleting, on(0, going), on(1, formerly("cluster")), on(2, formerly("cluster")))},
		"it is not being deleted": {do: changes(deleting, func(v *controlplane.View) { v.Set.DeletionTimestamp = nil })},
	} {
		t.Run(text, func(t *testing.T) {
			v := reviewed()
			for _, do := range c.do {
				do(v)
			}
			stored := v.Set.DeepCopy()
			if !c.kept {
				v.Set.Finalizers = nil
			}
			got := said(admission.Rules(), asked(t, stored, v))["controlplane/finalizer"]
			if len(got) != len(c.want) || len(got) > 0 && !strings.Contains(got[0], c.want[0]) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// western adds a failure domain that leaves the network to the template.
func western(v *controlplane.View) {
	all := &v.Infrastructure.Spec.PlatformSpec.VSphere.FailureDomains
	west := (*all)[0]
	west.Name, west.Zone, west.Topology.Networks, west.Topology.ComputeCluster = "west", "y", nil, "/dc/host/y"
	*all = append(*all, west)
}

// A template has one pool for all failure domains, whose networks the Infrastructure names. And new Machines of Cluster API do not receive a pool's address.
func TestWhereVSphereMachinesHaveTheirAddresses(t *testing.T) {
	otherNetwork := func(v *controlplane.View) {
		western(v)
		v.Infrastructure.Spec.PlatformSpec.VSphere.FailureDomains[1].Topology.Networks = []string{"m"}
	}
	both := &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "east"}, {Name: "west"}}}
	for sentence, c := range map[string]struct {
		in                    []change
		status, network, ends string
	}{
		"no failure domains": {in: changes(vCenter, platformed("VSphere", vSphereSpec(), nil)), ends: "DHCP give the addresses, or take them from a " +
			"pool (addressesFromPools)"},
		"one of two leaves the network": {in: changes(vCenter, western, platformed("VSphere", vSphereSpec(), both)), ends: "from a pool (addressesFromPools)"},
		"each has a network of its own": {in: changes(vCenter, otherNetwork, platformed("VSphere", vSphereSpec(), both)),
			ends: "from a pool (addressesFromPools) whose addresses fit the network of each failure domain: the failure domains have different networks " +
				"(topology.networks in the Infrastructure)"},
		"the template has another than one of two": {in: changes(vCenter, western, platformed("VSphere", vSphereSpec(), both)), network: "ext", ends: "(topology.networks in the Infrastructure)"},
		"new Machines are Cluster API's": {in: changes(vCenter, platformed("VSphere", vSphereSpec(), nil)), status: `{"authoritativeAPI":"ClusterAPI"}`, ends: "have DHCP " +
			"give the addresses"},
	} {
		r := row{in: c.in, do: changes(want("network", map[string]any{"devices": []any{map[string]any{"networkName": "n" + c.network, "ipAddrs": []any{"10.0.0.1/24"}}}}))}.change(t)
		if c.status != "" {
			r.Old, r.New = with2(t, r.Old, c.status), with2(t, r.New, c.status)
		}
		text := ""
		for _, f := range admission.Rules().Judge(r) {
			if f.Rule == "controlplane/one-machine" {
				text = f.Denials[0].Detail
			}
		}
		if !strings.HasSuffix(text, c.ends) {
			t.Errorf("%s: %q, want the end %q", sentence, text, c.ends)
		}
	}
}

// volumes are failure domains that place a root volume, volume a Machine there.
func volumes() *machinev1.FailureDomains {
	return &machinev1.FailureDomains{OpenStack: []machinev1.OpenStackFailureDomain{{AvailabilityZone: "a",
		RootVolume: &machinev1.RootVolume{AvailabilityZone: "v", VolumeType: "fast"}}}}
}

func volume(size int) map[string]any {
	return map[string]any{"availabilityZone": "a", "rootVolume": map[string]any{"availabilityZone": "v", "volumeType": "fast", "diskSize": size}}
}

// A set that goes back to Machine API makes Machines of the API that its template names, and the warning says so.
func TestWhoseNewMachinesAre(t *testing.T) {
	for template, want := range map[machinev1beta1.MachineAuthority]string{
		"": "Machine API will be authoritative for new Machines, ", "MachineAPI": "Machine API will be authoritative for new Machines, ",
		"ClusterAPI": "Cluster API will still be authoritative for new Machines, because " +
			"spec.template.machines_v1beta1_machine_openshift_io.spec.authoritativeAPI of the set says so, ",
	} {
		v := reviewed()
		v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.AuthoritativeAPI = template
		c := asked(t, v.Set, v)
		authoritative := func(o *policies.Object, api string) {
			o.Spec = json.RawMessage(strings.Replace(string(o.Spec), "{", `{"authoritativeAPI":"`+api+`",`, 1))
		}
		authoritative(c.Old, "ClusterAPI")
		authoritative(c.New, "MachineAPI")
		if got := admission.RequestWarning(c); len(got.Warnings) == 0 || !strings.Contains(got.Warnings[len(got.Warnings)-1], want) {
			t.Errorf("template %q: %q", template, got.Warnings)
		}
	}
}

// The CRD's default is Machine API: a manifest without the field asks for a move back.
func TestAManifestWithoutTheFieldAsksForMachineAPI(t *testing.T) {
	const says = "A manifest without spec.authoritativeAPI requests this move too"
	v := reviewed()
	for from, to := range map[authority.API]authority.API{authority.ClusterAPI: authority.MachineAPI, authority.MachineAPI: authority.ClusterAPI} {
		c := asked(t, v.Set, v)
		c.Old, c.New = with3(t, c.Old, fmt.Sprintf(`{"authoritativeAPI":%q}`, from), string(from)), with3(t, c.New, fmt.Sprintf(`{"authoritativeAPI":%q}`, from), string(to))
		got := admission.RequestWarning(c).Warnings
		if len(got) == 0 || strings.HasSuffix(got[len(got)-1], says) != (to == authority.MachineAPI) {
			t.Errorf("to %s: %q", to, got)
		}
	}
}

// A set's request that is taken back gets the sentence of a Machine's.
func TestARequestThatIsTakenBack(t *testing.T) {
	v := reviewed()
	for _, status := range []string{`{"authoritativeAPI":"MachineAPI"}`, `{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}`} {
		c := asked(t, v.Set, v)
		c.Old, c.New = with3(t, c.Old, status, "ClusterAPI"), with3(t, c.New, status, "MachineAPI")
		want := `spec.authoritativeAPI: this cancels the move, and Machine API stays authoritative. To move after all: kubectl -n m patch ` +
			`controlplanemachinesets.machine.openshift.io ` + v.Set.Name + ` --type merge -p '{"spec":{"authoritativeAPI":"ClusterAPI"}}'`
		if got := admission.RequestWarning(c).Warnings; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
		if c.Actor = policies.Poundlock; len(admission.RequestWarning(c).Warnings) != 0 {
			t.Errorf("%s: Poundlock is told", status)
		}
	}
}

// A set whose new Machines become Cluster API's boots them with a Secret that nobody copies there.
func TestBootDataOfAControlPlane(t *testing.T) {
	v := reviewed()
	c := asked(t, v.Set, v)
	c.TwinNamespace = "c"
	ask := func(o *policies.Object, api string) {
		o.Spec = json.RawMessage(strings.Replace(string(o.Spec), "{", `{"authoritativeAPI":"`+api+`",`, 1))
	}
	ask(c.Old, "MachineAPI")
	ask(c.New, "ClusterAPI")
	if got := strings.Join(admission.RequestWarning(c).Warnings, "\n"); !strings.Contains(got, "new Machines will boot with Secret c/master-user-data. "+
		"Unlike worker-user-data, OpenShift does not copy this Secret") {
		t.Errorf("%s", got)
	}
	c.Old, c.New = c.New, c.Old
	c.Old.Status = json.RawMessage(`{"authoritativeAPI":"ClusterAPI"}`)
	if got := strings.Join(admission.RequestWarning(c).Warnings, "\n"); strings.Contains(got, "master-user-data") {
		t.Errorf("on the way back: %s", got)
	}
}

// A set whose new Machines are Cluster API's without a move is warned of the same: when it is created so, and when its template says so.
func TestNewMachinesOfAControlPlane(t *testing.T) {
	v := reviewed()
	const boots = "new Machines will boot with Secret c/master-user-data"
	for name, change := range map[string]func(*policies.Change){
		"created for Cluster API": func(c *policies.Change) {
			c.Operation, c.Old = admissionv1.Create, nil
			c.New.Spec = json.RawMessage(strings.Replace(string(c.New.Spec), "{", `{"authoritativeAPI":"ClusterAPI",`, 1))
		},
		"its template is for Cluster API": func(c *policies.Change) {
			c.New.Spec = json.RawMessage(strings.Replace(string(c.New.Spec), `"providerSpec"`, `"authoritativeAPI":"ClusterAPI","providerSpec"`, 1))
		},
		"": func(*policies.Change) {},
	} {
		c := asked(t, v.Set, v)
		c.TwinNamespace = "c"
		change(&c)
		if got := strings.Join(admission.RequestWarning(c).Warnings, "\n"); strings.Contains(got, boots) != (name != "") {
			t.Errorf("%q: %s", name, got)
		}
	}
}

// A request that moves authority, and has the set act too, is forecast as the set acts then: after the move, under the API that is asked for.
func TestAForecastOfAMoveThatActivates(t *testing.T) {
	v := reviewed()
	inactive(v)
	stored := v.Set.DeepCopy()
	activate(v)
	larger(v)
	c := asked(t, stored, v)
	c.New = with3(t, c.New, `{"authoritativeAPI":"MachineAPI"}`, "ClusterAPI")
	c.Old.Status = json.RawMessage(`{"authoritativeAPI":"MachineAPI"}`)
	if !admission.Rules().Needs(c).Has(policies.NeedConversion) {
		t.Error("no conversion is asked for")
	}
	const first = "this change has no effect until status.authoritativeAPI of the set is ClusterAPI. After that:"
	if got := admission.Forecast(c).Warnings; len(got) != 2 || got[0] != first || !strings.HasPrefix(got[1], "this will replace 3 of 3 control plane Machines") {
		t.Errorf("%q", got)
	}
	c.Facts.Unconvertible = field.ErrorList{field.Forbidden(field.NewPath("spec", "template", "x"), "no")}
	if got := admission.Forecast(c).Warnings; len(got) != 2 || got[0] != first || !strings.Contains(got[1], "nothing until this problem is "+
		"fixed") || !strings.Contains(got[1], "spec.template.x: Forbidden: no") {
		t.Errorf("%q", got)
	}
	c.New = with3(t, c.New, `{"authoritativeAPI":"MachineAPI"}`, "MachineAPI")
	if got := admission.Forecast(c).Warnings; len(got) != 1 || !strings.HasPrefix(got[0], "this will replace 3 of 3 control plane Machines") {
		t.Errorf("without a move: %q", got)
	}
}

// with3 gives an object another status, and asks for an authority.
func with3(t *testing.T, o *policies.Object, status, asks string) *policies.Object {
	t.Helper()
	content := map[string]any{}
	if err := json.Unmarshal(with2(t, o, status).Raw(), &content); err != nil {
		t.Fatal(err)
	}
	content["spec"].(map[string]any)["authoritativeAPI"] = asks
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	out, err := policies.ParseObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Of an edit that Cluster API cannot express the forecast is that nothing happens.
func TestAForecastOfWhatClusterAPICannotMake(t *testing.T) {
	v := reviewed()
	stored := v.Set.DeepCopy()
	larger(v)
	c := asked(t, stored, v)
	c.Old.Status = json.RawMessage(`{"authoritativeAPI":"ClusterAPI"}`)
	c.New.Status = c.Old.Status
	if !admission.Rules().Needs(c).Has(policies.NeedConversion) {
		t.Error("no conversion is asked for")
	}
	c.Facts.Unconvertible = field.ErrorList{field.Forbidden(field.NewPath("spec", "template", "x"), "no")}
	got := strings.Join(admission.Forecast(c).Warnings, "\n")
	if !strings.Contains(got, "this will do nothing until this problem is fixed") || !strings.Contains(got, "spec.template.x: Forbidden: no") {
		t.Errorf("%s", got)
	}
	if c := asked(t, stored, v); admission.Rules().Needs(c).Has(policies.NeedConversion) {
		t.Error("a conversion is asked for of a set of Machine API's")
	}
}
