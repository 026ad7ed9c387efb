// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/internal/issuers"
)

func TestPreflight(t *testing.T) {
	core := func(contract string) Bundle {
		return Bundle{Provider: Provider{Name: coreName, Type: Core, Version: "v1.13.6"}, Contract: contract}
	}
	with := func(name, contract, documents string) Bundle {
		return Bundle{Provider: Provider{Name: name, Type: Infrastructure, Version: "v1.0.0"}, Contract: contract, Documents: decoded(t, documents)}
	}
	service := func(name string) string {
		return doc("Service", "name: "+name+", namespace: openshift-cluster-api, annotations: {"+issuers.ServingCert+": webhook-server-cert}", "")
	}
	for name, c := range map[string]struct {
		in  []Bundle
		err string
	}{
		"core and one more":               {in: []Bundle{with("a", "v1beta1", doc("ConfigMap", "name: a", "")), core("v1beta2")}},
		"of the same contract":            {in: []Bundle{core("v1beta2"), with("a", "v1beta2", "")}},
		"no core":                         {in: []Bundle{with("a", "v1beta1", "")}, err: ErrNoCore.Error()},
		"one twice":                       {in: []Bundle{core("v1beta2"), core("v1beta2")}, err: "twice"},
		"a contract that is too new":      {in: []Bundle{core("v1beta1"), with("a", "v1beta2", "")}, err: "uses contract v1beta2"},
		"a contract that is too old":      {in: []Bundle{core("v1beta2"), with("a", "v1alpha4", "")}, err: "uses contract v1alpha4"},
		"two with one object":             {in: []Bundle{core("v1beta2"), with("a", "v1beta1", doc("ClusterRole", "name: r", "")), with("b", "v1beta1", doc("ClusterRole", "name: r", ""))}, err: "ClusterRole/r is in infrastructure-a and in infrastructure-b"},
		"two with one that is dropped":    {in: []Bundle{core("v1beta2"), with("a", "v1beta1", doc("Namespace", "name: n", "")), with("b", "v1beta1", doc("Namespace", "name: n", ""))}},
		"two with one certificate":        {in: []Bundle{core("v1beta2"), with("a", "v1beta1", service("a")), with("b", "v1beta1", service("b"))}, err: "Secret webhook-server-cert"},
		"two with one name of two groups": {in: []Bundle{core("v1beta2"), with("a", "v1beta1", doc("Role", "name: r", "")), with("b", "v1beta1", doc("ClusterRole", "name: r", ""))}},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(Preflight(c.in)...)
			if !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

func TestOn(t *testing.T) {
	all := []Bundle{{Provider: Provider{Name: coreName}}, {Provider: Provider{Name: "aws", Platforms: []string{"AWS"}}},
		{Provider: Provider{Name: "ibmcloud", Platforms: []string{"PowerVS", "IBMCloud"}}}}
	for platform, want := range map[string]string{"AWS": "cluster-api aws", "IBMCloud": "cluster-api ibmcloud", "None": "cluster-api"} {
		var got []string
		for _, b := range On(platform, all) {
			got = append(got, b.Provider.Name)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Error(platform, diff)
		}
	}
}

func TestLostVersions(t *testing.T) {
	crd := decoded(t, doc("CustomResourceDefinition", "name: c", "spec: {versions: [{name: v1beta1}, {name: v1beta2}]}"))[0]
	if diff := cmp.Diff([]string{"v1alpha4"}, LostVersions(crd, []string{"v1alpha4", "v1beta2"})); diff != "" {
		t.Error(diff)
	}
}
