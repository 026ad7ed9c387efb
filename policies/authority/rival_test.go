// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
)

func TestRival(t *testing.T) {
	const (
		operator = `{metadata: {namespace: openshift-cluster-api, name: cluster-capi-operator}, spec: {replicas: 1, template: {spec: {containers: [{name: cluster-capi-operator}, {name: machine-api-migration}]}}}}`
		stopped  = `{metadata: {namespace: openshift-cluster-api, name: cluster-capi-operator}, spec: {replicas: 0, template: {spec: {containers: [{name: machine-api-migration}]}}}}`
		one      = `{metadata: {namespace: ns, name: o}, spec: {template: {spec: {containers: [{name: machine-api-migration}]}}}}`
		older    = `{metadata: {namespace: openshift-cluster-api, name: cluster-capi-operator}, spec: {replicas: 1, template: {spec: {containers: [{name: cluster-capi-operator}]}}}}`
		other    = `{metadata: {name: capi-controller-manager}, spec: {replicas: 1, template: {spec: {containers: [{name: manager}]}}}}`
		broken   = `{spec: {replicas: x, template: {spec: {containers: [1, {name: {}}]}}}}`
	)
	for _, c := range []struct {
		sentence, platform string
		deployments        []string
		policies           []string
		want               string
	}{
		{"it runs on AWS", "AWS", []string{other, operator}, nil, "Deployment openshift-cluster-api/cluster-capi-operator with the container machine-api-migration"},
		{"on OpenStack, with its policies", "OpenStack", []string{operator}, []string{"machine-api-machine-vap"},
			"Deployment openshift-cluster-api/cluster-capi-operator with the container machine-api-migration, ValidatingAdmissionPolicy machine-api-machine-vap"},
		{"the default of replicas is 1", "AWS", []string{one}, nil, "Deployment ns/o with the container machine-api-migration"},
		{"on Azure it does nothing", "Azure", []string{operator}, nil, ""},
		{"its policies refuse on Azure too", "Azure", []string{operator}, []string{"cluster-api-machine-vap"}, "ValidatingAdmissionPolicy cluster-api-machine-vap"},
		{"it was stopped", "AWS", []string{stopped}, nil, ""},
		{"the release does not have it", "AWS", []string{older, other}, nil, ""},
		{"a Deployment that nobody can read", "AWS", []string{broken}, nil, ""},
		{"nothing is there", "AWS", nil, nil, ""},
	} {
		var all []unstructured.Unstructured
		for _, text := range c.deployments {
			u := unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
				t.Fatal(err)
			}
			for _, path := range [][]string{{"spec", "replicas"}} { // as an API server's answer has it
				if n, is, _ := unstructured.NestedFieldNoCopy(u.Object, path...); is {
					if f, number := n.(float64); number {
						_ = unstructured.SetNestedField(u.Object, int64(f), path...)
					}
				}
			}
			all = append(all, u)
		}
		if got := authority.Rival(c.platform, all, c.policies); got != c.want {
			t.Errorf("%s: %q, want %q", c.sentence, got, c.want)
		}
	}
}

// A person who requests a move while the feature gate is off first reads that nothing moves.
func TestARequestWhileTheGateIsOff(t *testing.T) {
	seen := 0
	for _, c := range load(t) {
		if c.Rule != "authority/request-warning" || len(verdict(rules, c).Warnings) == 0 {
			continue
		}
		before := verdict(rules, c).Warnings
		c.Change.Facts.GateOff = true
		if after := verdict(rules, c).Warnings; len(after) == len(before)+1 {
			seen++
			if !strings.HasPrefix(after[0], "nothing moves: the feature gate MachineAPIMigration is off") {
				t.Errorf("%s: %q", c.Name, after)
			}
		}
	}
	if seen == 0 {
		t.Error("no request is told")
	}
}
