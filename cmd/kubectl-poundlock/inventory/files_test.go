// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/policies/authority"
)

var pairs = authority.Pairs{inventory.DefaultPair}

const machine = `apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {name: %s, namespace: openshift-machine-api, labels: {machine.openshift.io/cluster-api-cluster: lock}}
spec: {providerSpec: {value: {kind: AWSMachineProviderConfig, placement: {region: us-east-1}}}}
`

func read(t *testing.T, text string) *inventory.Fleet {
	t.Helper()
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(text), pairs)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDocuments(t *testing.T) {
	for sentence, c := range map[string]struct {
		text     string
		refs     []string
		problems int
		others   int
	}{
		"nothing":                          {},
		"an empty document and a comment":  {text: "---\n# nothing\n---\n"},
		"two documents, sets first":        {text: fmt.Sprintf(machine, "a") + "---\n{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: s}}\n", refs: []string{"machineset/s", "machine/a"}},
		"a list":                           {text: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: b}}\n- {apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}\n", refs: []string{"machine/a", "machine/b"}},
		"JSON":                             {text: `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a"}}`, refs: []string{"machine/a"}},
		"both sides are one pair":          {text: fmt.Sprintf(machine, "a") + "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: a, namespace: openshift-cluster-api}}\n", refs: []string{"machine/a"}},
		"the same twice is one":            {text: fmt.Sprintf(machine, "a") + "---\n" + fmt.Sprintf(machine, "a"), refs: []string{"machine/a"}},
		"what is none of ours is counted":  {text: "{apiVersion: v1, kind: Secret, metadata: {name: x}}\n", others: 1},
		"a key that is given twice":        {text: "apiVersion: machine.openshift.io/v1beta1\nkind: Machine\nkind: Machine\n", problems: 1},
		"a name that is a list":            {text: "{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: [a]}}\n", problems: 1},
		"a word":                           {text: "hello\n", problems: 1},
		"no YAML":                          {text: ": : :\n", problems: 1},
		"an older Cluster API":             {text: "{apiVersion: cluster.x-k8s.io/v1beta1, kind: Machine, metadata: {name: a}}\n", problems: 1},
		"one bad document spoils no other": {text: "hello\n---\n" + fmt.Sprintf(machine, "a"), refs: []string{"machine/a"}, problems: 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := read(t, c.text)
			var refs []string
			for _, p := range f.Pairs {
				refs = append(refs, p.Ref())
			}
			if diff := cmp.Diff(c.refs, refs); diff != "" {
				t.Error(diff)
			}
			if len(f.Problems) != c.problems || f.Others != c.others {
				t.Errorf("problems %v, others %d", f.Problems, f.Others)
			}
		})
	}
}

func TestAFolderLeavesOutWhatIsNoManifest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"namespaces/openshift-machine-api/machine.openshift.io/machines/a.yaml": "---\n" + fmt.Sprintf(machine, "a"),
		"config.openshift.io/infrastructures.yaml":                              "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster}, status: {infrastructureName: lock, platformStatus: {type: AWS, aws: {region: us-east-1}}}}\n",
		"pods/log.yaml":          "this: is: no YAML\n",
		"version":                "4.22",
		"broken/machineset.yaml": "apiVersion: machine.openshift.io/v1beta1\nkind: [\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := inventory.FromFiles([]string{dir}, nil, pairs)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Pairs) != 1 || len(f.Problems) != 1 || !strings.HasSuffix(f.Problems[0].Source, "machineset.yaml") {
		t.Errorf("pairs %v, problems %v", f.Pairs, f.Problems)
	}
	c := f.Describe(inventory.Cluster{Platform: "Azure"})
	if c.Platform != "AWS" || c.Name != "lock" || len(c.Assumed) != 1 || !strings.Contains(c.Assumed[0], "--platform Azure is ignored") {
		t.Errorf("the Infrastructure says it, not the person: %+v", c)
	}
	env, err := f.Env(c, f.Pairs[0])
	if err != nil || env.Region != "us-east-1" {
		t.Errorf("region %q, %v", env.Region, err)
	}
}

func TestWithoutAnInfrastructureTheObjectsDecide(t *testing.T) {
	f := read(t, fmt.Sprintf(machine, "a"))
	c := f.Describe(inventory.Cluster{})
	if c.Platform != "AWS" || c.Name != "lock" || c.Region != "us-east-1" || len(c.Assumed) == 0 {
		t.Errorf("%+v", c)
	}
	if c := f.Describe(inventory.Cluster{Platform: "AWS", Name: "mine", Region: "eu-west-1"}); c.Name != "mine" || c.Region != "eu-west-1" || len(c.Assumed) != 0 {
		t.Errorf("what the person says comes first: %+v", c)
	}
	for sentence, text := range map[string]string{
		"a kind of no platform": "{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}, spec: {providerSpec: {value: {kind: MoonMachine}}}}",
		"no providerSpec":       "{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}, spec: []}",
	} {
		f := read(t, text)
		if _, err := f.Env(f.Describe(inventory.Cluster{}), f.Pairs[0]); err == nil {
			t.Errorf("%s: a conversion without a platform", sentence)
		}
	}
}

// A manifest that was just written has few fields: these are judged all the same.
func TestAClusterThatNothingNames(t *testing.T) {
	f := read(t, "apiVersion: machine.openshift.io/v1beta1\nkind: Machine\nmetadata: {name: m}\nspec: {providerSpec: {value: {kind: AWSMachineProviderConfig}}}\n")
	c := f.Describe(inventory.Cluster{})
	if c.Name == "" || !strings.Contains(strings.Join(c.Assumed, " "), "--cluster-name") {
		t.Errorf("named %q, and said %q", c.Name, c.Assumed)
	}
	if value := f.Describe(inventory.Cluster{Name: "mine"}); value.Name != "mine" {
		t.Errorf("named %q", value.Name)
	}
}

// One object has the same answer as among all objects: every object that was shown describes the cluster.
func TestANameDoesNotNarrowWhatTheClusterIsReadFrom(t *testing.T) {
	const azure = `apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {name: master-0, namespace: openshift-machine-api, labels: {machine.openshift.io/cluster-api-cluster: lock}}
spec: {providerID: azure:///subscriptions/s-1/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m, providerSpec: {value: {kind: AzureMachineProviderSpec}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: tainted, namespace: openshift-cluster-api, uid: u}, spec: {taints: [{key: a, effect: NoSchedule, propagation: Always}]}}
---
{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: s, namespace: openshift-machine-api}, spec: {}}
`
	describe := func(narrowed bool) (conversion.Env, inventory.Cluster) {
		f := read(t, azure)
		set := f.Pairs[0]
		if narrowed {
			f.Narrow(func(p inventory.Pair) bool { return p.Ref() == set.Ref() })
		}
		c := f.Describe(inventory.Cluster{})
		env, err := f.Env(c, set)
		if err != nil {
			t.Fatal(err)
		}
		return env, c
	}
	one, ofOne := describe(true)
	all, ofAll := describe(false)
	if one.Account != "s-1" || one.Account != all.Account || one.ClusterName != "lock" || one.TakesTaints == nil || !*one.TakesTaints {
		t.Errorf("account %q, cluster %q, taints %v", one.Account, one.ClusterName, one.TakesTaints)
	}
	if diff := cmp.Diff(ofAll.Assumed, ofOne.Assumed); diff != "" {
		t.Error(diff)
	}
}
