// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cleanup"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

func item(t *testing.T, raw string) inventory.Item {
	t.Helper()
	o, err := policies.ParseObject([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return inventory.Item{Object: o}
}

func TestChanges(t *testing.T) {
	for sentence, c := range map[string]struct{ object, want string }{
		"nothing of Poundlock's":      {`{"metadata":{"finalizers":["x"],"annotations":{"a":"b","notpoundlock.openshift.io/a":"","poundlock.openshift.io":""}}}`, ""},
		"the finalizer goes":          {`{"metadata":{"resourceVersion":"7","finalizers":["x","sync.machine.openshift.io/finalizer"]}}`, `{"metadata":{"finalizers":["x"],"resourceVersion":"7"}}`},
		"and where it is the only":    {`{"metadata":{"resourceVersion":"7","finalizers":["sync.machine.openshift.io/finalizer"]}}`, `{"metadata":{"finalizers":[],"resourceVersion":"7"}}`},
		"marks go, the pause stays":   {`{"metadata":{"resourceVersion":"7","annotations":{"poundlock.openshift.io/mirror-of":"Machine/a","cluster.x-k8s.io/paused":"true"}}}`, `{"metadata":{"annotations":{"poundlock.openshift.io/mirror-of":null},"resourceVersion":"7"}}`},
		"Poundlock's hook goes":       {`{"metadata":{"resourceVersion":"7","annotations":{"pre-terminate.delete.hook.machine.cluster.x-k8s.io/poundlock-until-provider-knows-instance":"poundlock","pre-terminate.delete.hook.machine.cluster.x-k8s.io/a":"b"}}}`, `{"metadata":{"annotations":{"pre-terminate.delete.hook.machine.cluster.x-k8s.io/poundlock-until-provider-knows-instance":null},"resourceVersion":"7"}}`},
		"a mark leaves finalizers be": {`{"metadata":{"resourceVersion":"7","finalizers":["x"],"annotations":{"poundlock.openshift.io/derived":"a"}}}`, `{"metadata":{"annotations":{"poundlock.openshift.io/derived":null},"resourceVersion":"7"}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := ""
			for _, change := range cleanup.Changes([]inventory.Item{item(t, c.object)}) {
				raw, err := json.Marshal(change.Patch())
				if err != nil {
					t.Fatal(err)
				}
				got = string(raw)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestObstacles(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	machine := func(spec, status string) string {
		return `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","uid":"1"},"spec":{"authoritativeAPI":"` + spec +
			`"},"status":{"authoritativeAPI":"` + status + `"}}`
	}
	sets := func(current, machineAPI, clusterAPI string) string {
		return `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"s","namespace":"openshift-machine-api","uid":"1"` + machineAPI + `},"spec":{"authoritativeAPI":"` + current +
			`"},"status":{"authoritativeAPI":"` + current + `"}}
---
{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","metadata":{"name":"s","namespace":"openshift-cluster-api","uid":"2"` + clusterAPI + `},"spec":{}}`
	}
	machines := func(current, machineAPI, clusterAPI string) string {
		return strings.ReplaceAll(sets(current, machineAPI, clusterAPI), "MachineSet", "Machine")
	}
	const owned = `,"ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"s","uid":"3","controller":true}]`
	const hooked = `,"annotations":{"pre-terminate.delete.hook.machine.cluster.x-k8s.io/poundlock-until-provider-knows-instance":"poundlock"}`
	const going, held = `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, `,"finalizers":["sync.machine.openshift.io/finalizer"]`
	for sentence, c := range map[string]struct {
		object  string
		manager cleanup.Manager
		want    string
		remedy  string
	}{
		"nobody runs, nothing moves": {object: machine("MachineAPI", "MachineAPI")},
		"an object on the move":      {object: machine("ClusterAPI", "Migrating"), want: "machine/a is on the move", remedy: "Poundlock must run"},
		"an object that is asked to move": {object: machine("ClusterAPI", "MachineAPI"), want: "machine/a is asked to move to Cluster API",
			remedy: `kubectl label namespaces openshift-machine-api openshift-cluster-api poundlock.openshift.io/admission- && kubectl -n openshift-machine-api patch machines.machine.openshift.io a --type merge -p '{"spec":{"authoritativeAPI":"MachineAPI"}}'`},
		"sets of both APIs":                                                        {object: sets("MachineAPI", held, held)},
		"a mirror that goes with its Machines":                                     {object: sets("MachineAPI", held, going+held), want: "machineset/s is being deleted in Cluster API", remedy: "detach"},
		"one in the Machine API":                                                   {object: sets("ClusterAPI", going+held, held), want: "machineset/s is being deleted in Machine API", remedy: "detach"},
		"one that goes without them":                                               {object: sets("MachineAPI", held, going)},
		"what is authoritative goes as its user wants":                             {object: sets("MachineAPI", going+held, held)},
		"Cluster API's mirror of a Machine is being deleted":                       {object: machines("MachineAPI", held, going+held), want: "machine/s is being deleted in Cluster API", remedy: "the deletion then ends"},
		"that of a set's Machine":                                                  {object: machines("MachineAPI", held+owned, going+held), want: "machine/s is being deleted in Cluster API", remedy: "the deletion then ends"},
		"and nothing of Poundlock's is on it":                                      {object: machines("MachineAPI", held, going)},
		"the Machine API's mirror of a set's Machine is being deleted":             {object: machines("ClusterAPI", going+held+owned, held), want: "machine/s is being deleted in Machine API", remedy: "kubectl -n openshift-cluster-api delete machines.cluster.x-k8s.io s"},
		"that of a Machine of no set, which would go anyway":                       {object: machines("ClusterAPI", going+held, held)},
		"a Machine that its own controller ends":                                   {object: machines("MachineAPI", going+held, held)},
		"both are being deleted":                                                   {object: machines("MachineAPI", going+held, going+held)},
		"a Machine that is deleted, and whose provider does not know its instance": {object: machines("ClusterAPI", held, going+held+hooked), want: "machine/s waits for the provider", remedy: "removes it from the Machine"},
		"one whose instance the Machine API runs":                                  {object: machines("MachineAPI", going+held, going+held+hooked)},
		"one that nobody deletes":                                                  {object: machines("ClusterAPI", held, held+hooked)},
		"a Deployment with replicas":                                               {manager: cleanup.Manager{Deployment: 2}, want: "wants 2 replicas"},
		"one scaled to none":                                                       {manager: cleanup.Manager{}},
		"a Lease that is renewed":                                                  {manager: cleanup.Manager{Holder: "h", Renewed: now.Add(-5 * time.Second), Term: 15 * time.Second}, want: "renewed 5s ago by h"},
		"a Lease that ran out":                                                     {manager: cleanup.Manager{Holder: "h", Renewed: now.Add(-time.Minute), Term: 15 * time.Second}},
		"a Lease that was released":                                                {manager: cleanup.Manager{Renewed: now, Term: 15 * time.Second}},
		"a webhook that answers":                                                   {manager: cleanup.Manager{Answers: true}, want: "webhook answers"},
	} {
		t.Run(sentence, func(t *testing.T) {
			f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(c.object), authority.Pairs{inventory.DefaultPair})
			if err != nil {
				t.Fatal(err)
			}
			got := cleanup.Obstacles(f, c.manager, now)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0].What, c.want)) {
				t.Errorf("%+v, want %q", got, c.want)
			}
			if c.remedy != "" && !strings.Contains(got[0].Remedy, c.remedy) {
				t.Errorf("remedy %q, want %q", got[0].Remedy, c.remedy)
			}
		})
	}
}
