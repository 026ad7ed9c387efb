// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
)

// Older content over newer content is new content as any other. It is refused while it lacks the version in which objects are stored, and
// accepted once a release that has both versions has moved them back. What the API server goes by is the list of stored versions, which it
// keeps without a single object, too.
func TestDowngrade(t *testing.T) {
	long(t, "older content over newer content")
	const v1 = oneVersion
	v2 := strings.ReplaceAll(v1, "name: v1", "name: v2")
	unstored := func(version string) string { return strings.ReplaceAll(version, "storage: true", "storage: false") }
	for name, objects := range map[string]int{"with objects": 3, "without an object": 0} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			webhook := &converter{}
			webhook.knowsBoth.Store(true)
			url := webhook.serve(t)
			aws := func(version, versions string, edit ...func(string) string) *corev1.ConfigMap {
				return provider(t, "infrastructure-aws", version,
					append([]func(string) string{converting(url, ""), replaced(v1, versions), without("name: aws-default")}, edit...)...)
			}
			c.release(provider(t, "cluster-api", "v1.0.0"), aws("v1.0.0", v1, without("aws-settings")))
			c.untilDone()
			c.things(objects)
			stored := func(want string) {
				t.Helper()
				if diff := cmp.Diff([]string{want}, c.stored()); diff != "" {
					t.Error(diff)
				}
			}

			// An upgrade that does not come to its end can be taken back: nothing is stored in the new version yet.
			c.standin.Crash("aws-manager", true)
			newer := aws("v1.1.0", unstored(v1)+v2, replaced("value: x", "value: new"))
			c.release(newer)
			c.eventually("aws waits for its pods", func() error {
				_, err := c.once()
				if err == nil && !strings.Contains(c.condition(progressing).Message, "Deployment/aws-manager") {
					return errWaits
				}
				return err
			})
			c.must("ConfigMap", "aws-settings")
			c.standin.Crash("aws-manager", false)
			c.release(aws("v1.0.0", v1, without("aws-settings")))
			c.untilDone()
			c.expect(well)
			stored("v1")
			if c.find("ConfigMap", "aws-settings") != nil {
				t.Error("what the newer content brought stays")
			}

			// One that has come to its end cannot, as long as v2 is stored.
			c.release(newer)
			c.untilDone()
			stored("v2")
			c.release(aws("v1.0.0", v1, without("aws-settings")))
			before := len(c.wire.Writes())
			c.passes(3)
			for _, w := range c.wire.Writes()[before:] {
				if w.Resource != "clusteroperators" {
					t.Errorf("written: %s", w)
				}
			}
			c.expect(statuses{available: "True", progressing: "False", degraded: "True"})
			if d := c.condition(degraded); d.Reason != "ContentInvalid" || !strings.Contains(d.Message, "v2, which the new CustomResourceDefinition lacks") ||
				!strings.Contains(d.Message, "both v2 and v1") {
				t.Errorf("%s %s", d.Reason, d.Message)
			}

			// One that has both moves the objects back, and then v1 alone is enough.
			c.release(aws("v1.0.1", v1+unstored(v2), without("aws-settings")))
			c.untilDone()
			c.expect(well)
			stored("v1")
			c.release(aws("v1.0.0", v1, without("aws-settings")))
			c.untilDone()
			c.expect(well)
			if r := c.must("ConfigMap", inventoryPrefix+"infrastructure-aws"); !strings.Contains(r.Object["data"].(map[string]any)[progressKey].(string),
				`"readyVersion": "v1.0.0"`) {
				t.Error("the older version is not what is ready")
			}
			for i := range objects {
				c.must("awsThing", "t"+string(rune('0'+i)))
			}
			c.quiet()
		})
	}
}
