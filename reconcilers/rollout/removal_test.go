// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	machinev1 "github.com/openshift/api/machine/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/controlplane"
)

// TestARemoval deletes the set in the ways in which that can be done, with the real garbage collector, and the operator cut off at each of its writes.
func TestARemoval(t *testing.T) {
	stories.Long(t)
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan} {
		for at := range 6 { // 3 Machines and the finalizer, and none
			t.Run(fmt.Sprintf("%s, ended at write %d", how, at), func(t *testing.T) {
				if at%3 > 0 {
					stories.Long(t)
				}
				w := newWorld(t, 3)
				w.found()
				w.waitForRest(w.operator(nil))
				w.wantDone("m6i.xlarge", 3)
				w.must(w.Client.Delete(t.Context(), w.set(), client.PropagationPolicy(how)))
				w.untilGone(&script{at: at, sent: at%2 == 0})
				w.wantKept("c-master-0", "c-master-1", "c-master-2")

				w.found(larger) // and again
				w.waitForRest(w.operator(nil))
				w.wantDone("m6i.2xlarge", 3)
			})
		}
	}
}

// untilGone lets the operator pass until the set is gone.
func (w *world) untilGone(s *script) {
	w.t.Helper()
	r := w.operator(s)
	err := wait.PollUntilContextTimeout(w.t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		if s.dead {
			r, s = w.operator(nil), &script{}
		}
		if _, err := r.Reconcile(ctx, r.request()); err != nil && !errors.Is(err, errDead) {
			return false, err
		}
		err := w.Get(ctx, client.ObjectKey{Namespace: w.pair.MachineAPI, Name: controlplane.Name}, &machinev1.ControlPlaneMachineSet{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	w.must(err)
}

// wantKept waits for the garbage collector to have looked at a Machine whose owner has never been, and finds that it has left those of the set alone.
func (w *world) wantKept(names ...string) {
	w.t.Helper()
	w.collect()
	for _, m := range w.machines() {
		if m.DeletionTimestamp != nil || len(m.OwnerReferences) > 0 {
			w.t.Errorf("%s: deleted at %v, owned by %v", m.Name, m.DeletionTimestamp, m.OwnerReferences)
		}
	}
	if got := w.names(); !slices.Equal(got, names) {
		w.t.Errorf("Machines are %v, want %v", got, names)
	}
}

// collect returns once the collector has worked through what was before it in its queue.
func (w *world) collect() {
	w.t.Helper()
	bait := w.machine("bait", "a", "m6i.xlarge")
	bait.Labels = nil
	yes := true
	bait.OwnerReferences = []metav1.OwnerReference{{APIVersion: machinev1.GroupVersion.String(), Kind: controlplane.Kind, Name: "nobody",
		UID: "nobody", Controller: &yes}}
	w.must(w.Create(w.t.Context(), bait))
	w.must(wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(bait), bait)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}))
}

// TestARemovalInTheForeground is what is left where admission, which refuses it, was out of the way. The collector and the operator race: it
// deletes what the operator has not yet released, all or nothing as a rule. What it deletes stays for as long as etcd's hook holds it, and a
// set that is made anew replaces it one by one.
func TestARemovalInTheForeground(t *testing.T) {
	stories.Long(t)
	for sentence, faster := range map[string]bool{"they race": false, "the collector is faster": true} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 3)
			w.found()
			w.waitForRest(w.operator(nil))
			w.must(w.Client.Delete(t.Context(), w.set(), client.PropagationPolicy(metav1.DeletePropagationForeground)))
			for faster && w.deleted() < 3 {
				w.must(t.Context().Err())
			}
			w.untilGone(&script{})
			w.collect()
			t.Logf("the collector deleted %d of 3", w.deleted())
			for _, m := range w.machines() {
				if len(m.OwnerReferences) > 0 {
					t.Errorf("%s has still %v", m.Name, m.OwnerReferences)
				}
			}
			if len(w.machines()) != 3 {
				t.Errorf("Machines are %v", w.names())
			}
			w.least = 0
			w.found()
			w.waitForRest(w.operator(nil))
			w.wantDone("m6i.xlarge", 0)
		})
	}
}

func (w *world) deleted() int {
	n := 0
	for _, m := range w.machines() {
		if m.DeletionTimestamp != nil {
			n++
		}
	}
	return n
}

// TestMachinesOfAFormerSet: a set whose finalizer a person removed is gone, and its Machines refer to nothing. The set that is made anew takes them over. The
// collector, which would delete them, is kept off by a reference to something that is there.
func TestMachinesOfAFormerSet(t *testing.T) {
	w := newWorld(t, 3)
	keeper := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.pair.MachineAPI, Name: "keeper"}}
	w.must(w.Create(t.Context(), keeper))
	for _, m := range w.machines() {
		yes, before := true, m.DeepCopy()
		m.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Secret", Name: keeper.Name, UID: keeper.UID},
			{APIVersion: machinev1.GroupVersion.String(), Kind: controlplane.Kind, Name: "cluster", UID: "former", Controller: &yes},
		}
		w.must(w.Patch(t.Context(), &m, client.MergeFrom(before))) // no update: the collector may be removing the reference that dangles
	}
	w.found()
	set, no := w.set(), false
	half := w.machines()[0] // it belongs to the new set, which does not control it
	before := half.DeepCopy()
	half.OwnerReferences = append(half.OwnerReferences[:1], metav1.OwnerReference{APIVersion: machinev1.GroupVersion.String(), Kind: controlplane.Kind,
		Name: set.Name, UID: set.UID, Controller: &no})
	w.must(w.Patch(t.Context(), &half, client.MergeFrom(before)))
	w.waitForRest(w.operator(nil))
	w.wantDone("m6i.xlarge", 3)
	for _, m := range w.machines() {
		if len(m.OwnerReferences) != 2 || m.OwnerReferences[0].UID != keeper.UID {
			t.Errorf("%s has %v", m.Name, m.OwnerReferences)
		}
	}
}
