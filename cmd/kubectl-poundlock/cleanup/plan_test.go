// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cleanup"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

func fleet(t *testing.T, objects string) *inventory.Fleet {
	t.Helper()
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(objects), authority.Pairs{inventory.DefaultPair})
	if err != nil {
		t.Fatal(err)
	}
	return f
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
			object := strings.Replace(c.object, `{"metadata":{`, `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a",`, 1)
			for _, change := range cleanup.Changes(fleet(t, object), nil) {
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

// A request to move that has not begun is taken back: a later installation would execute it.
func TestARequestIsTakenBack(t *testing.T) {
	object := func(requested, status, metadata string) string {
		return `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1","resourceVersion":"7"` + metadata +
			`},"spec":{"authoritativeAPI":"` + requested + `"},"status":{"authoritativeAPI":"` + status + `"}}`
	}
	const held, going = `,"finalizers":["x","sync.machine.openshift.io/finalizer"]`, `,"deletionTimestamp":"2026-01-01T00:00:00Z"`
	for sentence, c := range map[string]struct{ object, now, want string }{
		"none":                            {object: object("MachineAPI", "MachineAPI", "")},
		"to Cluster API":                  {object: object("ClusterAPI", "MachineAPI", ""), want: `{"metadata":{"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`},
		"to Machine API":                  {object: object("MachineAPI", "ClusterAPI", ""), want: `{"metadata":{"resourceVersion":"7"},"spec":{"authoritativeAPI":"ClusterAPI"}}`},
		"of what is deleted":              {object: object("ClusterAPI", "MachineAPI", going+held), want: `{"metadata":{"finalizers":["x"],"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`},
		"with the finalizer":              {object: object("ClusterAPI", "MachineAPI", held), want: `{"metadata":{"finalizers":["x"],"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`},
		"of what no API has yet":          {object: object("ClusterAPI", "", "")},
		"somebody took it back meanwhile": {object: object("ClusterAPI", "MachineAPI", held), now: object("MachineAPI", "MachineAPI", held), want: `{"metadata":{"finalizers":["x"],"resourceVersion":"7"}}`},
		"somebody asked meanwhile":        {object: object("MachineAPI", "MachineAPI", held), now: object("ClusterAPI", "MachineAPI", held), want: `{"metadata":{"finalizers":["x"],"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`},
		"which began meanwhile":           {object: object("ClusterAPI", "MachineAPI", held), now: object("ClusterAPI", "Migrating", held), want: `{"metadata":{"finalizers":["x"],"resourceVersion":"7"}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := ""
			for _, change := range cleanup.Changes(fleet(t, c.object), nil) {
				if c.now != "" {
					change = change.Again(fleet(t, c.now).Pairs[0].MachineAPI)
				}
				raw, err := json.Marshal(change.Patch())
				if err != nil {
					t.Fatal(err)
				}
				if got = string(raw); change.StatusPatch() != nil {
					t.Errorf("status is written: %v", change.StatusPatch())
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Mirrors that are deleted with their place are released without Poundlock, which may be deleted too. Nothing else changes because of that.
func TestLeaving(t *testing.T) {
	machineAPI := func(kind, requested, status, more string) string {
		return `{"apiVersion":"machine.openshift.io/v1beta1","kind":"` + kind + `","metadata":{"name":"s","namespace":"openshift-machine-api","uid":"1","resourceVersion":"7"` + more +
			`},"spec":{"authoritativeAPI":"` + requested + `"},"status":{"authoritativeAPI":"` + status + `","synchronizedAPI":"MachineAPI"}}`
	}
	clusterAPI := func(kind, finalizer, more string) string {
		return `
---
{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"` + kind + `","metadata":{"name":"s","namespace":"openshift-cluster-api","uid":"2","resourceVersion":"8","finalizers":["` + finalizer +
			`","sync.machine.openshift.io/finalizer"]` + more + `},"spec":{"clusterName":"c","infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"s"}}}
---
{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachine","metadata":{"name":"s","namespace":"openshift-cluster-api","uid":"3","resourceVersion":"9","finalizers":["awsmachine"]` + strings.Replace(more, `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, "", 1) + `}}`
	}
	const going, paused = `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, `,"annotations":{"cluster.x-k8s.io/paused":""}`
	const owned = `,"ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"x","uid":"9","controller":true}]`
	const machineOfSet = `
---
{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"s-1","namespace":"openshift-cluster-api","uid":"4","ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2",
"kind":"MachineSet","name":"s","uid":"2","controller":true}]},"spec":{}}`
	const ownedBySet = `,"ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","name":"NAME","uid":"1","controller":true}]`
	const held = `,"finalizers":["machine.machine.openshift.io","sync.machine.openshift.io/finalizer"]`
	const infrastructure = `
---
{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"c","platformStatus":{"type":"AWS"}}}`
	namespace := cleanup.Place{Kind: authority.Namespace, Name: "openshift-cluster-api"}
	const machineAPIGoes = `{"metadata":{"finalizers":["machine.machine.openshift.io"],"resourceVersion":"7"}}`
	const all, itsMachine = `{"metadata":{"finalizers":[],"resourceVersion":"8"}}`, `{"metadata":{"finalizers":[],"resourceVersion":"9"}}`
	const core = `{"metadata":{"finalizers":["core"],"resourceVersion":"8"}}`
	for sentence, c := range map[string]struct {
		objects  string
		leaving  []cleanup.Place
		obstacle string
		want     []string
	}{
		"a mirror goes with its namespace": {machineAPI("Machine", "MachineAPI", "MachineAPI", held) + clusterAPI("Machine", "core", going+paused), []cleanup.Place{namespace}, "", []string{machineAPIGoes, itsMachine, all}},
		"with its definition": {machineAPI("Machine", "MachineAPI", "MachineAPI", held) + clusterAPI("Machine", "core", going+paused),
			[]cleanup.Place{{Kind: authority.Definition, Name: "machines.cluster.x-k8s.io"}}, "", []string{machineAPIGoes, itsMachine, all}},
		"with the Cluster": {machineAPI("Machine", "MachineAPI", "MachineAPI", held) + clusterAPI("Machine", "core", going+paused),
			[]cleanup.Place{{Kind: authority.Cluster, Namespace: "openshift-cluster-api", Name: "c"}}, "", []string{machineAPIGoes, itsMachine, all}},
		"not with another Cluster": {machineAPI("Machine", "MachineAPI", "MachineAPI", held) + clusterAPI("Machine", "core", going+paused),
			[]cleanup.Place{{Kind: authority.Cluster, Namespace: "openshift-cluster-api", Name: "d"}}, "is being deleted in Cluster API", nil},
		"not with the Machine API's namespace": {machineAPI("Machine", "MachineAPI", "MachineAPI", held) + clusterAPI("Machine", "core", going+paused),
			[]cleanup.Place{{Kind: authority.Namespace, Name: "openshift-machine-api"}}, "is being deleted in Cluster API", nil},
		"one that is not deleted yet":           {machineAPI("Machine", "MachineAPI", "MachineAPI", held) + clusterAPI("Machine", "core", paused), []cleanup.Place{namespace}, "", []string{machineAPIGoes, core}},
		"what is not paused keeps its own":      {machineAPI("Machine", "MachineAPI", "MachineAPI", held) + clusterAPI("Machine", "core", going), []cleanup.Place{namespace}, "", []string{machineAPIGoes, core}},
		"what Cluster API runs keeps its own":   {machineAPI("Machine", "ClusterAPI", "ClusterAPI", held) + clusterAPI("Machine", "core", going), []cleanup.Place{namespace}, "", []string{machineAPIGoes, core}},
		"a mirror of the Machine API's of that": {machineAPI("Machine", "ClusterAPI", "ClusterAPI", held+going+owned) + clusterAPI("Machine", "core", ""), []cleanup.Place{{Kind: authority.Namespace, Name: "openshift-machine-api"}}, "", []string{machineAPIGoes, core}},
		"a set goes with its Machines' namespace": {machineAPI("MachineSet", "MachineAPI", "MachineAPI", held) + clusterAPI("MachineSet", "core", going+paused), []cleanup.Place{namespace}, "",
			[]string{machineAPIGoes, all}},
		"its Machines that Cluster API runs lose it as their owner first": {machineAPI("MachineSet", "MachineAPI", "MachineAPI", held) + clusterAPI("MachineSet", "core", going+paused) + "\n---\n" +
			strings.ReplaceAll(machineAPI("Machine", "ClusterAPI", "ClusterAPI", held), `"s"`, `"s-1"`) + `
---
{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"s-1","namespace":"openshift-cluster-api","uid":"4","resourceVersion":"8","finalizers":["core"]` + going +
			`,"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":"s","uid":"2","controller":true}]},"spec":{"clusterName":"c"}}`,
			[]cleanup.Place{namespace}, "", []string{machineAPIGoes, machineAPIGoes, `{"metadata":{"labels":{"cluster.x-k8s.io/set-name":null},"ownerReferences":[],"resourceVersion":"8"}}`, all}},
		"the Machine API's mirror of a set that goes with its namespace releases the Machines that Machine API runs": {machineAPI("MachineSet", "ClusterAPI", "ClusterAPI", held+going) +
			clusterAPI("MachineSet", "core", going) + "\n---\n" + strings.ReplaceAll(strings.ReplaceAll(machineAPI("Machine", "MachineAPI", "MachineAPI", held+ownedBySet), `"s"`, `"s-1"`), "NAME", "s") +
			"\n---\n" + strings.ReplaceAll(strings.ReplaceAll(machineAPI("Machine", "ClusterAPI", "ClusterAPI", held+ownedBySet), `"s"`, `"s-2"`), "NAME", "s"),
			[]cleanup.Place{namespace}, "", []string{`{"metadata":{"finalizers":["machine.machine.openshift.io"],"labels":{"cluster.x-k8s.io/set-name":null},"ownerReferences":[],"resourceVersion":"7"}}`, machineAPIGoes, machineAPIGoes, core}},
		"one whose definition goes takes Machines along that stay": {machineAPI("MachineSet", "MachineAPI", "MachineAPI", held) + clusterAPI("MachineSet", "core", going+paused) + machineOfSet,
			[]cleanup.Place{{Kind: authority.Definition, Name: "machinesets.cluster.x-k8s.io"}}, "is being deleted in Cluster API", nil},
		"a move there is taken back": {machineAPI("Machine", "ClusterAPI", "Migrating", `,"finalizers":["sync.machine.openshift.io/finalizer"]`) + clusterAPI("Machine", "core", going+paused), []cleanup.Place{namespace}, "",
			[]string{`{"metadata":{"finalizers":["machine.machine.openshift.io"],"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`, `{"status":{"authoritativeAPI":"MachineAPI"}}`, itsMachine, all}},
		"a request there that has not begun is taken back, also of what is deleted": {machineAPI("Machine", "ClusterAPI", "MachineAPI", held+going) + clusterAPI("Machine", "core", going+paused), []cleanup.Place{namespace}, "",
			[]string{`{"metadata":{"finalizers":["machine.machine.openshift.io"],"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`, itsMachine, all}},
		"a move elsewhere is in the way":   {machineAPI("Machine", "ClusterAPI", "Migrating", held) + clusterAPI("Machine", "core", paused), nil, "is moving", nil},
		"one of a Machine that is deleted": {machineAPI("Machine", "ClusterAPI", "Migrating", held+going) + clusterAPI("Machine", "core", going+paused), []cleanup.Place{namespace}, "is moving", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			f, leaving := fleet(t, c.objects+infrastructure), cleanup.Leaving{}
			for _, place := range c.leaving {
				leaving[place] = true
			}
			obstacles := cleanup.Obstacles(f, leaving, cleanup.Manager{}, time.Time{})
			if c.obstacle != "" {
				if len(obstacles) != 1 || !strings.Contains(obstacles[0].What, c.obstacle) {
					t.Errorf("%v, want %q", obstacles, c.obstacle)
				}
				return
			}
			if len(obstacles) > 0 {
				t.Errorf("in the way: %v", obstacles)
			}
			var got []string
			for _, change := range cleanup.Changes(f, leaving) {
				for _, patch := range []map[string]any{change.Patch(), change.StatusPatch()} {
					if raw, _ := json.Marshal(patch); patch != nil {
						got = append(got, string(raw))
					}
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestIdle(t *testing.T) {
	const paused = `,"annotations":{"cluster.x-k8s.io/paused":"true"}`
	machine := func(authority, core, infra string) string {
		return `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","namespace":"openshift-machine-api","uid":"1"},"spec":{"authoritativeAPI":"` +
			authority + `"},"status":{"authoritativeAPI":"` + authority + `"}}
---
{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"2"` + core +
			`},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"a"}}}
---
{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachine","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"3"` + infra + `},"spec":{}}`
	}
	const command = "kubectl -n openshift-cluster-api annotate "
	const core, infra = command + "machine.cluster.x-k8s.io a cluster.x-k8s.io/paused-", command + "awsmachine.infrastructure.cluster.x-k8s.io a cluster.x-k8s.io/paused-"
	for sentence, c := range map[string]struct{ objects, want string }{
		"a mirror":                      {machine("MachineAPI", paused, paused), ""},
		"Cluster API acts":              {machine("ClusterAPI", "", ""), ""},
		"the move has only just ended":  {machine("ClusterAPI", paused, paused), core + " && " + infra},
		"the Machine alone is unpaused": {machine("ClusterAPI", "", paused), infra},
		"on the move":                   {strings.Replace(machine("ClusterAPI", paused, paused), `"status":{"authoritativeAPI":"ClusterAPI"}`, `"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}`, 1), ""},
	} {
		got := cleanup.Idle(fleet(t, c.objects))
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasSuffix(got[0], "To unpause this object: "+c.want)) {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}

// A deletion that waits for the end of a pause has an order of its own, in which the provider holds the instance before its Machine goes.
func TestAnIdleDeletion(t *testing.T) {
	got := cleanup.Idle(fleet(t, `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"openshift-cluster-api","uid":"2",`+
		`"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["machine.cluster.x-k8s.io"],"annotations":{"cluster.x-k8s.io/paused":""}},`+
		`"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachine","name":"a"}}}`))
	if len(got) != 1 || strings.Index(got[0], "finalizers") > strings.Index(got[0], "machines.cluster.x-k8s.io/a cluster.x-k8s.io/paused-") {
		t.Errorf("%q", got)
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
	child := func(group, namespace, owner string) string {
		return `
---
{"apiVersion":"` + group + `","kind":"Machine","metadata":{"name":"s-1","namespace":"` + namespace + `","uid":"4","ownerReferences":[{"apiVersion":"` + group +
			`","kind":"MachineSet","name":"s","uid":"` + owner + `","controller":true}]},"spec":{}}`
	}
	const coreGroup, machineGroup = "cluster.x-k8s.io/v1beta2", "machine.openshift.io/v1beta1"
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
		"nobody runs, nothing moves":                                               {object: machine("MachineAPI", "MachineAPI")},
		"an object on the move":                                                    {object: machine("ClusterAPI", "Migrating"), want: "machine/a is moving", remedy: "Poundlock must run"},
		"an object that is asked to move, whose move has not begun":                {object: machine("ClusterAPI", "MachineAPI")},
		"one that is asked to move back":                                           {object: machine("MachineAPI", "ClusterAPI")},
		"one that is asked to move and is being deleted":                           {object: strings.Replace(machine("ClusterAPI", "MachineAPI"), `"uid":"1"`, `"uid":"1"`+going+held, 1)},
		"sets of both APIs":                                                        {object: sets("MachineAPI", held, held)},
		"a mirror that goes with its Machines":                                     {object: sets("MachineAPI", held, going+held) + child(coreGroup, "openshift-cluster-api", "2"), want: "machineset/s is being deleted in Cluster API", remedy: "releases the Machines"},
		"one from which Poundlock has detached its Machines":                       {object: sets("MachineAPI", held, going+held) + child(coreGroup, "openshift-cluster-api", "5")},
		"one in the Machine API":                                                   {object: sets("ClusterAPI", going+held, held) + child(machineGroup, "openshift-machine-api", "1"), want: "machineset/s is being deleted in Machine API", remedy: "releases the Machines"},
		"one there that has none":                                                  {object: sets("ClusterAPI", going+held, held)},
		"one that goes without them":                                               {object: sets("MachineAPI", held, going)},
		"what is authoritative goes as its user wants":                             {object: sets("MachineAPI", going+held, held)},
		"Cluster API's mirror of a Machine is being deleted":                       {object: machines("MachineAPI", held, going+held), want: "machine/s is being deleted in Cluster API", remedy: "finishes the deletion"},
		"that of a set's Machine":                                                  {object: machines("MachineAPI", held+owned, going+held), want: "machine/s is being deleted in Cluster API", remedy: "finishes the deletion"},
		"and nothing of Poundlock's is on it":                                      {object: machines("MachineAPI", held, going)},
		"the Machine API's mirror of a set's Machine is being deleted":             {object: machines("ClusterAPI", going+held+owned, held), want: "machine/s is being deleted in Machine API", remedy: "kubectl -n openshift-cluster-api delete machines.cluster.x-k8s.io s"},
		"that of a Machine of no set, which would go anyway":                       {object: machines("ClusterAPI", going+held, held)},
		"a Machine that its own controller ends":                                   {object: machines("MachineAPI", going+held, held)},
		"both are being deleted":                                                   {object: machines("MachineAPI", going+held, going+held)},
		"a Machine that is deleted, and whose provider does not know its instance": {object: machines("ClusterAPI", held, going+held+hooked), want: "machine/s is being deleted, and its provider in Cluster API does not know the instance yet", remedy: "annotate machines.cluster.x-k8s.io s pre-terminate"},
		"one whose instance the Machine API runs":                                  {object: machines("MachineAPI", going+held, going+held+hooked)},
		"one that nobody deletes":                                                  {object: machines("ClusterAPI", held, held+hooked)},
		"a Deployment with replicas":                                               {manager: cleanup.Manager{Deployment: 2}, want: "is scaled to 2 replicas"},
		"a Deployment with one replica":                                            {manager: cleanup.Manager{Deployment: 1}, want: "is scaled to 1 replica:"},
		"one scaled to none":                                                       {manager: cleanup.Manager{}},
		"a Lease that is renewed":                                                  {manager: cleanup.Manager{Holder: "h", Renewed: now.Add(-5 * time.Second), Term: 15 * time.Second}, want: "renewed 5s ago by h"},
		"a Lease that ran out":                                                     {manager: cleanup.Manager{Holder: "h", Renewed: now.Add(-time.Minute), Term: 15 * time.Second}},
		"a Lease that was released":                                                {manager: cleanup.Manager{Renewed: now, Term: 15 * time.Second}},
		"a webhook that answers":                                                   {manager: cleanup.Manager{Answers: true}, want: "webhook answers"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := cleanup.Obstacles(fleet(t, c.object), nil, c.manager, now)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0].What, c.want)) {
				t.Errorf("%+v, want %q", got, c.want)
			}
			if c.remedy != "" && !strings.Contains(got[0].Remedy, c.remedy) {
				t.Errorf("remedy %q, want %q", got[0].Remedy, c.remedy)
			}
		})
	}
}

// A ControlPlaneMachineSet moves without a twin: nothing is paused for it, and Poundlock has no finalizer on it.
func TestAControlPlaneMachineSet(t *testing.T) {
	set := func(requested, status, origin, metadata, machineType string) string {
		return `{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","metadata":{"name":"cluster","namespace":"openshift-machine-api","uid":"1","resourceVersion":"7"` + metadata +
			`},"spec":{"authoritativeAPI":"` + requested + `","template":{"machineType":"` + machineType + `","` + machineType + `":{}}},"status":{"authoritativeAPI":"` + status + `","synchronizedAPI":"` + origin + `"}}`
	}
	const (
		old, of      = "machines_v1beta1_machine_openshift_io", "machines_v1beta2_cluster_x_k8s_io"
		held         = `,"finalizers":["controlplanemachineset.machine.openshift.io"]`
		going        = `,"deletionTimestamp":"2026-01-01T00:00:00Z"` + held
		generated    = `,"annotations":{"a":"b","poundlock.openshift.io/generated":"{}"}`
		patch        = "kubectl -n openshift-machine-api patch controlplanemachinesets.machine.openshift.io cluster --type merge -p "
		toMachineAPI = patch + `'{"spec":{"authoritativeAPI":"MachineAPI"}}'`
		toClusterAPI = patch + `'{"spec":{"authoritativeAPI":"ClusterAPI"}}'`
		template     = `
---
{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachineTemplate","metadata":{"name":"cluster-1","namespace":"openshift-cluster-api","uid":"2","resourceVersion":"8",` +
			`"annotations":{"poundlock.openshift.io/mirror-of":"ControlPlaneMachineSet/cluster"}},"spec":{}}
---
{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"x","platformStatus":{"type":"AWS"}}}`
	)
	places := []cleanup.Place{{Kind: authority.Namespace, Name: "openshift-cluster-api"}}
	for sentence, c := range map[string]struct {
		object   string
		leaving  []cleanup.Place
		obstacle string
		remedy   []string
		patches  []string
	}{
		"stays":                 {object: set("MachineAPI", "MachineAPI", "MachineAPI", held, old)},
		"no API has it yet":     {object: set("ClusterAPI", "", "", held, old)},
		"is asked to move":      {object: set("ClusterAPI", "MachineAPI", "MachineAPI", held, old), patches: []string{`{"metadata":{"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`}},
		"is asked to move back": {object: set("MachineAPI", "ClusterAPI", "ClusterAPI", held, old), patches: []string{`{"metadata":{"resourceVersion":"7"},"spec":{"authoritativeAPI":"ClusterAPI"}}`}},
		"is asked to move and is being deleted": {object: set("ClusterAPI", "MachineAPI", "MachineAPI", going, old),
			patches: []string{`{"metadata":{"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`}},
		"was generated": {object: set("MachineAPI", "MachineAPI", "MachineAPI", held+generated, old),
			patches: []string{`{"metadata":{"annotations":{"poundlock.openshift.io/generated":null},"resourceVersion":"7"}}`}},
		"was generated and is asked to move": {object: set("ClusterAPI", "MachineAPI", "MachineAPI", generated, old),
			patches: []string{`{"metadata":{"annotations":{"poundlock.openshift.io/generated":null},"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`}},
		"is reflected: the template stays without its mark": {object: set("MachineAPI", "MachineAPI", "MachineAPI", held, old) + template,
			patches: []string{`{"metadata":{"annotations":{"poundlock.openshift.io/mirror-of":null},"resourceVersion":"8"}}`}},
		"is on the move": {object: set("ClusterAPI", "Migrating", "MachineAPI", held, old), obstacle: "controlplanemachineset/cluster is moving (status.authoritativeAPI is Migrating)",
			remedy: []string{"wait until the move ends", toMachineAPI, "--control-plane"}},
		"is on the move back": {object: set("MachineAPI", "Migrating", "ClusterAPI", held, old), obstacle: "controlplanemachineset/cluster is moving (status.authoritativeAPI is Migrating)",
			remedy: []string{"wait until the move ends", toClusterAPI, "--control-plane"}},
		"is on a move that was cancelled": {object: set("MachineAPI", "Migrating", "MachineAPI", held, old), obstacle: "controlplanemachineset/cluster is moving (status.authoritativeAPI is Migrating)",
			remedy: []string{"already MachineAPI", "--control-plane"}},
		"is on the move with a template of Cluster API's, for which Machine API cannot be authoritative": {object: set("ClusterAPI", "Migrating", "MachineAPI", held, of),
			obstacle: "controlplanemachineset/cluster is moving (status.authoritativeAPI is Migrating)", remedy: []string{"wait until the move ends", "spec.template", old, toMachineAPI}},
		"is on a move from nowhere": {object: set("ClusterAPI", "Migrating", "", held, old), obstacle: "controlplanemachineset/cluster is moving (status.authoritativeAPI is Migrating)",
			remedy: []string{"status.synchronizedAPI", "--subresource status", "--control-plane"}},
		"is on the move and is being deleted, so that it never arrives": {object: set("ClusterAPI", "Migrating", "MachineAPI", going, old)},
		"is on the move to a namespace that is being deleted, and Poundlock with it": {object: set("ClusterAPI", "Migrating", "MachineAPI", held, old), leaving: places,
			patches: []string{`{"metadata":{"finalizers":["controlplanemachineset.machine.openshift.io"],"resourceVersion":"7"},"spec":{"authoritativeAPI":"MachineAPI"}}`,
				`{"status":{"authoritativeAPI":"MachineAPI"}}`}},
		"is on the move from there": {object: set("MachineAPI", "Migrating", "ClusterAPI", held, old), leaving: places, obstacle: "controlplanemachineset/cluster is moving (status.authoritativeAPI is Migrating)",
			remedy: []string{toClusterAPI}},
	} {
		t.Run(sentence, func(t *testing.T) {
			leaving, f := cleanup.Leaving{}, fleet(t, c.object)
			for _, place := range c.leaving {
				leaving[place] = true
			}
			got := cleanup.Obstacles(f, leaving, cleanup.Manager{}, time.Now())
			if c.obstacle == "" && len(got) > 0 || c.obstacle != "" && (len(got) != 1 || got[0].What != c.obstacle) {
				t.Fatalf("%+v, want %q", got, c.obstacle)
			}
			for _, part := range c.remedy {
				if !strings.Contains(got[0].Remedy, part) {
					t.Errorf("remedy %q, want %q in it", got[0].Remedy, part)
				}
			}
			var patches []string
			for _, change := range cleanup.Changes(f, leaving) {
				for _, patch := range []map[string]any{change.Patch(), change.StatusPatch()} {
					if patch == nil {
						continue
					}
					raw, err := json.Marshal(patch)
					if err != nil {
						t.Fatal(err)
					}
					patches = append(patches, string(raw))
				}
			}
			if !slices.Equal(patches, c.patches) {
				t.Errorf("%q, want %q", patches, c.patches)
			}
		})
	}
}
