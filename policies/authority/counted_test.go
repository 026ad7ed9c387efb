// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// member returns a Machine that a set counts, unless more says otherwise.
func member(name, set, more string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"set":"a"},"ownerReferences":[{"kind":"MachineSet","name":"a","uid":%q,"controller":true}]%s}`,
		name, set, more)
}

// TestUncounted has two sets of the name a: m in the Machine API and c in Cluster API.
func TestUncounted(t *testing.T) {
	good := func(name, set string) string { return member(name, set, "}") }
	for name, c := range map[string]struct {
		machineAPI, clusterAPI []string
		want                   []string // the Machine, who counts it, and words of the reason
	}{
		"both count the same":      {[]string{good("x", "m")}, []string{good("x", "c")}, nil},
		"neither counts any":       {nil, nil, nil},
		"a mirror is not made yet": {[]string{good("x", "m"), good("y", "m")}, []string{good("x", "c")}, []string{"y MachineAPI it has no Cluster API object"}},
		"a mirror is not made, and the Machine says why": {[]string{member("x", "m", `},"status":{"conditions":[{"type":"Synchronized","status":"False","reason":"R","message":"spec.x: no"}]}`)}, nil,
			[]string{"x MachineAPI it has no Cluster API object (R: spec.x: no)"}},
		"a Machine of Cluster API's was born just now": {nil, []string{good("x", "c")}, []string{"x ClusterAPI it has no Machine API object"}},
		"a former mirror, whose Machine was deleted while Poundlock was away": {nil, []string{member("x", "c", `,"annotations":{"cluster.x-k8s.io/paused":"true"}}`)},
			[]string{"x ClusterAPI it has no Machine API object, and Poundlock creates none while the Cluster API Machine is paused. To let Cluster API act on it: " +
				"kubectl -n "}},
		"a mirror has no owner yet": {[]string{good("x", "m")}, []string{`{"metadata":{"name":"x","labels":{"set":"a"}}}`},
			[]string{"x MachineAPI its Cluster API object has no owner reference"}},
		"a mirror was released, by a change of its labels": {[]string{good("x", "m")}, []string{`{"metadata":{"name":"x","labels":{"set":"b"}}}`},
			[]string{"x MachineAPI its Cluster API object does not have the labels"}},
		"a mirror's owner is a set of that name which is gone": {[]string{good("x", "m")}, []string{good("x", "before")}, []string{"x MachineAPI another object owns"}},
		"a mirror lacks the labels of the selector": {[]string{good("x", "m")}, []string{strings.Replace(good("x", "c"), `"set":"a"`, `"set":"b"`, 1)},
			[]string{"x MachineAPI its Cluster API object does not have the labels"}},
		"another set's Machines do not matter": {[]string{good("x", "m"), good("y", "other")}, []string{good("x", "c"), good("z", "another")}, nil},
		"Machine API's set would adopt a Machine that no set owns": {
			[]string{good("x", "m"), `{"metadata":{"name":"y","labels":{"set":"a"}},"status":{"authoritativeAPI":"MachineAPI"}}`},
			[]string{good("x", "c"), `{"metadata":{"name":"y","labels":{"set":"a"},"annotations":{"cluster.x-k8s.io/paused":"true"}}}`},
			[]string{"y MachineAPI no MachineSet owns the Machine, but the MachineSet of Machine API would adopt the Machine because of its labels. To prevent that, " +
				"change the Machine's labels. Or migrate the Machine to Cluster API first: the set then adopts it at once, and if it has more Machines than spec.replicas, deletes one"}},
		"Cluster API's set would adopt a Machine that no set owns": {
			[]string{`{"metadata":{"name":"y","labels":{"set":"a"}},"status":{"authoritativeAPI":"ClusterAPI"}}`},
			[]string{`{"metadata":{"name":"y","labels":{"set":"a"}}}`},
			[]string{"y ClusterAPI no MachineSet owns the Machine, but the MachineSet of Cluster API would adopt the Machine because of its labels. To prevent that, " +
				"change the Machine's labels. Or migrate the Machine to Machine API first: the set then adopts it at once, and if it has more Machines than spec.replicas, deletes one"}},
		"Cluster API's set, which is authoritative, will adopt a Machine that has moved to it": {
			[]string{`{"metadata":{"name":"y","labels":{"set":"a"}},"status":{"authoritativeAPI":"ClusterAPI"}}`},
			[]string{`{"metadata":{"name":"y","labels":{"set":"a"}}}`},
			[]string{"y ClusterAPI no MachineSet owns the Machine yet. The MachineSet of Cluster API adopts the Machine, because of the Machine's labels, once the set is unpaused"}},
		"while the sets move, none of them adopts such a Machine": {
			[]string{`{"metadata":{"name":"y","labels":{"set":"a"}},"status":{"authoritativeAPI":"ClusterAPI"}}`},
			[]string{`{"metadata":{"name":"y","labels":{"set":"a"}}}`},
			[]string{"y ClusterAPI no MachineSet owns the Machine, and the MachineSet of Cluster API selects it. While authority over the sets moves, neither of them adopts"}},
		"a Machine that no set owns does not match": {
			[]string{`{"metadata":{"name":"y","labels":{"set":"b"}},"status":{"authoritativeAPI":"MachineAPI"}}`},
			[]string{`{"metadata":{"name":"y","labels":{"set":"b"},"annotations":{"cluster.x-k8s.io/paused":"true"}}}`}, nil},
		"what matches on neither side counts for neither": {[]string{strings.Replace(good("x", "m"), `"set":"a"`, `"set":"b"`, 1)}, nil, nil},
		"what is being deleted on both sides counts for neither": {
			[]string{member("x", "m", `,"deletionTimestamp":"2026-11-23T00:00:00Z"}`)}, []string{member("x", "c", `,"deletionTimestamp":"2026-11-23T00:00:00Z"}`)}, nil},
		"a deletion that has not come over yet": {nil, []string{member("x", "c", "}")}, []string{"x ClusterAPI it has no Machine API object"}},
		"a mirror that is being deleted while its Machine stays": {
			[]string{good("x", "m")}, []string{member("x", "c", `,"deletionTimestamp":"2026-11-23T00:00:00Z"}`)},
			[]string{"x MachineAPI its Cluster API object is being deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			status := ""
			if strings.Contains(name, "which is authoritative") {
				status = `,"status":{"authoritativeAPI":"ClusterAPI"}`
			}
			if strings.Contains(name, "while the sets move") {
				status = `,"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}`
			}
			r := authority.Roster{
				Sets: map[authority.API]*policies.Object{
					authority.MachineAPI: parsed(t, `{"metadata":{"name":"a","uid":"m"},"spec":{"selector":{"matchLabels":{"set":"a"}}}`+status+`}`),
					authority.ClusterAPI: parsed(t, `{"metadata":{"name":"a","uid":"c"},"spec":{"selector":{"matchLabels":{"set":"a"}}}}`),
				},
				Machines: map[authority.API][]*policies.Object{},
			}
			named := map[string]map[authority.API]*policies.Object{}
			for api, list := range map[authority.API][]string{authority.MachineAPI: c.machineAPI, authority.ClusterAPI: c.clusterAPI} {
				for _, raw := range list {
					m := parsed(t, raw)
					r.Machines[api] = append(r.Machines[api], m)
					if named[m.Metadata.Name] == nil {
						named[m.Metadata.Name] = map[authority.API]*policies.Object{}
					}
					named[m.Metadata.Name][api] = m
				}
			}
			got := r.Uncounted()
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %q", got, c.want)
			}
			for i, u := range got {
				r.Explain(&u, named[u.Name])
				line := fmt.Sprint(u.Name, " ", u.By, " ", u.Why)
				if !strings.HasPrefix(line, c.want[i]) {
					t.Errorf("got %q, want it to begin with %q", line, c.want[i])
				}
			}
		})
	}
}

// Cluster API's set has a Machine that only Cluster API has, and Machine API is authoritative for the set. The mirror creates no object for that Machine,
// whether it converts or not.
func TestUncountedForWantOfAReflection(t *testing.T) {
	for name, c := range map[string]struct {
		set, machine string
		want         bool
	}{
		"Machine API is authoritative":  {"MachineAPI", "}", true},
		"it moves from Machine API":     {`Migrating","synchronizedAPI":"MachineAPI`, "}", true},
		"Cluster API is":                {"ClusterAPI", "}", false},
		"it moves from Cluster API":     {`Migrating","synchronizedAPI":"ClusterAPI`, "}", false},
		"it is paused, a former mirror": {"MachineAPI", `,"annotations":{"cluster.x-k8s.io/paused":""}}`, false},
		"no API is authoritative yet":   {"", "}", false},
	} {
		r := authority.Roster{Sets: map[authority.API]*policies.Object{
			authority.MachineAPI: parsed(t, `{"metadata":{"name":"a","uid":"m"},"status":{"authoritativeAPI":"`+c.set+`"}}`)}}
		u := policies.Uncounted{Name: "x", By: policies.SideClusterAPI}
		r.Explain(&u, map[authority.API]*policies.Object{authority.ClusterAPI: parsed(t, member("x", "c", c.machine))})
		if u.Unreflected != c.want || strings.Contains(u.Why, "delete machines.cluster.x-k8s.io x.") != c.want {
			t.Errorf("%s: %t, %q", name, u.Unreflected, u.Why)
		}
	}
}

// The definition of the Machines' kind may be missing in the API whose set does not count them. The message distinguishes a definition that is being deleted
// from one that is gone, and does not advise to edit or delete a Machine that converts.
func TestUncountedForWantOfADefinition(t *testing.T) {
	const condition = `},"status":{"conditions":[{"type":"Synchronized","status":"%s","reason":"%s","message":"%s"}]}`
	stale := fmt.Sprintf(condition, "False", "SurroundingsDeleted", "CustomResourceDefinition machines.cluster.x-k8s.io is being deleted")
	unserved := fmt.Sprintf(condition, "Unknown", "ClusterAPINotInstalled", "The API server does not serve Machine")
	for name, c := range map[string]struct {
		by          authority.API
		machine     string
		definitions map[authority.API]authority.Presence
		want        string
		undefined   bool
	}{
		"it is gone, and the Machine's condition is older": {authority.MachineAPI, stale, map[authority.API]authority.Presence{authority.ClusterAPI: authority.Absent},
			"it has no Cluster API object: CustomResourceDefinition machines.cluster.x-k8s.io does not exist. Install Cluster API again, which creates the CRD. Poundlock then recreates the mirror", true},
		"it is being deleted": {authority.MachineAPI, stale, map[authority.API]authority.Presence{authority.ClusterAPI: authority.Deleting},
			"it has no Cluster API object: CustomResourceDefinition machines.cluster.x-k8s.io is being deleted. When it is gone, install Cluster API again, which " +
				"creates the CRD. Poundlock then recreates the mirror", true},
		"it exists": {authority.MachineAPI, stale, map[authority.API]authority.Presence{authority.ClusterAPI: authority.Present},
			"it has no Cluster API object (SurroundingsDeleted: CustomResourceDefinition machines.cluster.x-k8s.io is being deleted)", false},
		"nobody has looked, and the Machine waits for the kind": {authority.MachineAPI, unserved, nil,
			"it has no Cluster API object (ClusterAPINotInstalled: The API server does not serve Machine)", false},
		"the one of the other API is gone": {authority.MachineAPI, "}", map[authority.API]authority.Presence{authority.MachineAPI: authority.Absent}, "it has no Cluster API object", false},
		"the Machine API's is gone": {authority.ClusterAPI, "}", map[authority.API]authority.Presence{authority.MachineAPI: authority.Absent},
			"it has no Machine API object: CustomResourceDefinition machines.machine.openshift.io does not exist. OpenShift's cluster-version-operator creates the " +
				"CRD again: kubectl get clusterversion version", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := authority.Roster{Definitions: c.definitions}
			u := policies.Uncounted{Name: "x", By: policies.Side(c.by)}
			r.Explain(&u, map[authority.API]*policies.Object{c.by: parsed(t, member("x", "m", c.machine))})
			if u.Why != c.want || u.Undefined != c.undefined {
				t.Errorf("%q, %t; want %q, %t", u.Why, u.Undefined, c.want, c.undefined)
			}
		})
	}
}

func TestUncountedWithoutATwin(t *testing.T) {
	r := authority.Roster{Sets: map[authority.API]*policies.Object{authority.MachineAPI: parsed(t, `{"metadata":{"uid":"m"}}`)},
		Machines: map[authority.API][]*policies.Object{authority.MachineAPI: {parsed(t, member("x", "m", "}"))}}}
	if got := r.Uncounted(); got != nil {
		t.Errorf("got %v: the missing set is said elsewhere", got)
	}
}

func TestNameUncounted(t *testing.T) {
	var all []policies.Uncounted
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		all = append(all, policies.Uncounted{Name: name, Why: "y"})
	}
	want := []string{"Machine a: y", "Machine b: y", "Machine c: y", "Machine d: y", "Machine e: y", "1 more"}
	if diff := cmp.Diff(want, authority.NameUncounted(all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[:2], authority.NameUncounted(all[:2])); diff != "" {
		t.Error(diff)
	}
}

// TestAFormerMirrorHasItsReason: cleanup has removed the mark of a mirror, and its Machine was deleted in Machine API before Poundlock mirrored it again.
func TestAFormerMirrorHasItsReason(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	const paused = `"cluster.x-k8s.io/paused":""`
	written := func(manager string) string {
		return `,"managedFields":[{"manager":"` + manager + `","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:cluster.x-k8s.io/paused":{}}}}}]`
	}
	for name, c := range map[string]struct {
		annotations, fields string
		want                bool
	}{
		"Poundlock paused it":               {paused, written("poundlock-mirror"), true},
		"a person paused it":                {paused, written("kubectl"), false},
		"Poundlock did, and it is a mirror": {paused + `,"poundlock.openshift.io/mirror-of":"Machine/x"`, written("poundlock-mirror"), false},
		"Poundlock did, and it is unpaused": {`"a":""`, written("poundlock-mirror"), false},
		"nobody knows who wrote the pause":  {paused, "", false},
	} {
		o := parsed(t, `{"kind":"Machine","metadata":{"name":"x","namespace":"c","annotations":{`+c.annotations+`}`+c.fields+`}}`)
		why := authority.NotReflected(kind, o)
		if got := strings.Contains(why, "kubectl -n c delete --wait=false machines.cluster.x-k8s.io x"); got != c.want {
			t.Errorf("%s: %q", name, why)
		}
	}
}
