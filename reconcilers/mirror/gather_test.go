// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		Kind: kind, Name: "m", MachineAPI: mirroringtest.Machine(t, `{metadata: {name: m, finalizers: [sync.machine.openshift.io/finalizer]}, status: {authoritativeAPI: MachineAPI}}`),
		Core: mirroringtest.Machine(t, `{metadata: {name: m, deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [sync.machine.openshift.io/finalizer], annotations: {poundlock.openshift.io/mirror-of: MachineSet/m},
			ownerReferences: [{apiVersion: example.com/v1, kind: Fleet, name: all, uid: u, controller: true}]}}`),
	}
	s.MachineAPI.SetGroupVersionKind(kind.MachineAPIGVK())
	if err := (&reconciler{live: denies{}}).judgeParent(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if s.Parent.ClusterAPI != authority.Absent {
		t.Errorf("the owner counts as %v, want Absent", s.Parent.ClusterAPI)
	}
	if step := deletion.Asked(s).Next(); step == authority.DeleteAuthority {
		t.Errorf("its deletion ends the authority")
	}
}
