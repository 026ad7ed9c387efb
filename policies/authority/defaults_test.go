// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

func parse(t testing.TB, raw string) *policies.Object {
	t.Helper()
	o, err := policies.ParseObject([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDefaulters(t *testing.T) {
	type patches = []policies.Patch
	request := func(api authority.API) patches { return patches{{Path: "/spec/authoritativeAPI", Value: api}} }
	status := func(api authority.API) patches { return patches{{Path: "/status/authoritativeAPI", Value: api}} }
	const mirrorOf = "the object"
	const moved = `{"spec":{"authoritativeAPI":"ClusterAPI","replicas":2}}`
	const known = `{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI","synchronizedGeneration":7,"conditions":[{"type":"Synchronized","status":"True","newer":1}]}`
	others := map[string][]string{"status": {authority.ControlPlane}}
	for name, tt := range map[string]struct {
		sub            string
		by             policies.Actor
		old, new, twin string
		want           patches
		needs          policies.Need
	}{
		"a create for nobody without a twin": {new: `{"spec":{}}`, want: request("MachineAPI"), needs: policies.NeedLiveTwin},
		"a create for nobody beside a twin":  {new: `{"spec":{}}`, twin: `{}`, want: request("ClusterAPI"), needs: policies.NeedLiveTwin},
		"a create for nobody beside its paused mirror": {new: `{"spec":{}}`, twin: `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"","poundlock.openshift.io/mirror-of":"` + mirrorOf + `"}}}`,
			want: request("MachineAPI"), needs: policies.NeedLiveTwin},
		"a create without a spec beside a twin":                         {new: `{}`, twin: `{}`, want: request("ClusterAPI"), needs: policies.NeedLiveTwin},
		"a create with an empty text beside a twin":                     {new: `{"spec":{"authoritativeAPI":""}}`, twin: `{}`, want: request("ClusterAPI"), needs: policies.NeedLiveTwin},
		"a create with null beside a twin":                              {new: `{"spec":{"authoritativeAPI":null}}`, twin: `{}`, want: request("ClusterAPI"), needs: policies.NeedLiveTwin},
		"a create for Machine API stays as it is":                       {new: `{"spec":{"authoritativeAPI":"MachineAPI"}}`, twin: `{}`},
		"a create for Cluster API stays as it is":                       {new: `{"spec":{"authoritativeAPI":"ClusterAPI"}}`},
		"an update for nobody stays as it is":                           {old: `{"spec":{}}`, new: `{"spec":{}}`},
		"a person's patch asks for Machine API":                         {old: moved, new: `{"spec":{"authoritativeAPI":"MachineAPI","replicas":2}}`},
		"where there is no CRD default":                                 {by: policies.MachineAPIController, old: moved, new: `{"spec":{"replicas":2}}`, want: request("ClusterAPI")},
		"a person leaves the field out, and no CRD default fills it in": {old: moved, new: `{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":2}}`, want: request("ClusterAPI")},
		"a person writes an empty text":                                 {old: moved, new: `{"spec":{"authoritativeAPI":"","replicas":2}}`, want: request("ClusterAPI")},
		"a controller leaves the field out":                             {by: policies.MachineAPIController, old: moved, new: `{"metadata":{"labels":{"a":"b"}},"spec":{"authoritativeAPI":"MachineAPI","replicas":3}}`, want: request("ClusterAPI")},
		"a controller that knows it":                                    {by: policies.Autoscaler, old: moved, new: `{"spec":{"authoritativeAPI":"ClusterAPI","replicas":3}}`},
		"Poundlock asks for Machine API":                                {by: policies.Poundlock, old: moved, new: `{"spec":{"authoritativeAPI":"MachineAPI","replicas":2}}`},
		"a request for Cluster API is no default":                       {by: policies.MachineAPIController, old: `{"spec":{"authoritativeAPI":"MachineAPI"}}`, new: `{"spec":{"authoritativeAPI":"ClusterAPI"}}`},
		"a template that lost it": {by: policies.AutoscalerOperator, old: `{"spec":{"authoritativeAPI":"MachineAPI","template":{"spec":{"authoritativeAPI":"ClusterAPI"}}}}`,
			new:  `{"spec":{"authoritativeAPI":"MachineAPI","template":{"spec":{"authoritativeAPI":"MachineAPI"}}}}`,
			want: patches{{Path: "/spec/template/spec/authoritativeAPI", Value: authority.ClusterAPI}}},
		"a first status follows the stored spec":     {sub: "status", old: `{"spec":{"authoritativeAPI":"ClusterAPI"}}`, new: `{"status":{"phase":"x"}}`, want: status("ClusterAPI"), needs: policies.NeedLiveTwin},
		"an empty status follows the stored spec":    {sub: "status", old: `{"spec":{"authoritativeAPI":"MachineAPI"}}`, new: `{"status":{}}`, want: status("MachineAPI")},
		"a first status without a spec is Machine's": {sub: "status", old: `{}`, new: `{}`, want: status("MachineAPI")},
		"the requested spec is not the stored one":   {sub: "status", old: `{"spec":{"authoritativeAPI":"ClusterAPI"}}`, new: `{"spec":{"authoritativeAPI":"MachineAPI"}}`, want: status("ClusterAPI"), needs: policies.NeedLiveTwin},
		"a status that names authority stays":        {sub: "status", old: `{}`, new: `{"status":{"authoritativeAPI":"MachineAPI"}}`},
		"a status that lost its authority keeps it":  {sub: "status", old: `{"status":{"authoritativeAPI":"Migrating"}}`, new: `{"status":{}}`, want: patches{{Path: "/status/authoritativeAPI", Value: json.RawMessage(`"Migrating"`)}}},
		"a client that lacks the fields keeps them": {sub: "status", old: `{"status":` + known + `}`, new: `{"status":{"authoritativeAPI":"ClusterAPI","conditions":[{"type":"Paused"}],"phase":"Running"}}`,
			want: patches{{Path: "/status/synchronizedAPI", Value: json.RawMessage(`"ClusterAPI"`)},
				{Path: "/status/synchronizedGeneration", Value: json.RawMessage(`7`)},
				{Path: "/status/conditions", Value: []any{map[string]any{"type": "Paused"}, map[string]any{"type": "Synchronized", "status": "True", "newer": 1.0}}}}},
		"a client that knows none of it keeps all": {sub: "status", old: `{"status":` + known + `}`, new: `{"status":{"phase":"Running"}}`,
			want: patches{{Path: "/status/authoritativeAPI", Value: json.RawMessage(`"ClusterAPI"`)},
				{Path: "/status/synchronizedAPI", Value: json.RawMessage(`"ClusterAPI"`)}, {Path: "/status/synchronizedGeneration", Value: json.RawMessage(`7`)},
				{Path: "/status/conditions", Value: []any{map[string]any{"type": "Synchronized", "status": "True", "newer": 1.0}}}}},
		"a list that was read before AuthoritySettled was written": {sub: "status", old: `{"status":{"authoritativeAPI":"MachineAPI","conditions":[{"type":"Synchronized"},{"type":"AuthoritySettled","status":"True"}]}}`,
			new: `{"status":{"authoritativeAPI":"MachineAPI","conditions":[{"type":"Synchronized"},{"type":"Paused"}]}}`,
			want: patches{{Path: "/status/conditions", Value: []any{map[string]any{"type": "Synchronized"}, map[string]any{"type": "Paused"},
				map[string]any{"type": "AuthoritySettled", "status": "True"}}}}},
		"a list that was read before either was written": {sub: "status", old: `{"status":{"authoritativeAPI":"MachineAPI","conditions":[{"type":"AuthoritySettled"},{"type":"Synchronized"}]}}`,
			new: `{"status":{"authoritativeAPI":"MachineAPI","conditions":[{"type":"Paused"}]}}`,
			want: patches{{Path: "/status/conditions", Value: []any{map[string]any{"type": "Paused"}, map[string]any{"type": "Synchronized"},
				map[string]any{"type": "AuthoritySettled"}}}}},
		"null is absent": {sub: "status", old: `{"status":` + known + `}`, new: `{"status":{"authoritativeAPI":null,"synchronizedAPI":"ClusterAPI","synchronizedGeneration":7,"conditions":[{"type":"Synchronized"}]}}`,
			want: patches{{Path: "/status/authoritativeAPI", Value: json.RawMessage(`"ClusterAPI"`)}}},
		"what is changed is not put back, but refused": {sub: "status", old: `{"status":` + known + `}`, new: `{"status":{"authoritativeAPI":"MachineAPI","synchronizedAPI":"MachineAPI","synchronizedGeneration":8,"conditions":[{"type":"Synchronized"}]}}`},
		"Poundlock takes away what it wrote":           {sub: "status", by: policies.Poundlock, old: `{"status":` + known + `}`, new: `{"status":{"authoritativeAPI":"MachineAPI"}}`},
		"a status that has authority is left in peace": {sub: "status", old: `{"status":{"authoritativeAPI":"ClusterAPI"}}`, new: `{"status":{"authoritativeAPI":"ClusterAPI"}}`},
	} {
		for _, kind := range append([]string{"Machine", "MachineSet", "MachineHealthCheck"}, others[tt.sub]...) {
			t.Run(name+" ("+kind+")", func(t *testing.T) {
				c := policies.Change{
					Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: kind, Subresource: tt.sub, Name: "x"},
					Actor:     tt.by,
					Operation: admissionv1.Create, Old: parse(t, tt.old), New: parse(t, tt.new),
					Facts: policies.Facts{Twin: parse(t, strings.ReplaceAll(tt.twin, mirrorOf, kind+"/x"))},
				}
				if c.Old != nil {
					c.Operation = admissionv1.Update
				}
				all := policies.Defaulters(authority.Defaulters())
				if kind == authority.ControlPlane {
					tt.needs = 0 // it has no object in Cluster API
				}
				if got := all.Needs(c); got != tt.needs {
					t.Errorf("needs %b, want %b", got, tt.needs)
				}
				if diff := gocmp.Diff(tt.want, all.Patches(c)); diff != "" {
					t.Errorf("patches (-want +got):\n%s", diff)
				}
				if err := all.FixedPoint(c); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestAnAdoptionSaysThatTheObjectExists: any client may be the first to store that Cluster API is authoritative. The defaulter adds that the object of Cluster
// API exists.
func TestAnAdoptionSaysThatTheObjectExists(t *testing.T) {
	exists := policies.Patch{Path: "/status/synchronizedGeneration", Value: 0}
	const asks = `{"spec":{"authoritativeAPI":"ClusterAPI"}}`
	for name, c := range map[string]struct {
		old, new string
		twin     bool
		want     []policies.Patch
	}{
		"a first status":                               {asks, `{"status":{"phase":"x"}}`, true, []policies.Patch{{Path: "/status/authoritativeAPI", Value: authority.ClusterAPI}, exists}},
		"a controller names the authority":             {asks, `{"status":{"authoritativeAPI":"ClusterAPI"}}`, true, []policies.Patch{exists}},
		"there is none yet":                            {asks, `{"status":{"authoritativeAPI":"ClusterAPI"}}`, false, nil},
		"it is said already":                           {asks, `{"status":{"authoritativeAPI":"ClusterAPI","synchronizedGeneration":0}}`, true, nil},
		"a generation is stored":                       {`{"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"synchronizedGeneration":3}}`, `{"status":{"authoritativeAPI":"ClusterAPI","synchronizedGeneration":3}}`, true, nil},
		"Machine API is authoritative":                 {`{"spec":{"authoritativeAPI":"MachineAPI"}}`, `{"status":{"authoritativeAPI":"MachineAPI"}}`, true, nil},
		"it is adopted already":                        {`{"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"ClusterAPI"}}`, `{"status":{"authoritativeAPI":"ClusterAPI"}}`, true, nil},
		"another authority than the spec's is refused": {asks, `{"status":{"authoritativeAPI":"MachineAPI"}}`, true, nil},
	} {
		for _, by := range []policies.Actor{policies.Anyone, policies.MachineAPIController, policies.Poundlock} {
			for _, kind := range authority.Kinds() {
				change := policies.Change{
					Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: kind.Name, Subresource: "status", Name: "x"},
					Actor:   by, Operation: admissionv1.Update, Old: parse(t, c.old), New: parse(t, c.new),
				}
				if c.twin {
					change.Facts.Twin = parse(t, `{}`)
				}
				if diff := gocmp.Diff(c.want, policies.Defaulters(authority.Defaulters()).Patches(change)); diff != "" {
					t.Errorf("%s (%s, by %q): %s", name, kind.Name, by, diff)
				}
			}
		}
	}
}

// A manifest that replaces an object has neither the sync finalizer nor an owner, so these are restored. A request that removes nothing else does so on
// purpose, and is refused with the reason.
func TestAReplacedObjectKeepsItsFinalizerAndOwner(t *testing.T) {
	const stored = `{"metadata":{"labels":{"team":"a"},"finalizers":["mine/f","sync.machine.openshift.io/finalizer"],"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","name":"c","uid":"u"}]},"spec":{"replicas":2}}`
	const twin = `{"status":{"authoritativeAPI":"MachineAPI"}}`
	finalizer := policies.Patch{Path: "/metadata/finalizers", Value: []string{"mine/f", authority.SyncFinalizer}}
	owner := policies.Patch{Path: "/metadata/ownerReferences", Value: parse(t, stored).Metadata.OwnerReferences}
	for name, tt := range map[string]struct {
		kind     string
		by       policies.Actor
		old, new string
		twin     string
		want     []policies.Patch
	}{
		"another spec": {new: `{"metadata":{"labels":{"team":"a"},"finalizers":["mine/f"]},"spec":{"replicas":3}}`, twin: twin, want: []policies.Patch{finalizer, owner}},
		"other labels": {new: `{"metadata":{"labels":{"team":"b"},"finalizers":["mine/f"]},"spec":{"replicas":2}}`, twin: twin, want: []policies.Patch{finalizer, owner}},
		"a finalizer of its own and no other": {new: `{"metadata":{"finalizers":["other/f"]},"spec":{"replicas":2}}`, twin: twin,
			want: []policies.Patch{{Path: "/metadata/finalizers", Value: []string{"other/f", authority.SyncFinalizer}}, owner}},
		"an owner that is named": {new: `{"metadata":{"labels":{"team":"b"},"finalizers":["mine/f"],"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x"}]},"spec":{"replicas":2}}`,
			twin: twin, want: []policies.Patch{finalizer}},
		"a Machine, whose owner somebody may want to remove": {kind: "Machine", new: `{"metadata":{"labels":{"team":"b"},"finalizers":["mine/f"]},"spec":{"replicas":2}}`, twin: twin,
			want: []policies.Patch{finalizer}},
		"nothing but the finalizer": {new: `{"metadata":{"labels":{"team":"a"},"finalizers":["mine/f"],"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","name":"c","uid":"u"}]},"spec":{"replicas":2}}`, twin: twin},
		"nothing but both":          {new: `{"metadata":{"labels":{"team":"a"},"finalizers":["mine/f"]},"spec":{"replicas":2}}`, twin: twin},
		"neither":                   {new: strings.Replace(stored, `"replicas":2`, `"replicas":3`, 1), twin: twin},
		"no twin":                   {new: `{"metadata":{"labels":{"team":"b"}},"spec":{"replicas":3}}`},
		"a controller":              {by: policies.ClusterAPIController, new: `{"metadata":{"labels":{"team":"b"}},"spec":{"replicas":3}}`, twin: twin},
		"Poundlock":                 {by: policies.Poundlock, new: `{"metadata":{"labels":{"team":"b"}},"spec":{"replicas":3}}`, twin: twin},
		"one that is being deleted": {old: strings.Replace(stored, `"labels"`, `"deletionTimestamp":"2026-01-01T00:00:00Z","labels"`, 1), new: `{"metadata":{"labels":{"team":"b"}},"spec":{"replicas":3}}`, twin: twin},
		"one that never had either": {old: `{"spec":{"replicas":2}}`, new: `{"spec":{"replicas":3}}`, twin: twin},
	} {
		c := policies.Change{Subject: policies.Subject{Side: policies.SideClusterAPI, Kind: cmp.Or(tt.kind, "MachineSet"), Name: "x"}, Actor: tt.by,
			Operation: admissionv1.Update, Old: parse(t, cmp.Or(tt.old, stored)), New: parse(t, tt.new), Facts: policies.Facts{Twin: parse(t, tt.twin)}}
		all := policies.Defaulters(authority.Defaulters())
		if diff := gocmp.Diff(tt.want, all.Patches(c)); diff != "" {
			t.Errorf("%s: patches (-want +got):\n%s", name, diff)
		}
		if got := all.Needs(c).Has(policies.NeedTwin); len(tt.want) > 0 && !got {
			t.Errorf("%s: the twin is not looked up", name)
		}
		if err := all.FixedPoint(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If a manifest replaces a CRD or a namespace, the mark of the objects that live in it is restored. A request that only removes the mark is refused, with the
// reason.
func TestReplacedSurroundingsKeepTheirMark(t *testing.T) {
	const stored = `{"metadata":{"labels":{"a":"b"},"annotations":{"note":"n","poundlock.openshift.io/holds-mirrors":"2 Machines"}},"spec":{"versions":[1]}}`
	kept := []policies.Patch{{Path: "/metadata/annotations/poundlock.openshift.io~1holds-mirrors", Value: "2 Machines"}}
	for name, tt := range map[string]struct {
		by       policies.Actor
		old, new string
		want     []policies.Patch
	}{
		"another spec":              {new: `{"metadata":{"labels":{"a":"b"},"annotations":{"note":"n"}},"spec":{"versions":[1,2]}}`, want: kept},
		"no annotations at all":     {new: `{"metadata":{"labels":{"a":"b"}},"spec":{"versions":[1]}}`, want: kept},
		"a controller of a release": {by: policies.ClusterAPIController, new: `{"metadata":{},"spec":{"versions":[2]}}`, want: kept},
		"the mark alone":            {new: `{"metadata":{"labels":{"a":"b"},"annotations":{"note":"n"}},"spec":{"versions":[1]}}`},
		"another mark":              {new: `{"metadata":{"annotations":{"poundlock.openshift.io/holds-mirrors":"x"}},"spec":{"versions":[2]}}`},
		"its deletion is allowed":   {new: `{"metadata":{"annotations":{"poundlock.openshift.io/allow-deletion":"true"}},"spec":{"versions":[2]}}`},
		"its deletion was allowed":  {old: strings.Replace(stored, `"note"`, `"poundlock.openshift.io/allow-deletion":"true","note"`, 1), new: `{"metadata":{},"spec":{"versions":[2]}}`},
		"Poundlock":                 {by: policies.Poundlock, new: `{"metadata":{},"spec":{"versions":[2]}}`},
		"one that is being deleted": {old: strings.Replace(stored, `"labels"`, `"deletionTimestamp":"2026-01-01T00:00:00Z","labels"`, 1), new: `{"metadata":{},"spec":{"versions":[2]}}`},
		"one that holds no mirrors": {old: `{"spec":{"versions":[1]}}`, new: `{"spec":{"versions":[2]}}`},
	} {
		for _, kind := range []string{authority.Namespace, authority.Definition, authority.Cluster, authority.InfraCluster} {
			c := policies.Change{Subject: policies.Subject{Side: policies.Surroundings, Kind: kind, Name: "x"}, Actor: tt.by, Operation: admissionv1.Update,
				Old: parse(t, cmp.Or(tt.old, stored)), New: parse(t, tt.new)}
			all := policies.Defaulters(authority.Defaulters())
			if diff := gocmp.Diff(tt.want, all.Patches(c)); diff != "" {
				t.Errorf("%s of %s: patches (-want +got):\n%s", name, kind, diff)
			}
			if err := all.FixedPoint(c); err != nil {
				t.Errorf("%s of %s: %v", name, kind, err)
			}
		}
	}
}

// A field that a release does not name must not be filled in. The release's cluster-version-operator would remove it again, for ever.
func TestTheReleasesCheckIsLeftAsItIs(t *testing.T) {
	c := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "MachineHealthCheck"}, Operation: admissionv1.Create}
	for name, tt := range map[string]struct {
		object string
		want   int
	}{
		"the release's":             {`{"metadata":{"name":"machine-api-termination-handler"},"spec":{}}`, 0},
		"another one of a release":  {`{"metadata":{"name":"x","ownerReferences":[{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","name":"version"}]},"spec":{}}`, 0},
		"a person's":                {`{"metadata":{"name":"x"},"spec":{}}`, 1},
		"one that somebody manages": {`{"metadata":{"name":"x","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"version"}]},"spec":{}}`, 1},
	} {
		c.New = parse(t, tt.object)
		if got := policies.Defaulters(authority.Defaulters()).Patches(c); len(got) != tt.want {
			t.Errorf("%s: %v, want %d patches", name, got, tt.want)
		}
	}
}

func TestPairs(t *testing.T) {
	pairs, err := authority.ParsePairs([]string{"m=c", "m2=c2"})
	if err != nil {
		t.Fatal(err)
	}
	for namespace, want := range map[string]authority.Pair{
		"m": {MachineAPI: "m", ClusterAPI: "c"}, "c2": {MachineAPI: "m2", ClusterAPI: "c2"}, "m3": {}, "": {},
	} {
		got, ok := pairs.Of(namespace)
		if got != want || ok != (want != authority.Pair{}) {
			t.Errorf("%q is of %v, %t, want %v", namespace, got, ok, want)
		}
	}
	for name, texts := range map[string][]string{
		"none": nil, "no other half": {"m"}, "an empty half": {"m="}, "another empty half": {"=c"}, "twice the same": {"m=m"},
		"one in two pairs": {"m=c", "m=d"}, "one on both sides": {"m=c", "c=d"},
	} {
		if got, err := authority.ParsePairs(texts); err == nil {
			t.Errorf("%s: %v, want an error", name, got)
		}
	}
}
