// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestBootData: a set whose new Machines would have no Secret to boot with does not move, and nobody is warned of a Secret that exists.
func TestBootData(t *testing.T) {
	const files = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"lock","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}
---
{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"lock","namespace":"openshift-cluster-api"},"spec":{}}
---
{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSCluster","metadata":{"name":"lock","namespace":"openshift-cluster-api"},"spec":{"region":"us-east-1"}}
---
{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"w","namespace":"openshift-machine-api","labels":{"machine.openshift.io/cluster-api-cluster":"lock"}},
"spec":{"replicas":0,"authoritativeAPI":"MachineAPI","selector":{"matchLabels":{"s":"w"}},"template":{"metadata":{"labels":{"s":"w","machine.openshift.io/cluster-api-cluster":"lock"}},
"spec":{"providerSpec":{"value":{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large","placement":{"region":"us-east-1","availabilityZone":"us-east-1a"},
"subnet":{"id":"subnet-1"},"iamInstanceProfile":{"id":"p"},"userDataSecret":{"name":"SECRET"},"credentialsSecret":{"name":"aws-cloud-credentials"},"deviceIndex":0}}}}},"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI"}}`
	for name, c := range map[string]struct {
		secret string
		exists policies.Existence
		reason string
		warned bool
	}{
		"that OpenShift copies":            {"worker-user-data", "", "", false},
		"of its own, which nobody may see": {"windows", "", "", true},
		"of its own, which exists":         {"windows", policies.Exists, "", false},
		"of its own, which is missing":     {"windows", policies.Absent, readiness.ReasonBootData, false},
	} {
		f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.ReplaceAll(files, "SECRET", c.secret)), authority.Pairs{inventory.DefaultPair})
		if err != nil || len(f.Pairs) != 1 {
			t.Fatal(err, f)
		}
		p, cluster := f.Pairs[0], f.Describe(inventory.Cluster{})
		p.BootData = c.exists
		env, unknown := f.Env(cluster, p)
		got := readiness.Judge(p, authority.ClusterAPI, env, unknown, nil)
		if (got.Reason == readiness.ReasonBootData) != (c.reason != "") {
			t.Errorf("%s: %s, %s: %s", name, got.Readiness, got.Reason, got.Message)
		}
		if c.reason != "" && !strings.Contains(got.Message, "kubectl -n openshift-machine-api get secret windows") {
			t.Errorf("%s: %s", name, got.Message)
		}
		if warned := slices.ContainsFunc(got.Preparations, authority.NamesBootSecret); warned != c.warned || slices.ContainsFunc(got.Warnings, authority.NamesBootSecret) != warned {
			t.Errorf("%s: warned %t: %q", name, warned, got.Preparations)
		}
	}
}
