// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conditionlist_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/internal/conditionlist"
)

const then, noon = "2026-01-01T00:00:00Z", "2026-11-21T12:00:00Z"

// with is a condition of type A, with members in pairs.
func with(members ...string) map[string]any {
	c := map[string]any{"type": "A"}
	for i := 0; i < len(members); i += 2 {
		c[members[i]] = members[i+1]
	}
	return c
}

func TestSet(t *testing.T) {
	now, err := time.Parse(time.RFC3339, "2026-11-21T14:00:00+02:00")
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]any{"type": "B", "status": "True"}
	for _, c := range []struct {
		sentence string
		list     []any
		wanted   map[string]any
		want     []any // nil: the list has it already
	}{
		{"the first condition", nil, with("status", "True"), []any{with("status", "True", "lastTransitionTime", noon)}},
		{"a condition beside others", []any{other}, with("status", "True"), []any{other, with("status", "True", "lastTransitionTime", noon)}},
		{"a status flips in its place", []any{with("status", "True", "lastTransitionTime", then), other}, with("status", "False"),
			[]any{with("status", "False", "lastTransitionTime", noon), other}},
		{"a message changes: the time stays", []any{with("status", "True", "message", "m", "lastTransitionTime", then)}, with("status", "True", "message", "n"),
			[]any{with("status", "True", "message", "n", "lastTransitionTime", then)}},
		{"a time of its own", []any{with("status", "True", "lastTransitionTime", then)}, with("status", "True", "lastTransitionTime", noon),
			[]any{with("status", "True", "lastTransitionTime", noon)}},
		{"a severity that is wanted no more", []any{with("status", "True", "severity", "Error", "lastTransitionTime", then)}, with("status", "True"),
			[]any{with("status", "True", "lastTransitionTime", then)}},
		{"equal", []any{with("status", "True", "reason", "R", "lastTransitionTime", then)}, with("status", "True", "reason", "R"), nil},
		{"equal, with a member of its writer's", []any{with("status", "True", "lastTransitionTime", then, "lastHeartbeatTime", then)}, with("status", "True"), nil},
		{"a number of another Go type is the same number", []any{map[string]any{"type": "A", "status": "True", "observedGeneration": float64(3), "lastTransitionTime": then}},
			map[string]any{"type": "A", "status": "True", "observedGeneration": int64(3)}, nil},
		{"what is no condition stays", []any{"text", nil}, with("status", "True"), []any{"text", nil, with("status", "True", "lastTransitionTime", noon)}},
	} {
		before := (&unstructured.Unstructured{Object: map[string]any{"list": c.list}}).DeepCopy()
		got, changed := conditionlist.Set(c.list, c.wanted, now)
		want := c.want
		if want == nil {
			want = c.list
		}
		if diff := cmp.Diff(want, got); diff != "" || changed != (c.want != nil) {
			t.Errorf("%s: changed %t, %s", c.sentence, changed, diff)
		}
		if diff := cmp.Diff(before.Object["list"], any(c.list)); diff != "" {
			t.Errorf("%s: the list was written to: %s", c.sentence, diff)
		}
		if again, changed := conditionlist.Set(got, c.wanted, now.Add(time.Hour)); changed {
			t.Errorf("%s: the second time it changes: %v", c.sentence, again)
		}
	}
}

func TestFindAndWithout(t *testing.T) {
	list := []any{with("status", "True"), map[string]any{"type": "B"}}
	if got := conditionlist.Find(list, "B"); got["type"] != "B" || conditionlist.Find(list, "C") != nil {
		t.Errorf("%v", got)
	}
	if diff := cmp.Diff(list[:1], conditionlist.Without(list, "B")); diff != "" || len(list) != 2 || len(conditionlist.Without(list, "C")) != 2 {
		t.Error(diff, list)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": list}}}
	conditionlist.Find(conditionlist.Of(o), "A")["status"] = "False"
	if conditionlist.Text(conditionlist.Find(list, "A"), "status") != "True" {
		t.Error("Of does not copy")
	}
}
