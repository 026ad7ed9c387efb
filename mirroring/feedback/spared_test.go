// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"testing"
	"time"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestChecksCountFromTheInfrastructure(t *testing.T) {
	const (
		ours    = `metadata: {name: m, annotations: {` + authority.SparedAnnotation + `: ` + authority.SparedUntilReady + `}}`
		there   = `{status: {authoritativeAPI: ClusterAPI`
		settled = there + `, conditions: [{type: AuthoritySettled, status: "True", lastTransitionTime: "2026-11-27T12:00:00Z"}]}}`
		ready   = `, status: {conditions: [{type: InfrastructureReady, status: "True"}]}`
		unready = `, status: {conditions: [{type: InfrastructureReady, status: "False"}]}`
	)
	for _, c := range []struct {
		about, machineAPI, core string
		at                      string
		removed                 bool
		left                    time.Duration
	}{
		{"its instance is being created", settled, ours + unready, "12:01", false, 19 * time.Minute},
		{"nothing is known of it", settled, ours, "12:01", false, 19 * time.Minute},
		{"its infrastructure is ready", settled, ours + ready, "12:01", true, 19 * time.Minute},
		{"nobody could create it", settled, ours + unready, "12:20", true, 0},
		{"no controller has acknowledged the move", there + `}}`, ours, "12:59", false, 0},
		{"but its infrastructure is ready", there + `}}`, ours + ready, "12:01", true, 0},
		{"the Machine API's object is gone", ``, ours, "12:59", false, 0},
		{"somebody else spares it", settled, `metadata: {name: m, annotations: {` + authority.SparedAnnotation + `: ""}}` + ready, "12:59", false, 0},
		{"nobody does", settled, `metadata: {name: m}` + ready, "12:59", false, 0},
		{"in mid-move the mirror sees to it", `{status: {authoritativeAPI: Migrating, synchronizedAPI: MachineAPI}}`, ours + ready, "12:59", false, 0},
		{"in Machine API the mirror sees to it", `{status: {authoritativeAPI: MachineAPI}}`, ours + ready, "12:59", false, 0},
	} {
		kind, _ := authority.KindNamed("Machine")
		s := &pairs.State{Kind: kind, Name: "m", Core: mirroringtest.Object(t, `{`+c.core+`}`)}
		if c.machineAPI != "" {
			s.MachineAPI = mirroringtest.Object(t, c.machineAPI)
		}
		now, err := time.Parse(time.RFC3339, "2026-11-27T"+c.at+":00Z")
		if err != nil {
			t.Fatal(err)
		}
		w := Spared(s, now)
		if (w != nil) != c.removed {
			t.Errorf("%s: %v, want removed: %v", c.about, w, c.removed)
		}
		if w != nil {
			if value, has := w.Patch["metadata"].(map[string]any)["annotations"].(map[string]any)[authority.SparedAnnotation]; !has || value != nil {
				t.Errorf("%s: the patch is %v", c.about, w.Patch)
			}
		}
		if left := SparedLeft(s, now); left != c.left {
			t.Errorf("%s: %s are left, want %s", c.about, left, c.left)
		}
	}
	if core.SparedUntilReady != authority.SparedUntilReady {
		t.Error("the conversion carries it to Machine API")
	}
	if w := Spared(&pairs.State{}, time.Now()); w != nil {
		t.Errorf("without a Machine: %v", w)
	}
}
