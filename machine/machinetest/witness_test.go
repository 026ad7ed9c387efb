// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

func TestWhoMayCall(t *testing.T) {
	status := func(current, from string, paused corev1.ConditionStatus) machinev1beta1.MachineStatus {
		return machinev1beta1.MachineStatus{
			AuthoritativeAPI: machinev1beta1.MachineAuthority(current), SynchronizedAPI: machinev1beta1.SynchronizedAPI(from),
			Conditions: []machinev1beta1.Condition{{Type: "Paused", Status: paused}},
		}
	}
	for name, c := range map[string]struct {
		caller authority.API
		status machinev1beta1.MachineStatus
		may    bool
	}{
		"the authority":                            {authority.MachineAPI, status("MachineAPI", "MachineAPI", "False"), true},
		"the other side":                           {authority.ClusterAPI, status("MachineAPI", "MachineAPI", "False"), false},
		"Machine API on a new object":              {authority.MachineAPI, status("", "", ""), true},
		"Cluster API on a new object of the other": {authority.ClusterAPI, status("", "", ""), false},
		"the side it comes from, still acting":     {authority.MachineAPI, status("Migrating", "MachineAPI", "False"), true},
		"the side it comes from, that has paused":  {authority.MachineAPI, status("Migrating", "MachineAPI", "True"), false},
		"the side it goes to":                      {authority.ClusterAPI, status("Migrating", "MachineAPI", "True"), false},
		"Cluster API, losing authority":            {authority.ClusterAPI, status("Migrating", "ClusterAPI", "True"), true},
		"Machine API, gaining authority":           {authority.MachineAPI, status("Migrating", "ClusterAPI", "True"), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, requested := range []machinev1beta1.MachineAuthority{machinev1beta1.MachineAuthorityMachineAPI, ""} {
				if got := objection(c.caller, requested, c.status); (got == "") != c.may {
					t.Errorf("requested %q: objection %q, may call: %t", requested, got, c.may)
				}
			}
		})
	}
}

// shelf is an API server that has two Machines, or one, or shuts down.
type shelf struct {
	old  *machinev1beta1.Machine
	twin *clusterv1.Machine
	down bool
}

func (s shelf) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *machinev1beta1.Machine:
		if s.old != nil && !s.down && key == client.ObjectKeyFromObject(s.old) {
			s.old.DeepCopyInto(o)
			return nil
		}
	case *clusterv1.Machine:
		if s.twin != nil && !s.down && key == client.ObjectKeyFromObject(s.twin) {
			s.twin.DeepCopyInto(o)
			return nil
		}
	}
	if s.down {
		return errors.New("the server shuts down")
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "machines"}, key.Name)
}

func (s shelf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if s.down {
		return errors.New("the server shuts down")
	}
	switch list := list.(type) {
	case *machinev1beta1.MachineList:
		if s.old != nil {
			list.Items = append(list.Items, *s.old)
		}
	case *clusterv1.MachineList:
		if s.twin != nil {
			list.Items = append(list.Items, *s.twin)
		}
	}
	return nil
}

func TestWhatALiveWitnessSees(t *testing.T) {
	old := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "mapi", Name: "worker-1", UID: "m1"}}
	old.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityMachineAPI
	twin := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "capi", Name: "worker-1", UID: "c1"}}
	going := twin.DeepCopy()
	now := metav1.Now()
	going.DeletionTimestamp = &now
	mine, theirs := Machine{Namespace: "mapi", Name: "worker-1"}, Machine{Namespace: "capi", Name: "worker-1"}
	for name, c := range map[string]struct {
		server  shelf
		caller  authority.API
		machine Machine
		objects bool
		sees    []types.UID
	}{
		"the authoritative side":                     {shelf{old: old, twin: twin}, authority.MachineAPI, mine, false, []types.UID{"m1", "c1"}},
		"the other side":                             {shelf{old: old, twin: twin}, authority.ClusterAPI, theirs, true, []types.UID{"m1", "c1"}},
		"a twin that is going stands for nothing":    {shelf{old: old, twin: going}, authority.MachineAPI, mine, false, []types.UID{"m1"}},
		"a Machine of Cluster API alone":             {shelf{twin: twin}, authority.ClusterAPI, theirs, false, []types.UID{"c1"}},
		"a server that is going down proves nothing": {shelf{old: old, twin: twin, down: true}, authority.ClusterAPI, theirs, false, nil},
		"a namespace that nobody looks after":        {shelf{old: old}, authority.MachineAPI, Machine{Namespace: "else", Name: "worker-1"}, true, nil},
		"a Machine that is gone":                     {shelf{}, authority.ClusterAPI, theirs, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			witness := LiveWitness(c.server, authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}})
			got := witness(t.Context(), c.caller, c.machine)
			if diff := cmp.Diff(c.sees, got.Incarnation); diff != "" || (got.Objection != "") != c.objects {
				t.Errorf("objection %q\n%s", got.Objection, diff)
			}
			stands, err := LiveCensus(c.server, authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}})(t.Context())
			if c.server.down {
				if err == nil {
					t.Error("a census without an API server")
				}
				return
			}
			ok(t, err)
			if want := c.server != (shelf{}) || c.machine.Namespace == "else"; stands(c.machine) != want {
				t.Errorf("the census has it: %t, want %t", !want, want)
			}
		})
	}
}
