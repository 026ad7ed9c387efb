// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// script is what a story is when nothing happens.
type script struct {
	story
	end    state
	writes []string
}

// rehearse plays stories undisturbed, side by side, each twice: what differs between two performances could not be told from what a fault did.
func rehearse(t *testing.T, stories ...story) []script {
	t.Helper()
	performances := 2 * len(stories)
	var all []*play
	for range performances {
		all = append(all, newPlay())
	}
	out, ends := make([]script, len(stories)), make([]state, performances)
	before := len(line.Writes())
	starts := make([]int, performances)
	number := func(p *play) int { return slices.Index(all, p) }
	together(t, "rehearse begin", all, func(p *play) { p.ready(stories[number(p)/2]) })
	together(t, "rehearse", all, func(p *play) {
		starts[number(p)] = len(line.Writes())
		stories[number(p)/2].act(p)
		ends[number(p)] = p.rest(quiet)
		p.over()
	})
	written := line.Writes()
	together(t, "rehearse end", all, (*play).clean)
	for i, s := range stories {
		out[i] = script{story: s, end: ends[2*i]}
		if diff := differs(ends[2*i], ends[2*i+1]); diff != "" {
			t.Errorf("%s: two undisturbed performances end differently:\n%s", s.name, diff)
		}
		for n := 2 * i; n < 2*i+2; n++ {
			var writes []string
			for _, w := range written[max(before, starts[n]):] {
				if all[n].writes(w.Request) {
					writes = append(writes, all[n].unname(w.Request.String()))
				}
			}
			if len(writes) > len(out[i].writes) {
				out[i].writes = writes
			}
		}
		t.Logf("%s: %d writes:\n  %s", s.name, len(out[i].writes), strings.Join(out[i].writes, "\n  "))
	}
	return out
}

// together has several plays do something at the same time.
func together(t *testing.T, what string, all []*play, do func(*play)) {
	t.Helper()
	t.Run(what, func(t *testing.T) {
		for _, p := range all {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.on(t, do)
			})
		}
	})
}

// on has a test stand for what the play does.
func (p *play) on(t *testing.T, do func(*play)) {
	p.T = t
	do(p)
}

// ready begins a story, and comes to rest.
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
	return cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n"))
}

// ends waits until the play has come to the story's end, and stays there.
func (p *play) ends(s script) {
	p.Helper()
	var now state
	still := p.still(calm, &now)
	err := wait.PollUntilContextTimeout(p.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) { return still() && now == s.end, nil })
	if err != nil {
		now = p.state()
		p.Fatalf("after %s the end is another than undisturbed (-undisturbed +now):\n%s", patience, differs(s.end, now))
	}
}

// clean deletes everything on both sides at once, and wants nothing left of it.
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
	if said := flaps.of(p); len(said) > 0 {
		p.Errorf("Synchronized was False in between:\n%s", strings.Join(said, "\n"))
	}
}

func (p *play) sweep(u *unstructured.Unstructured) {
	p.Helper()
	p.insist("deleting "+u.GetName(), func(ctx context.Context) error { return client.IgnoreNotFound(stage.Admin.Delete(ctx, u)) })
}

// ownTemplate reports whether a template is a person's own: one that the mirror made becomes so when Cluster API is all that uses it, and outlives
// its MachineSet then as every template of Cluster API does.
func ownTemplate(u *unstructured.Unstructured) bool {
	_, mirrors := u.GetAnnotations()[authority.MirrorAnnotation]
	return u.GetKind() == "AWSMachineTemplate" && !mirrors
}
