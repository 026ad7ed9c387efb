// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairfacts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// denies lets nobody read.
type denies struct{ client.Reader }

func (denies) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "fleets"}, key.Name, errors.New("no Role allows it"))
}

// Who may not read an owner cannot tell the collector's deletion from a person's, so neither ends what is authoritative, nor waits for ever.
func TestAnOwnerThatMayNotBeRead(t *testing.T) {
	kind, _ := authority.KindNamed("MachineSet")
	s := &pairs.State{
		Kind: kind, Name: "m",
		MachineAPI: mirroringtest.Machine(t, `{metadata: {name: m, finalizers: [sync.machine.openshift.io/finalizer]}, status: {authoritativeAPI: MachineAPI}}`),
		Core: mirroringtest.Machine(t, `{metadata: {name: m, deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [sync.machine.openshift.io/finalizer], annotations: {poundlock.openshift.io/mirror-of: MachineSet/m},
			ownerReferences: [{apiVersion: example.com/v1, kind: Fleet, name: all, uid: u, controller: true}]}}`),
	}
	s.MachineAPI.SetGroupVersionKind(kind.MachineAPIGVK())
	if err := (Reader{Live: denies{}}).judgeParent(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if s.Parent.ClusterAPI != authority.Absent {
		t.Errorf("the owner counts as %v, want Absent", s.Parent.ClusterAPI)
	}
	if step := deletion.Asked(s).Next(); step == authority.DeleteAuthority {
		t.Errorf("its deletion ends the authority")
	}
}

// TestAMirrorThatWasBornWithoutItsOwner: a backup that was applied as it was stored (`kubectl get -o yaml`) names the UID of a set that is gone. The collector
// deletes such a mirror, and nobody asked for the end of its instance.
func TestAMirrorThatWasBornWithoutItsOwner(t *testing.T) {
	machine, _ := authority.KindNamed("Machine")
	for _, c := range []struct {
		sentence, set, created string
		ends                   bool
	}{
		{"the set is older than the mirror, and was never its owner", "new", "2026-11-21T16:00:00Z", false},
		{"the set was restored in the same second", "new", "2026-11-21T16:30:00Z", false},
		{"the set is younger: somebody deleted the owner, and created it again", "new", "2026-11-21T16:45:00Z", true},
		{"the set is its owner", "old", "2026-11-21T16:00:00Z", true},
	} {
		for mirror, current := range map[authority.API]string{authority.ClusterAPI: "MachineAPI", authority.MachineAPI: "ClusterAPI"} {
			gone := map[authority.API]string{mirror: `, deletionTimestamp: "2026-11-21T17:00:00Z"`}
			object := func(api authority.API, kind, text string) *unstructured.Unstructured {
				k, _ := authority.KindNamed(kind)
				o := mirroringtest.Object(t, text)
				o.SetGroupVersionKind(k.GVKOf(api))
				return o
			}
			of := func(api authority.API) *unstructured.Unstructured {
				return object(api, "Machine", `{metadata: {name: m, creationTimestamp: "2026-11-21T16:30:00Z", finalizers: [sync.machine.openshift.io/finalizer], annotations: {poundlock.openshift.io/mirror-of: Machine/m},
					ownerReferences: [{apiVersion: `+machine.GVKOf(api).GroupVersion().String()+`, kind: MachineSet, name: s, uid: old, controller: true}]`+gone[api]+`}, status: {authoritativeAPI: `+current+`}}`)
			}
			s := &pairs.State{Kind: machine, Name: "m", MachineAPI: of(authority.MachineAPI), Core: of(authority.ClusterAPI),
				Parents: map[authority.API]*unstructured.Unstructured{}}
			for _, api := range []authority.API{authority.MachineAPI, authority.ClusterAPI} { // the set is authoritative in the mirror's API
				s.Parents[api] = object(api, "MachineSet", `{metadata: {name: s, uid: `+c.set+`, creationTimestamp: "`+c.created+
					`"}, status: {authoritativeAPI: `+string(mirror)+`}}`)
			}
			if err := (Reader{}).judgeParent(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if ends := deletion.Asked(s).Next() == authority.DeleteAuthority; ends != c.ends {
				t.Errorf("%s: the deletion of the %s mirror ends the Machine: %t", c.sentence, mirror.Text(), ends)
			}
		}
	}
}

// answers gives each list the same objects.
type answers struct {
	client.Reader
	items []unstructured.Unstructured
}

func (l answers) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*unstructured.UnstructuredList).Items = l.items
	return nil
}

// TestACheckThatActsNoLonger: a Machine is Cluster API's, its MachineSet is Machine API's, and Cluster API's check has marked the Machine. Where the check
// was deleted, or moved to the Machine API, nobody takes the mark back, and the set would delete the Machine by it once it is Cluster API's.
func TestACheckThatActsNoLonger(t *testing.T) {
	const (
		acts     = `{metadata: {name: c}, spec: {clusterName: lock, selector: {matchLabels: {a: b}}}}`
		verdicts = `conditions: [{type: HealthCheckSucceeded, status: "False"}, {type: OwnerRemediated, status: "False"}]`
		paused   = `{metadata: {name: s, annotations: {cluster.x-k8s.io/paused: "true"}}}`
	)
	for _, c := range []struct {
		sentence, check, current, status, set string
		unchecked                             bool
	}{
		{"the check acts", acts, "ClusterAPI", verdicts, paused, false},
		{"the check was deleted", "", "ClusterAPI", verdicts, paused, true},
		{"the check is being deleted", `{metadata: {name: c, deletionTimestamp: "2026-11-21T17:00:00Z"}, spec: {clusterName: lock, selector: {matchLabels: {a: b}}}}`, "ClusterAPI", verdicts, paused, true},
		{"the check has moved", `{metadata: {name: c, annotations: {cluster.x-k8s.io/paused: "true"}}, spec: {clusterName: lock, selector: {matchLabels: {a: b}}}}`, "ClusterAPI", verdicts, paused, true},
		{"another check acts, on other Machines", `{metadata: {name: c}, spec: {clusterName: lock, selector: {matchLabels: {a: c}}}}`, "ClusterAPI", verdicts, paused, true},
		{"another check acts, on another cluster", `{metadata: {name: c}, spec: {clusterName: key, selector: {matchLabels: {a: b}}}}`, "ClusterAPI", verdicts, paused, true},
		{"the check acts, and passes over the Machine, which somebody has spared", acts, "ClusterAPI", verdicts, paused, true},
		{"the set acts: it is asked to delete the Machine", "", "ClusterAPI", verdicts, `{metadata: {name: s}}`, false},
		{"the Machine is healthy", "", "ClusterAPI", `conditions: [{type: HealthCheckSucceeded, status: "True"}]`, paused, false},
		{"the Machine moves", "", "Migrating", verdicts, paused, false},
		{"the check would act, but its Cluster is paused", acts, "ClusterAPI", verdicts, paused, true},
		{"the check acts, and its Cluster is not paused", acts, "ClusterAPI", verdicts, paused, false},
		{"the check acts, and another Cluster is paused", acts, "ClusterAPI", verdicts, paused, false},
		{"the set acts, but its Cluster is paused", acts, "ClusterAPI", verdicts, `{metadata: {name: s}}`, false},
	} {
		s := &pairs.State{
			Kind: mirroringtest.Kind(t, "Machine"), Name: "m",
			MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m}, status: {authoritativeAPI: `+
				c.current+`}}`),
			Core: mirroringtest.Machine(t,
				`{metadata: {name: m, labels: {a: b, cluster.x-k8s.io/cluster-name: lock}, annotations: {poundlock.openshift.io/mirror-of: Machine/m}}, status: {`+
					c.status+`}}`),
			Parents: map[authority.API]*unstructured.Unstructured{
				authority.MachineAPI: mirroringtest.Object(t, `{metadata: {name: s}}`), authority.ClusterAPI: mirroringtest.Object(t, c.set),
			},
		}
		_ = unstructured.SetNestedField(s.Core.Object, "lock", "spec", "clusterName")
		if strings.HasSuffix(c.sentence, "paused") {
			name := map[bool]string{true: "key", false: "lock"}[strings.Contains(c.sentence, "another Cluster")]
			s.Cluster = mirroringtest.Object(t, fmt.Sprintf("{metadata: {name: %s}, spec: {paused: %t}}", name, !strings.HasSuffix(c.sentence, "not paused")))
		}
		if strings.HasSuffix(c.sentence, "spared") {
			s.Core.SetAnnotations(map[string]string{authority.MirrorAnnotation: "Machine/m", clusterv1.MachineSkipRemediationAnnotation: ""})
		}
		var from answers
		if c.check != "" {
			from.items = append(from.items, *mirroringtest.Object(t, c.check))
		}
		if err := (Reader{}).checks(t.Context(), present{from, s}, s); err != nil || s.Unchecked != c.unchecked {
			t.Errorf("%s: unchecked %t (%v)", c.sentence, s.Unchecked, err)
		}
	}
}

// stored has objects by kind and name, and lists what an index selects.
type stored struct {
	objects  map[string]map[string]any
	selected []unstructured.Unstructured
}

func (s stored) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	content, has := s.objects[into.GetObjectKind().GroupVersionKind().Kind+" "+key.Name]
	if !has {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	into.(*unstructured.Unstructured).Object = content
	return nil
}

func (s stored) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var asked client.ListOptions
	if asked.ApplyOptions(opts); asked.FieldSelector != nil {
		into.(*unstructured.UnstructuredList).Items = s.selected
	}
	return nil
}

// TestAPairIsReadWithTheControlPlane: what an infrastructure cluster has to name depends on all Machines of the control plane.
func TestAPairIsReadWithTheControlPlane(t *testing.T) {
	cache := stored{
		objects: map[string]map[string]any{
			"Infrastructure cluster": mirroringtest.Object(t, `{status: {infrastructureName: x, platformStatus: {type: AWS, aws: {region: r}}}}`).Object,
			"Cluster x":              mirroringtest.Object(t, `{metadata: {name: x}}`).Object,
		},
		selected: []unstructured.Unstructured{
			*mirroringtest.Object(t, `{metadata: {name: b, labels: {machine.openshift.io/cluster-api-machine-role: master}}, spec: {providerSpec: {value: {of: b}}}}`),
			*mirroringtest.Object(t, `{metadata: {name: a, labels: {machine.openshift.io/cluster-api-machine-role: master}}, spec: {providerSpec: {value: {of: a}}}}`),
		},
	}
	for kind, want := range map[string][]conversion.Master{
		"Machine":            {{Name: "a", ProviderSpec: map[string]any{"of": "a"}}, {Name: "b", ProviderSpec: map[string]any{"of": "b"}}},
		"MachineHealthCheck": nil, // nothing of it is the platform's
	} {
		r := Reader{
			Kind: mirroringtest.Kind(t, kind), Pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}}, Cache: cache, Live: cache,
			Environment: facts.Environment{Masters: cache}, Platform: func(conversion.Platform) error { return nil },
		}
		s, err := r.Read(t.Context(), stored{}, client.ObjectKey{Namespace: "m", Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Env.ControlPlane); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}
