// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// The error about a kind that does not move lists the kinds that do, and suggests the nearest.
func TestAKindThatDoesNotMoveNamesWhatDoes(t *testing.T) {
	for word, want := range map[string]string{
		"machneset": "Did you mean machineset?",
		"machinesets.machine.openshift.io/a,machnes/b": "Did you mean machines?",
		"worker-a":                               `"worker-a" is a name without a kind, or a kind that does not move: give KIND/NAME, such as machineset/worker-a or machine/worker-a`,
		"worker.a":                               "such as machineset/worker.a",
		"pods/a":                                 `"pods" is a kind that does not move: give machine, machineset or machinehealthcheck`,
		"machinedeployments.cluster.x-k8s.io/md": "A MachineDeployment and its MachineSets stay in Cluster API",
		"awsmachines.infrastructure.cluster.x-k8s.io/a": "An infrastructure machine moves with its Machine",
		"azuremachine/a":       "An infrastructure machine moves with its Machine",
		"awsmachinetemplate/a": "moves with its MachineSet",
		"cpms/cluster":         "kubectl poundlock controlplane status shows it. This command does not move the set",
	} {
		_, err := Parse([]string{word})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", word, err, want)
		}
	}
}

// The error about a missing object names where it was looked for.
func TestAnObjectThatIsNotThereNamesTheNamespaces(t *testing.T) {
	t1, err := Parse([]string{"machineset/a"})
	if err != nil {
		t.Fatal(err)
	}
	err = t1.Pick(&inventory.Fleet{}, authority.Pairs{inventory.DefaultPair})
	if err == nil || !strings.Contains(err.Error(), "openshift-machine-api and openshift-cluster-api") || !strings.Contains(err.Error(), "--namespaces") {
		t.Error(err)
	}
}

// A platform's name is accepted in any case. An unknown name is a usage error, and no answer about the objects.
func TestThePlatformIsTypedInAnyCase(t *testing.T) {
	for typed, want := range map[string]string{"aws": "AWS", "AWS": "AWS", "vsphere": "VSphere", "powervs": "PowerVS", "baremetal": "BareMetal", "azur": "", "": ""} {
		var p platformName
		err := p.Set(typed)
		if string(p) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", typed, p, err)
		}
		if typed == "azur" && (err == nil || !strings.Contains(err.Error(), "Did you mean Azure?")) {
			t.Error(err)
		}
	}
}
