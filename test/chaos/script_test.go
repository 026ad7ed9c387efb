// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/chaos/wire"
)

// script is a story with its undisturbed end and its writes.
type script struct {
	story
	end    state
	writes []string
}

// rehearse plays stories undisturbed, side by side, each twice. If two undisturbed performances differed, the effect of a fault could not be distinguished from
// that. A story is at its end when both performances are at rest and equal.
func rehearse(t *testing.T, stories ...story) []script {
	t.Helper()
	var all, firsts []*play
	for range stories {
		first, second := newPlay(), newPlay()
		all, firsts = append(all, first, second), append(firsts, first)
	}
	number := func(p *play) int { return slices.Index(all, p) }
	scripts := make([]script, len(stories))
	together(t, "rehearse begin", all, func(p *play) { p.ready(stories[number(p)/2]) })
	before := len(line.Writes())
	together(t, "rehearse", all, func(p *play) {
		stories[number(p)/2].act(p)
		p.sprung()
	})
	together(t, "rehearse agree", firsts, func(p *play) {
		scripts[number(p)/2] = script{story: stories[number(p)/2], end: p.agree(all[number(p)+1])}
	})
	written := line.Writes()[before:]
	together(t, "rehearse end", all, (*play).clean)
	for i := range scripts {
		scripts[i].writes = longer(all[2*i].of(written), all[2*i+1].of(written))
		t.Logf("%s: %d writes:\n  %s", scripts[i].name, len(scripts[i].writes), strings.Join(scripts[i].writes, "\n  "))
	}
	return scripts
}

// agree waits until another performance of the same story has come to the same end, and both stay there.
func (p *play) agree(other *play) state {
	p.Helper()
	var one, two state
	other.T = p.T
	first, second := p.still(quiet, &one), other.still(quiet, &two)
	err := wait.PollUntilContextTimeout(p.Context(), 150*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		a, b := first(), second()
		return a && b && one == two && p.finished(), nil
	})
	if err != nil {
		p.Errorf("two undisturbed performances do not come to one end, or do not come to rest:\n%s\n%s", differs(p.state(), other.state()), p.state())
	}
	p.over()
	other.over()
	return one
}

// finished reports whether the conditions say that every object is settled, and none is being deleted.
func (p *play) finished() bool {
	return !slices.ContainsFunc(p.objects(), func(u unstructured.Unstructured) bool {
		return u.GetDeletionTimestamp() != nil || u.GroupVersionKind().Group == "machine.openshift.io" && !settled(&u)
	})
}

// of returns the writes to the play's objects, in words that are the same for each performance.
func (p *play) of(written []wire.Written) (out []string) {
	for _, w := range written {
		if p.writes(w.Request) {
			out = append(out, p.unname(w.Request.String()))
		}
	}
	return out
}

func longer(a, b []string) []string {
	if len(b) > len(a) {
		return b
	}
	return a
}

// together runs do for several plays at the same time.
func together(t *testing.T, what string, all []*play, do func(*play)) bool {
	t.Helper()
	return t.Run(what, func(t *testing.T) {
		for _, p := range all {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.on(t, do)
			})
		}
	})
}

// on runs do with t as the test that the play reports to.
func (p *play) on(t *testing.T, do func(*play)) {
	p.T = t
	do(p)
}

// ready begins a story, and waits until it is at rest.
func (p *play) ready(s story) {
	p.Logf("%s is %q", p.name, s.name)
	for _, step := range s.begin {
		step(p)
	}
	p.rest(2 * calm)
}

func differs(want, got state) string {
	if want == got {
		return ""
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(string(want)), B: difflib.SplitLines(string(got)), Context: 12})
	return cmp.Or(text, fmt.Sprint(err))
}

// ends waits until the play has come to the end of an undisturbed play, and stays there.
func (p *play) ends(undisturbed state) {
	p.Helper()
	undisturbed = same(undisturbed)
	var now state
	still := p.still(calm, &now)
	err := wait.PollUntilContextTimeout(p.Context(), 100*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return still() && same(now) == undisturbed, nil })
	if err != nil {
		p.Fatalf("after %s the end is another than undisturbed (-undisturbed +now):\n%s", patience, differs(undisturbed, same(p.state())))
	}
}

// clean deletes everything on both sides at once, and fails the play if anything of it is left.
func (p *play) clean() {
	p.Helper()
	p.over()
	for _, u := range p.objects() {
		if !strings.HasPrefix(u.GetKind(), "AWS") {
			p.sweep(&u)
		}
	}
	p.eventually("everything goes", func() bool {
		left := p.objects()
		for _, u := range left {
			if ownTemplate(&u) {
				p.sweep(&u)
			}
		}
		return len(left) == 0 && len(p.alive()) == 0
	})
	if err := stage.Cloud.Audit(); err != nil {
		p.Error(err)
	}
	flaws, seen := revisions.of(p)
	if len(flaws) > 0 {
		p.Errorf("%d revisions at which both APIs' controllers may act: %s", len(flaws), strings.Join(flaws, "\n"))
	}
	if seen == 0 {
		p.Error("the history has nothing of this play, and so proves nothing")
	}
	if value := flaps.of(p); len(value) > 0 {
		p.Errorf("Synchronized was False in between:\n%s", strings.Join(value, "\n"))
	}
}

func (p *play) sweep(u *unstructured.Unstructured) {
	p.Helper()
	p.insist("deleting "+u.GetName(), func(ctx context.Context) error { return client.IgnoreNotFound(stage.Admin.Delete(ctx, u)) })
}

// ownTemplate reports whether a template belongs to a person, and not to the mirror. A template that the mirror made becomes a person's own when only Cluster
// API uses it. It then outlives its MachineSet, as every template of Cluster API does.
func ownTemplate(u *unstructured.Unstructured) bool {
	_, mirrors := u.GetAnnotations()[authority.MirrorAnnotation]
	return u.GetKind() == "AWSMachineTemplate" && !mirrors
}
