// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/vsphere/vspheretest"
)

// zoned is a cluster of three failure domains: a and b share everything but a group of hosts, c is another cluster. twin places as c does. The VSphereCluster
// offers the named ones.
func zoned(offered ...string) conversion.Env {
	env := vspheretest.Kit().Env()
	domain := func(name, cluster, group string) map[string]any {
		d := map[string]any{
			"name": name, "region": "r", "zone": name, "server": "vcenter.example.com",
			"topology": map[string]any{
				"datacenter": "dc1", "computeCluster": "/dc1/host/" + cluster, "datastore": "/dc1/datastore/ds1", "networks": []any{"/dc1/network/VM Network"},
			},
		}
		if group != "" {
			d["zoneAffinity"] = map[string]any{"type": "HostGroup", "hostGroup": map[string]any{"vmGroup": group, "hostGroup": "hosts", "vmHostRule": "rule"}}
		}
		return d
	}
	env.Infrastructure = map[string]any{"spec": map[string]any{"platformSpec": map[string]any{"vsphere": map[string]any{
		"failureDomains": []any{domain("a", "cluster1", "group-a"), domain("b", "cluster1", "group-b"), domain("c", "cluster2", ""), domain("twin", "cluster2", "")},
	}}}}
	status := map[string]any{}
	for _, name := range offered {
		status[name] = map[string]any{"controlPlane": true}
	}
	spec := maps.Clone(env.InfraCluster["spec"].(map[string]any))
	spec["failureDomainSelector"] = map[string]any{}
	env.InfraCluster["spec"], env.InfraCluster["status"] = spec, map[string]any{"failureDomains": status}
	return env
}

func TestAGroupIsAFailureDomain(t *testing.T) {
	in := func(cluster, group string) string {
		w := map[string]any{"resourcePool": "/dc1/host/" + cluster + "/Resources"}
		if group != "" {
			w["vmGroup"] = group
		}
		raw, _ := json.Marshal(map[string]any{"workspace": w})
		return string(raw)
	}
	cases := map[string]struct {
		patch   string
		offered []string
		domain  string
		want    []string
	}{
		"the first group":                     {patch: in("cluster1", "group-a"), offered: []string{"a", "b"}, domain: "a"},
		"the second group":                    {patch: in("cluster1", "group-b"), offered: []string{"a", "b"}, domain: "b"},
		"a pool as installers write it":       {patch: `{"workspace": {"resourcePool": "/dc1/host/cluster1//Resources", "vmGroup": "group-a"}}`, offered: []string{"a"}, domain: "a"},
		"no group":                            {patch: in("cluster1", ""), offered: []string{"a", "b"}},
		"a group that is not offered":         {patch: in("cluster1", "group-b"), offered: []string{"a"}, want: []string{"VSphereCluster.status.failureDomains: FieldValueNotSupported"}},
		"a group of another cluster":          {patch: in("cluster2", "group-a"), offered: []string{"a"}, want: []string{"workspace.vmGroup: FieldValueNotSupported"}},
		"a group that nobody knows":           {patch: in("cluster1", "group-z"), offered: []string{"a"}, want: []string{"workspace.vmGroup: FieldValueNotSupported"}},
		"a cluster that is a domain":          {patch: in("cluster2", ""), offered: []string{"a", "c"}, domain: "c"},
		"a cluster whose domain is unoffered": {patch: in("cluster2", ""), offered: []string{"a"}},
		"two domains alike":                   {patch: in("cluster2", ""), offered: []string{"twin", "c"}, domain: "c"},
		"the same but on another network":     {patch: `{"workspace": {"resourcePool": "/dc1/host/cluster2/Resources"}, "network": {"devices": [{"networkName": "other"}]}}`, offered: []string{"c"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env, core := zoned(c.offered...), &conversion.Core{}
			p := conversion.NewPass(&env, core, "")
			spec := conversiontest.Patched(t, plain, c.patch)
			there := conversiontest.ToClusterAPI(p, spec)
			conversiontest.Same(t, c.want, p.Errors())
			if len(c.want) > 0 {
				return
			}
			if core.FailureDomain != c.domain {
				t.Errorf("went to %q, not to %q", core.FailureDomain, c.domain)
			}
			secret := "worker-user-data"
			core.BootstrapSecret = &secret
			raw, _ := json.Marshal(there)
			back := conversion.NewPass(&env, core, "")
			again := conversiontest.ToMachineAPI(back, raw)
			conversiontest.Same(t, nil, back.Errors())
			wanted := p.Env.Platform.Spec.NewProviderSpec().(*providerSpec)
			if err := json.Unmarshal(spec, wanted); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(wanted.Workspace, again.(*providerSpec).Workspace); d != "" {
				t.Errorf("came back elsewhere (-went +back):\n%s", d)
			}
		})
	}
}

// TestADomainWithoutAZone: if OpenShift manages the VSphereCluster, its status lists the failure domains of the ControlPlaneMachineSet. There are no
// VSphereDeploymentZones for them, and Cluster API creates no virtual machine in one that it does not find.
func TestADomainWithoutAZone(t *testing.T) {
	env := zoned("a", "c")
	delete(env.InfraCluster["spec"].(map[string]any), "failureDomainSelector")
	for sentence, c := range map[string]struct {
		patch string
		want  []string
	}{
		"workers where the control plane is": {patch: `{"workspace": {"resourcePool": "/dc1/host/cluster2/Resources"}}`},
		"workers in a group":                 {patch: `{"workspace": {"vmGroup": "group-a"}}`, want: []string{"VSphereCluster.status.failureDomains: FieldValueNotSupported"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			core := &conversion.Core{Template: true}
			p := conversion.NewPass(&env, core, "")
			conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain, c.patch))
			conversiontest.Same(t, c.want, p.Errors())
			if core.FailureDomain != "" {
				t.Errorf("went to %q", core.FailureDomain)
			}
		})
	}
	t.Run("the template of a ControlPlaneMachineSet", func(t *testing.T) {
		p := conversion.NewPass(&env, &conversion.Core{Template: true, ControlPlane: true, FailureDomain: "a", BootstrapSecret: new("master-user-data")}, "")
		m := conversiontest.ToMachineAPI(p, []byte(plainInfra)).(*providerSpec)
		conversiontest.Same(t, nil, p.Errors())
		if m.Workspace.VMGroup != "group-a" {
			t.Errorf("came into group %q", m.Workspace.VMGroup)
		}
	})
}

func TestAFailureDomainPlacesAMachine(t *testing.T) {
	const nowhere = `"datacenter": null, "datastore": null, "resourcePool": null, "server": null`
	cases := map[string]struct {
		domain, own string
		template    bool
		patch       string
		offered     []string
		group       string
		want        []string
	}{
		"a domain fills in what is absent":    {domain: "a", patch: `{` + nowhere + `}`, offered: []string{"a"}, group: "group-a"},
		"a domain agrees with what is there":  {domain: "a", patch: `{}`, offered: []string{"a"}, group: "group-a"},
		"the machine's own domain":            {own: "b", patch: `{}`, offered: []string{"b"}, group: "group-b"},
		"both say the same":                   {domain: "b", own: "b", patch: `{}`, offered: []string{"b"}, group: "group-b"},
		"each says another":                   {domain: "b", own: "a", patch: `{}`, offered: []string{"a", "b"}, group: "group-b", want: []string{"failureDomain: FieldValueNotSupported"}},
		"a domain in another spelling":        {domain: "a", patch: `{"resourcePool": "/dc1/host/cluster1//Resources"}`, offered: []string{"a"}, group: "group-a"},
		"a domain says another datastore":     {domain: "a", patch: `{"datastore": "ds2"}`, offered: []string{"a"}, group: "group-a", want: []string{"datastore: FieldValueNotSupported"}},
		"a domain says another network":       {domain: "a", patch: `{"network": {"devices": [{"networkName": "other", "dhcp4": true}]}}`, offered: []string{"a"}, group: "group-a", want: []string{"network.devices[0].networkName: FieldValueNotSupported"}},
		"a domain that nobody knows":          {domain: "z", patch: `{}`, offered: []string{"a", "z"}, want: []string{"spec.failureDomain: FieldValueNotSupported"}},
		"a domain that is not offered":        {domain: "a", patch: `{}`, offered: []string{"b"}, group: "group-a", want: []string{"spec.failureDomain: FieldValueNotSupported"}},
		"the same, in a template":             {domain: "a", template: true, patch: `{}`, offered: []string{"b"}, group: "group-a", want: []string{"spec.template.spec.failureDomain: FieldValueNotSupported"}},
		"the same, of the machine itself":     {own: "a", patch: `{}`, offered: []string{"b"}, group: "group-a", want: []string{"failureDomain: FieldValueNotSupported"}},
		"a domain that cannot be told apart":  {domain: "twin", patch: `{"resourcePool": "/dc1/host/cluster2/Resources"}`, offered: []string{"c", "twin"}, want: []string{"spec.failureDomain: FieldValueNotSupported"}},
		"none, though placed as a domain is":  {patch: `{"resourcePool": "/dc1/host/cluster2/Resources"}`, offered: []string{"c"}, want: []string{"spec.failureDomain: FieldValueNotSupported"}},
		"none, and placed as no domain would": {patch: `{}`, offered: []string{"a", "b", "c"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			env := zoned(c.offered...)
			p := conversion.NewPass(&env, &conversion.Core{FailureDomain: c.domain, Template: c.template}, "")
			own := map[string]any{}
			if c.own != "" {
				own["failureDomain"] = c.own
			}
			raw, _ := json.Marshal(own)
			m := conversiontest.ToMachineAPI(p, conversiontest.Patched(t, string(conversiontest.Patched(t, plainInfra, c.patch)), string(raw))).(*providerSpec)
			conversiontest.Same(t, c.want, p.Errors())
			if m.Workspace.VMGroup != c.group {
				t.Errorf("came into group %q, not %q", m.Workspace.VMGroup, c.group)
			}
			if len(c.want) == 0 && (m.Workspace.Datastore != "/dc1/datastore/ds1" || m.Workspace.Datacenter != "dc1" || m.Workspace.Server != "vcenter.example.com") {
				t.Errorf("came to %+v", *m.Workspace)
			}
		})
	}
}
