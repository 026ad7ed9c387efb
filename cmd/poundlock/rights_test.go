// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRights(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "cluster.x-k8s.io", Resource: "machines"}, "", errors.New("User may not list"))
	for sentence, c := range map[string]struct {
		err     error
		later   time.Duration
		started bool
		want    string
	}{
		"nothing was refused":                 {want: "not all objects of the cluster are read"},
		"a list is refused":                   {err: forbidden, want: "machines.cluster.x-k8s.io"},
		"the refusal names what to do":        {err: forbidden, want: "kubectl poundlock cleanup"},
		"nobody answers":                      {err: errors.New("connection refused"), want: "not all objects of the cluster are read"},
		"it was refused long ago":             {err: forbidden, later: time.Hour, want: "not all objects of the cluster are read"},
		"the caches were filled":              {started: true},
		"a right is lost after that":          {err: forbidden, started: true},
		"nothing was refused, a while passes": {later: time.Hour, want: "not all objects of the cluster are read"},
	} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		r := &rights{now: func() time.Time { return now }}
		r.note(c.err)
		now = now.Add(c.later)
		if c.started {
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Ready(nil); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", sentence, err, c.want)
		}
	}
}
