// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairfacts

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// store is a namespace's objects, by kind and name. It carries out writes of metadata and deletions.
type store map[string]*unstructured.Unstructured

func key(o *unstructured.Unstructured) string {
	return o.GetKind() + "." + o.GroupVersionKind().Group + " " + o.GetName()
}

func (s store) Get(_ context.Context, k client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	gvk := into.GetObjectKind().GroupVersionKind()
	o := s[gvk.Kind+"."+gvk.Group+" "+k.Name]
	if o == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, k.Name)
	}
	o.DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

func (s store) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	l := into.(*unstructured.UnstructuredList)
	gvk := l.GroupVersionKind()
	for _, o := range s {
		if o.GetKind()+"List" == gvk.Kind && o.GroupVersionKind().Group == gvk.Group {
			l.Items = append(l.Items, *o.DeepCopy())
		}
	}
	return nil
}

func (s store) do(t *testing.T, w *pairs.Write) {
	o := s[key(w.Object)]
	switch w.Verb {
	case pairs.Remove:
		now := metav1.NewTime(time.Unix(0, 0))
		o.SetDeletionTimestamp(&now)
	case pairs.Patch:
		finalizers, ok, err := unstructured.NestedFieldNoCopy(w.Patch, "metadata", "finalizers")
		if !ok || err != nil {
			t.Fatalf("a patch of something else: %v", w.Patch)
		}
		o.SetFinalizers(finalizers.([]string))
	default:
		t.Fatalf("%s of %s", w.Verb, pairs.Describe(w.Object))
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		delete(s, key(o))
	}
}

// TestAMachineThatIsDeletedWhileTheInfrastructureHasNoStatus: what the provider has for it goes with it all the same, and not without it. Nobody would release
// what is paused, and has no Machine any more.
func TestAMachineThatIsDeletedWhileTheInfrastructureHasNoStatus(t *testing.T) {
	const (
		deleted = `deletionTimestamp: "2026-11-21T17:00:00Z", `
		mapi    = `apiVersion: machine.openshift.io/v1beta1, kind: %K, metadata: {name: m, namespace: mapi, uid: u1, ` + deleted + `finalizers: [sync.machine.openshift.io/finalizer]}, status: {authoritativeAPI: MachineAPI}`
		core    = `apiVersion: cluster.x-k8s.io/v1beta2, kind: %K, metadata: {name: m, namespace: capi, uid: u2, ` + deleted +
			`finalizers: [sync.machine.openshift.io/finalizer], annotations: {cluster.x-k8s.io/paused: "true", poundlock.openshift.io/mirror-of: %K/m}}`
		infra = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, metadata: {namespace: capi, annotations: {cluster.x-k8s.io/paused: "true", poundlock.openshift.io/mirror-of: %K/m}, `
		vm    = `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereVM, metadata: {name: m, namespace: capi, uid: u4, ` + deleted + `finalizers: [vspherevm.infrastructure.cluster.x-k8s.io], ` +
			`annotations: {cluster.x-k8s.io/paused: "true"}, ownerReferences: [{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachine, name: m, uid: u3}]}}`
		machine  = `{` + infra + `name: m, uid: u3, ` + deleted + `finalizers: [vspheremachine.infrastructure.cluster.x-k8s.io]}, kind: VSphereMachine, spec: {providerID: "vsphere://1"}}`
		template = `{` + infra + `name: m-01234567}, kind: VSphereMachineTemplate}`
		value    = `providerSpec: {value: {kind: VSphereMachineProviderSpec}}`
		ref      = `infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: %, name: %}`
	)
	refTo := func(kind, name string) string {
		return strings.Replace(strings.Replace(ref, "%", kind, 1), "%", name, 1)
	}
	for sentence, c := range map[string]struct {
		kind string
		all  []string
		left []string
	}{
		"a Machine": {"Machine", []string{
			`{` + mapi + `, spec: {` + value + `}}`, `{` + core + `, spec: {` + refTo("VSphereMachine", "m") + `}}`, machine, vm}, nil},
		"a Machine whose mirror is gone already": {"Machine", []string{`{` + mapi + `, spec: {` + value + `}}`, machine, vm}, nil},
		"a Machine of a platform that nobody knows": {"Machine", []string{
			`{` + mapi + `, spec: {providerSpec: {value: {kind: Some}}}}`, `{` + core + `, spec: {` + refTo("SomeMachine", "m") + `}}`, machine},
			[]string{"VSphereMachine.infrastructure.cluster.x-k8s.io m"}},
		"a Machine that was never mirrored": {"Machine", []string{
			strings.ReplaceAll(`{`+mapi+`, spec: {`+value+`}}`, "sync.machine.openshift.io/finalizer", "a/b"), machine},
			[]string{"Machine.machine.openshift.io m", "VSphereMachine.infrastructure.cluster.x-k8s.io m"}},
		"a MachineSet": {"MachineSet", []string{
			`{` + mapi + `, spec: {template: {spec: {` + value + `}}}}`, `{` + core + `, spec: {template: {spec: {` + refTo("VSphereMachineTemplate", "m-01234567") + `}}}}`, template}, nil},
	} {
		kind, objects := mirroringtest.Kind(t, c.kind), store{}
		for _, text := range c.all {
			o := mirroringtest.Object(t, strings.ReplaceAll(text, "%K", c.kind))
			objects[key(o)] = o
		}
		watched := map[string]bool{}
		r := Reader{
			Kind: kind, Pairs: authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}}, Cache: objects, Live: objects,
			Platform: func(p conversion.Platform) error { watched[p.Name] = true; return nil },
		}
		for range 20 {
			s, err := r.Read(t.Context(), objects, client.ObjectKey{Namespace: "mapi", Name: "m"})
			if err != nil {
				t.Fatalf("%s: %v", sentence, err)
			}
			w := mirroring.Next(s, time.Unix(0, 0))
			if w == nil || w.Verb == pairs.PatchStatus {
				break
			}
			objects.do(t, w)
		}
		var left []string
		for k := range objects {
			left = append(left, k)
		}
		slices.Sort(left)
		if diff := cmp.Diff(c.left, left); diff != "" {
			t.Errorf("%s: left are %s", sentence, diff)
		}
		if known := len(c.left) == 0; watched["VSphere"] != known {
			t.Errorf("%s: watched are %v", sentence, watched)
		}
	}
}

// TestPoundlocksHookWhileTheInfrastructureHasNoStatus: a Machine of Cluster API's waits for the hook with its deletion, and nobody else removes it. While the
// provider's machine is there, it stays.
func TestPoundlocksHookWhileTheInfrastructureHasNoStatus(t *testing.T) {
	const (
		hook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/poundlock-until-provider-knows-instance"
		mapi = `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, namespace: mapi, finalizers: [sync.machine.openshift.io/finalizer]}, ` +
			`spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`
		core = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, namespace: capi, deletionTimestamp: "2026-11-21T17:00:00Z", ` +
			`finalizers: [machine.cluster.x-k8s.io, sync.machine.openshift.io/finalizer], annotations: {` + hook + `: poundlock, poundlock.openshift.io/mirror-of: Machine/m}}, ` +
			`spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: m}}}`
		infra = `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackMachine, metadata: {name: m, namespace: capi}}`
	)
	for sentence, c := range map[string]struct {
		all     []string
		removed bool
	}{
		"the provider's machine is gone":  {[]string{mapi, core}, true},
		"the provider's machine is there": {[]string{mapi, core, infra}, false},
	} {
		objects := store{}
		for _, text := range c.all {
			o := mirroringtest.Object(t, text)
			objects[key(o)] = o
		}
		r := Reader{
			Kind: mirroringtest.Kind(t, "Machine"), Pairs: authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}}, Cache: objects, Live: objects,
			Platform: func(conversion.Platform) error { return nil },
		}
		s, err := r.Read(t.Context(), objects, client.ObjectKey{Namespace: "mapi", Name: "m"})
		if err != nil {
			t.Fatalf("%s: %v", sentence, err)
		}
		w := mirroring.Next(s, time.Unix(0, 0))
		removes := false
		if w != nil {
			annotations, _, _ := unstructured.NestedMap(w.Patch, "metadata", "annotations")
			value, named := annotations[hook]
			removes = named && value == nil
		}
		if removes != c.removed {
			t.Errorf("%s: the hook is removed: %t (%+v)", sentence, removes, w)
		}
	}
}

// TestAMachineOfAnotherNameThatRefersToTheInfrastructureMachine is found before a mirror takes the name.
func TestAMachineOfAnotherNameThatRefersToTheInfrastructureMachine(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	for refersTo, want := range map[string]string{"AWSMachine, name: m": "x2", "AWSMachine, name: x2": "", "GCPMachine, name: m": ""} {
		have := store{}
		for name, ref := range map[string]string{"m": "AWSMachine, name: m", "x2": refersTo} {
			o := mirroringtest.Object(t, `{metadata: {name: `+name+`}, spec: {infrastructureRef: {kind: `+ref+`}}}`)
			o.SetGroupVersionKind(kind.ClusterAPIGVK())
			have[key(o)] = o
		}
		s := &pairs.State{Kind: kind, Name: "m"}
		s.Env.Platform, _ = platforms.Named("AWSMachine")
		if got, err := (Reader{Cache: have}).referrer(t.Context(), s, "m"); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", refersTo, got, want, err)
		}
	}
}
