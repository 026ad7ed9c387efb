// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

const etcdHookJSON = `{"name":"EtcdQuorumOperator","owner":"clusteroperator/etcd"}`

// TestEtcdHook is about the one field of a Machine that is written on the Machine API's side alone, whichever API is authoritative. The test
// is everybody but the mirror.
func TestEtcdHook(t *testing.T) {
	stories.Long(t)
	w := &twins{twinsWorld(t), authority.Kinds()[0]}
	t.Run("it is added to the mirror, and carried over", w.hookAdded)
	t.Run("beside other hooks, in any order, nothing is fought over", w.hookBesideOthers)
	t.Run("it leaves the mirror that is not being deleted, and comes back", w.hookLost)
	t.Run("it leaves the authority, and so the mirror", w.hookLetGo)
	t.Run("it leaves the mirror that is being deleted, and so the authority", w.hookRemoved)
	t.Run("it is added just before the deletion", w.hookAddedLast)
	t.Run("a mirror without it that never had it says nothing", w.hookNeverSeen)
	t.Run("nor does one that has another's record", w.hookRestored)
	t.Run("the record ends with the authority", w.hookForgotten)
	t.Run("in mid-move it is carried over too", w.hookInTransit)
	t.Run("a record that could not be kept is kept before the deletion goes over", w.hookCrash)
}

// runs makes a Machine that Cluster API runs, with these hooks from before.
func (w *twins) runs(t *testing.T, name string, hooks ...string) {
	t.Helper()
	w.adopt(t, name, authority.MachineAPI, func(o *unstructured.Unstructured) {
		if len(hooks) > 0 {
			var list []any
			if err := json.Unmarshal([]byte("["+strings.Join(hooks, ",")+"]"), &list); err != nil {
				t.Fatal(err)
			}
			_ = unstructured.SetNestedSlice(o.Object, list, "spec", "lifecycleHooks", "preDrain")
		}
	})
	w.mirrored(t, name, 0)
	w.over(t, name)
	w.patch(t, w.core(t, name), "", fmt.Sprintf(`{"metadata":{"finalizers":[%q,%q]}}`, authority.SyncFinalizer, w.kind.ClusterAPIFinalizer))
}

// hooks writes the whole list to the Machine API's object, as etcd's operator does.
func (w *twins) hooks(t *testing.T, name string, hooks ...string) {
	t.Helper()
	w.patch(t, w.mapi(t, name), "", `{"spec":{"lifecycleHooks":{"preDrain":[`+strings.Join(hooks, ",")+`]}}}`)
}

// is waits until both sides have the hook, or not, and the mirror rests.
func (w *twins) is(t *testing.T, name string, here, there bool) {
	t.Helper()
	w.eventually(t, fmt.Sprintf("%s: hook in the Machine API %t, in Cluster API %t", name, here, there), func() string { return w.isNot(t, name, here, there) })
	w.quietFor(t, 5)
	if why := w.isNot(t, name, here, there); why != "" {
		t.Fatalf("it did not stay so: %s", why)
	}
}

func (w *twins) isNot(t *testing.T, name string, here, there bool) string {
	has := slices.ContainsFunc(below(w.mapi(t, name), "spec", "lifecycleHooks", "preDrain"), func(h any) bool {
		return fmt.Sprint(h) == "map[name:EtcdQuorumOperator owner:clusteroperator/etcd]"
	})
	value, carried := w.core(t, name).GetAnnotations()[authority.EtcdHookAnnotation]
	if has != here || carried != there || there && value != authority.EtcdHookOwner {
		return fmt.Sprintf("Machine API %t, Cluster API %t (%s)", has, carried, value)
	}
	return ""
}

// ends deletes the Machine in Cluster API, whose controller holds it, and waits until the deletion has come over.
func (w *twins) deletes(t *testing.T, name string) {
	t.Helper()
	if err := w.Delete(t.Context(), w.core(t, name)); err != nil {
		t.Fatal(err)
	}
	w.eventually(t, name+" is being deleted in the Machine API", func() string {
		if o := w.mapi(t, name); o == nil || o.GetDeletionTimestamp() == nil {
			return show(o)
		}
		return ""
	})
}

func (w *twins) seen(t *testing.T, name string) string {
	return w.mapi(t, name).GetAnnotations()[authority.EtcdHookSeenAnnotation]
}

func (w *twins) hookAdded(t *testing.T) {
	w.runs(t, "added")
	before := w.writes.number()
	w.hooks(t, "added", etcdHookJSON)
	w.is(t, "added", true, true)
	if got := w.seen(t, "added"); got != string(w.mapi(t, "added").GetUID()) {
		t.Errorf("the record is %q", got)
	}
	if sent := w.writes.since(before); len(sent) > 4 {
		t.Errorf("%d writes for one hook: %v", len(sent), sent)
	}
	if _, leaked := w.core(t, "added").GetAnnotations()[authority.EtcdHookSeenAnnotation]; leaked {
		t.Error("the record is mirrored")
	}
}

func (w *twins) hookBesideOthers(t *testing.T) {
	w.runs(t, "others", `{"name":"zzz","owner":"somebody"}`, `{"name":"AAA","owner":"somebody"}`)
	w.hooks(t, "others", `{"name":"zzz","owner":"somebody"}`, `{"name":"AAA","owner":"somebody"}`, etcdHookJSON)
	w.is(t, "others", true, true)
	if got := len(below(w.mapi(t, "others"), "spec", "lifecycleHooks", "preDrain")); got != 3 {
		t.Errorf("%d hooks", got)
	}
	w.deletes(t, "others")
	w.hooks(t, "others", `{"name":"zzz","owner":"somebody"}`, `{"name":"AAA","owner":"somebody"}`)
	w.is(t, "others", false, false)
	if got := w.core(t, "others").GetAnnotations()["pre-drain.delete.hook.machine.cluster.x-k8s.io/AAA"]; got != "somebody" {
		t.Errorf("another's hook went too: %q", got)
	}
}

func (w *twins) hookLost(t *testing.T) {
	w.runs(t, "lost", etcdHookJSON)
	w.is(t, "lost", true, true)
	w.hooks(t, "lost")
	w.is(t, "lost", true, true)
}

func (w *twins) hookLetGo(t *testing.T) {
	w.runs(t, "let-go", etcdHookJSON, `{"name":"wait","owner":"somebody"}`)
	w.is(t, "let-go", true, true)
	w.patch(t, w.core(t, "let-go"), "", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, authority.EtcdHookAnnotation))
	w.is(t, "let-go", false, false)
	if got := w.seen(t, "let-go"); got != "" {
		t.Errorf("the record is left behind: %q", got)
	}
	// Its operator insists: it is an addition again.
	w.hooks(t, "let-go", `{"name":"wait","owner":"somebody"}`, etcdHookJSON)
	w.is(t, "let-go", true, true)
}

func (w *twins) hookRemoved(t *testing.T) {
	w.runs(t, "removed", etcdHookJSON)
	w.is(t, "removed", true, true)
	w.deletes(t, "removed")
	w.is(t, "removed", true, true)
	w.hooks(t, "removed")
	w.is(t, "removed", false, false)
}

func (w *twins) hookAddedLast(t *testing.T) {
	w.runs(t, "last")
	stopped := w.writes.stopAt(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/machines/last") })
	w.hooks(t, "last", etcdHookJSON)
	goOn := <-stopped
	if err := w.Delete(t.Context(), w.core(t, "last")); err != nil {
		t.Fatal(err)
	}
	goOn <- true
	w.deletes(t, "last")
	w.is(t, "last", true, true)
	w.hooks(t, "last")
	w.is(t, "last", false, false)
}

func (w *twins) hookNeverSeen(t *testing.T) {
	w.runs(t, "never")
	w.deletes(t, "never")
	// As if its mirror had been made a moment ago.
	w.patch(t, w.core(t, "never"), "", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, authority.EtcdHookAnnotation, authority.EtcdHookOwner))
	w.is(t, "never", false, true)
}

func (w *twins) hookRestored(t *testing.T) {
	w.runs(t, "restored", etcdHookJSON)
	w.is(t, "restored", true, true)
	w.deletes(t, "restored")
	w.patch(t, w.mapi(t, "restored"), "", fmt.Sprintf(`{"metadata":{"annotations":{%q:"another"}},"spec":{"lifecycleHooks":{"preDrain":null}}}`,
		authority.EtcdHookSeenAnnotation))
	w.is(t, "restored", false, true)
}

func (w *twins) hookForgotten(t *testing.T) {
	w.runs(t, "forgotten", etcdHookJSON)
	w.is(t, "forgotten", true, true)
	w.patch(t, w.mapi(t, "forgotten"), "", `{"spec":{"authoritativeAPI":"MachineAPI"}}`)
	w.patch(t, w.mapi(t, "forgotten"), "status", `{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}}`)
	w.switchTo(t, machineAPIMachine, "forgotten", authority.MachineAPI)
	w.eventually(t, "the record is removed", func() string { return w.seen(t, "forgotten") })
	w.hooks(t, "forgotten")
	w.is(t, "forgotten", false, false)
}

func (w *twins) hookInTransit(t *testing.T) {
	w.runs(t, "transit")
	w.patch(t, w.mapi(t, "transit"), "", `{"spec":{"authoritativeAPI":"MachineAPI"}}`)
	w.patch(t, w.mapi(t, "transit"), "status", `{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"ClusterAPI"}}`)
	w.hooks(t, "transit", etcdHookJSON)
	w.is(t, "transit", true, true)
}

// hookCrash: the deletion goes over to the Machine API by the mirror's own request, so the record is there before etcd's operator may act on it.
func (w *twins) hookCrash(t *testing.T) {
	w.runs(t, "crash", etcdHookJSON)
	w.is(t, "crash", true, true)
	w.patch(t, w.core(t, "crash"), "", `{"metadata":{"annotations":{"cluster.x-k8s.io/note":"x"}}}`)
	stopped := w.writes.stopAt(func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/machines/crash")
	})
	w.patch(t, w.mapi(t, "crash"), "", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, authority.EtcdHookSeenAnnotation))
	goOn := <-stopped
	if err := w.Delete(t.Context(), w.core(t, "crash")); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	w.deletes(t, "crash")
	if got := w.seen(t, "crash"); got == "" {
		t.Error("deleted in the Machine API without the record")
	}
	w.hooks(t, "crash")
	w.is(t, "crash", false, false)
}
