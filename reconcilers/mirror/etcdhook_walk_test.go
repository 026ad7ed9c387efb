// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/authority"
)

// pairOfHooks is a control plane Machine that Cluster API runs, as far as etcd's hook is concerned.
type pairOfHooks struct {
	m machineHook
	c coreHook
	// member: etcd has one on the Machine.
	member bool
	// letGo: since the operator last added its hook, it has removed it, or a person has removed it in Cluster API.
	letGo    bool
	pass     hookPass
	restored bool
}

// machineHook is the Machine API's object; uid 0 is none.
type machineHook struct {
	uid, seen      int
	hook, deleting bool
}

type coreHook struct{ hook, companion, deleting bool }

// hookPass is a pass of the mirror's that has read one or both objects; one by one, so that the first may be old when the second is read.
type hookPass struct {
	reads  int // 0: none is under way
	m      machineHook
	c      coreHook
	mOld   bool // it was written to since
	cOld   bool
	before string // what the last writer did, for the trail
}

// decider is what the mirror does about the hook.
type decider func(*state) *write

// TestNoDrainBeforeEtcdLetsGo walks every state that the operator of etcd, people, a restore, Cluster API and the mirror come to while each acts at any
// moment, and a crash ends a pass anywhere. The mirror's decisions are its own.
func TestNoDrainBeforeEtcdLetsGo(t *testing.T) {
	if trail := walkHooks(t, (*state).etcdHook); trail != "" {
		t.Error(trail)
	}
	for name, wrong := range map[string]decider{
		"takes absence for a removal": func(s *state) *write {
			_, there := s.core.GetAnnotations()[authority.EtcdHookAnnotation]
			if there && !hasEtcdHook(s.machineAPI) && presence(s.machineAPI) == authority.Deleting {
				return s.carryHook(nil, "%s %s")
			}
			return s.etcdHook()
		},
		"believes another object's record": func(s *state) *write {
			if _, kept := s.machineAPI.GetAnnotations()[authority.EtcdHookSeenAnnotation]; kept {
				s.machineAPI.SetAnnotations(map[string]string{authority.EtcdHookSeenAnnotation: string(s.machineAPI.GetUID())})
			}
			return s.etcdHook()
		},
		"leaves the record when it drops the hook": func(s *state) *write {
			w := s.etcdHook()
			if w != nil && w.patch["spec"] != nil {
				delete(w.patch, "metadata")
			}
			return w
		},
	} {
		if walkHooks(t, wrong) == "" {
			t.Errorf("a mirror that %s is not caught", name)
		}
	}
}

// walkHooks returns how a state came about in which something is wrong, "" if there is none.
func walkHooks(t *testing.T, decide decider) string {
	t.Helper()
	from := map[pairOfHooks]pairOfHooks{}
	var open []pairOfHooks
	visit := func(was, now pairOfHooks) {
		key := now
		key.pass.before = ""
		if _, seen := from[key]; !seen {
			from[key] = was
			open = append(open, now)
		}
	}
	for _, hooked := range []bool{false, true} {
		start := pairOfHooks{m: machineHook{uid: 1, hook: hooked}, c: coreHook{hook: hooked, companion: hooked}, member: true}
		visit(pairOfHooks{}, start)
	}
	for len(open) > 0 {
		w := open[0]
		open = open[1:]
		for _, next := range w.nexts(decide) {
			lost := !next.c.hook || w.c.companion && !next.c.companion
			if w.c.hook && lost && !next.letGo || next.unheld(decide) {
				return trail(from, w) + fmt.Sprintf("\n%s: %+v", next.pass.before, next)
			}
			visit(w, next)
		}
	}
	t.Logf("%d states", len(from))
	return ""
}

// unheld reports whether the mirror, when it looks and has nothing to do about the hook, leaves Cluster API's Machine without what the operator added, or
// holds it after the operator has removed that.
func (w pairOfHooks) unheld(decide decider) bool {
	if w.m.uid == 0 || decide(hookPass{m: w.m, c: w.c}.state()) != nil {
		return false
	}
	return w.m.hook && !w.letGo && !(w.c.hook && w.c.companion) || !w.m.hook && w.m.deleting && w.m.seen == w.m.uid && (w.c.hook || w.c.companion)
}

func trail(from map[pairOfHooks]pairOfHooks, w pairOfHooks) string {
	out := ""
	for range 40 {
		out = fmt.Sprintf("\n%s: %+v", w.pass.before, w) + out
		key := w
		key.pass.before = ""
		if w = from[key]; w.m.uid == 0 && w.m == (machineHook{}) && !w.member {
			break
		}
	}
	return out
}

// nexts are the states that follow when somebody does the next thing.
func (w pairOfHooks) nexts(decide decider) []pairOfHooks {
	var out []pairOfHooks
	do := func(who string, is bool, change func(*pairOfHooks)) {
		if is {
			n := w
			n.pass.before = who
			change(&n)
			n.pass.mOld = n.pass.mOld || n.m != w.m
			n.pass.cOld = n.pass.cOld || n.c != w.c
			if n.pass.reads == 0 {
				n.pass = hookPass{before: who}
			}
			out = append(out, n)
		}
	}
	exists := w.m.uid != 0
	do("etcd adds its hook", exists && !w.m.deleting && !w.m.hook, func(n *pairOfHooks) { n.m.hook, n.letGo = true, false })
	do("the member leaves", w.m.deleting && w.member, func(n *pairOfHooks) { n.member = false })
	do("etcd removes its hook", w.m.deleting && w.m.hook && !w.member, func(n *pairOfHooks) { n.m.hook, n.letGo = false, true })
	do("a person deletes the Machine in Cluster API", !w.c.deleting, func(n *pairOfHooks) { n.c.deleting = true })
	do("somebody deletes the mirror", exists && !w.m.deleting, func(n *pairOfHooks) { n.m.deleting = true })
	do("a person removes the hook in Cluster API", w.c.hook, func(n *pairOfHooks) { n.c.hook, n.letGo = false, true })
	do("a restore without the hook", !exists && !w.restored, func(n *pairOfHooks) { n.m, n.restored = machineHook{uid: 2, seen: 1}, true })

	do("a pass reads the mirror", w.pass.reads == 0 && exists, func(n *pairOfHooks) { n.pass = hookPass{reads: 1, m: w.m} })
	do("and Cluster API's object", w.pass.reads == 1, func(n *pairOfHooks) { n.pass.reads, n.pass.c = 2, w.c })
	do("a crash", w.pass.reads > 0, func(n *pairOfHooks) { n.pass = hookPass{} })
	do("the pass writes", w.pass.reads == 2, func(n *pairOfHooks) {
		n.write(decide)
		n.pass = hookPass{}
	})
	return out
}

// write is the pass's one request, as the API server takes it: by the resourceVersion that was read, a deletion by UID.
func (w *pairOfHooks) write(decide decider) {
	s := w.pass.state()
	if r := decide(s); r != nil {
		if r.object.GetKind() == s.core.GetKind() && r.object == s.core {
			if !w.pass.cOld {
				w.c.patched(r.patch)
			}
		} else if !w.pass.mOld {
			w.m.patched(r.patch)
		}
		return
	}
	switch m, c := w.pass.m, w.pass.c; {
	case c.deleting && !m.deleting && w.m.uid == m.uid:
		w.m.deleting = true // the deletion is propagated
	case m.deleting && !c.deleting && !w.pass.mOld:
		w.m = machineHook{} // an unowned mirror is released
	case !m.deleting && c.hook != m.hook && !w.pass.mOld:
		w.m.hook = c.hook // made equal
	}
}

func (p hookPass) state() *state {
	kind, _ := authority.KindNamed("Machine")
	m, c := &unstructured.Unstructured{Object: map[string]any{}}, &unstructured.Unstructured{Object: map[string]any{}}
	for _, o := range []*unstructured.Unstructured{m, c} {
		o.SetKind("Machine")
		o.SetName("x")
	}
	m.SetUID(types.UID(fmt.Sprint(p.m.uid)))
	put(m, string(authority.ClusterAPI), "status", "authoritativeAPI")
	if p.m.seen != 0 {
		m.SetAnnotations(map[string]string{authority.EtcdHookSeenAnnotation: fmt.Sprint(p.m.seen)})
	}
	if p.m.hook {
		hook := map[string]any{"name": authority.EtcdHookName, "owner": authority.EtcdHookOwner}
		_ = unstructured.SetNestedSlice(m.Object, []any{hook}, "spec", "lifecycleHooks", "preDrain")
	}
	if p.m.deleting {
		_ = unstructured.SetNestedField(m.Object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	}
	annotations := map[string]string{}
	for key, has := range map[string]bool{authority.EtcdHookAnnotation: p.c.hook, authority.EtcdCompanionAnnotation: p.c.companion} {
		if has {
			annotations[key] = authority.EtcdHookOwner
		}
	}
	c.SetAnnotations(annotations)
	if p.c.deleting {
		_ = unstructured.SetNestedField(c.Object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	}
	return &state{kind: kind, name: "x", machineAPI: m, core: c}
}

func (m *machineHook) patched(patch map[string]any) {
	if annotations, has := under(patch, "metadata", "annotations")[authority.EtcdHookSeenAnnotation]; has {
		m.seen = 0
		if annotations != nil {
			m.seen = m.uid
		}
	}
	if patch["spec"] != nil {
		m.hook = false
	}
}

func (c *coreHook) patched(patch map[string]any) {
	annotations := under(patch, "metadata", "annotations")
	for key, is := range map[string]*bool{authority.EtcdHookAnnotation: &c.hook, authority.EtcdCompanionAnnotation: &c.companion} {
		if value, has := annotations[key]; has {
			*is = value != nil
		}
	}
}
