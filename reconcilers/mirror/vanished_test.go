// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"testing"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestWhatIsDeletedRightAfterTheSwitch starts the mirror on what is left when Poundlock ended right after a switch, and somebody deleted the authoritative object
// before Poundlock began again: nothing is created. A new object that nothing was stored about gets its first twin.
func TestWhatIsDeletedRightAfterTheSwitch(t *testing.T) {
	w := twinsWorld(t)
	for _, kind := range authority.Kinds() {
		w := &twins{w, kind}
		t.Run(kind.Name, func(t *testing.T) {
			for _, c := range []struct{ name, status, want string }{
				{"switched", `"synchronizedGeneration":0,` + switchedCondition, "AuthoritativeObjectMissing"},
				{"switched-by-an-older-release", switchedCondition, "AuthoritativeObjectMissing"},
				{"new", `"conditions":[]`, "ResourceSynchronized"},
			} {
				w.adoptWith(t, c.name, c.status)
				w.eventually(t, c.name+" is reported", func() string {
					o := w.mapi(t, c.name)
					if said := condition(o, authority.ConditionSynchronized); conditionlist.Text(said, "reason") != c.want {
						return show(o)
					}
					return ""
				})
				core, infra := w.core(t, c.name), w.get(t, awsMachine, capi, c.name)
				if made := core != nil || infra != nil; made != (c.want == "ResourceSynchronized") {
					t.Errorf("%s: created %v %v", c.name, core, infra)
				}
			}
		})
	}
}

const switchedCondition = `"conditions":[{"type":"Synchronized","status":"Unknown","reason":"AuthorityChanged","severity":"Info","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]`

// adoptWith creates an object and stores its whole status in one write, so that the mirror sees nothing in between.
func (w *twins) adoptWith(t *testing.T, name, status string) {
	t.Helper()
	o := w.fresh(t, name, authority.ClusterAPI)
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.patch(t, o, "status", fmt.Sprintf(`{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI",%s}}`, status))
}
