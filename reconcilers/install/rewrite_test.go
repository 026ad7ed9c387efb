// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/test/chaos/wire"
)

// These are stories of objects that are rewritten by installers that die.

const (
	inPage  = 5
	pages   = 5
	objects = inPage*pages - 1 // awsThing/aws-default is another one
)

const definitionOfThings = "awsthings.infrastructure.cluster.x-k8s.io"

// bothVersions has a definition serve v1 and v2, and store one of them.
func bothVersions(stored string) func(string) string {
	first, second := oneVersion, strings.ReplaceAll(oneVersion, "name: v1", "name: v2")
	if stored == "v2" {
		first = strings.ReplaceAll(first, "storage: true", "storage: false")
	} else {
		second = strings.ReplaceAll(second, "storage: true", "storage: false")
	}
	return replaced(oneVersion, first+second)
}

// moving is a cluster with some pages of objects, and the release that stores them in another version.
func moving(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.options.Page = inPage
	c.release(both(t)...)
	c.untilDone()
	c.things(objects)
	c.restart()
	c.release(provider(t, "infrastructure-aws", "v1.1.0", bothVersions("v2")))
	return c
}

// rewritten counts how often each object was written since the n-th write.
func (c *cluster) rewritten(since int) map[string]int {
	out := map[string]int{}
	for _, w := range c.wire.Writes()[since:] {
		if w.Verb == "patch" && w.Resource == "awsthings" {
			out[w.Name]++
		}
	}
	return out
}

// rewrites is how far the inventory shows the rewrite to be.
func (c *cluster) rewrites() installation.Rewrites {
	c.Helper()
	inventory := c.must("ConfigMap", inventoryPrefix+"infrastructure-aws").Object["data"].(map[string]any)
	text, _ := inventory[rewritesKey].(string)
	out, err := installation.ParseRewrites(text)
	if err != nil {
		c.Fatal(err)
	}
	return out
}

// until has a new process for each pass, until some objects are rewritten since the n-th write.
func (c *cluster) until(since, want int) {
	c.Helper()
	c.eventually("objects are rewritten", func() error {
		if got := len(c.rewritten(since)); got >= want {
			return nil
		} else if all := len(c.wire.Writes()) - since; all > 3*objects {
			c.Fatalf("%d objects after %d writes: %v", got, all, c.rewritten(since))
		}
		c.restart()
		_, _ = c.once()
		return fmt.Errorf("%d objects are", len(c.rewritten(since)))
	})
}

// No process lives longer than a pass, and one dies within a page. Each object is rewritten once, but for those of that page.
func TestARewriteGoesOnInAnotherProcess(t *testing.T) {
	long(t, "a rewrite by installers that die")
	c := moving(t)
	since := len(c.wire.Writes())
	dies := c.wire.Lay(wire.Rule{When: wire.Nth(2*inPage+3, func(r wire.Request) bool { return r.Verb == "patch" && r.Resource == "awsthings" }),
		Do: wire.LoseAnswer()})
	c.eventually("it dies", func() error {
		c.restart()
		if _, err := c.once(); err == nil || !strings.Contains(err.Error(), "rewriting awsThing/") {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	dies()
	c.until(since, objects+1)
	c.restart()
	c.untilDone()
	twice := 0
	for _, n := range c.rewritten(since) {
		twice += n - 1
	}
	if got := len(c.rewritten(since)); got != objects+1 || twice > inPage {
		t.Errorf("%d of %d objects are rewritten, %d of them again", got, objects+1, twice)
	}
	noted := 0
	for _, w := range c.wire.Writes()[since:] {
		if w.Resource == "configmaps" && w.Name == inventoryPrefix+"infrastructure-aws" {
			noted++
		}
	}
	if t.Logf("the inventory was written %d times", noted); noted > pages+5 {
		t.Errorf("the inventory was written %d times for %d pages", noted, pages)
	}
	if diff := cmp.Diff([]string{"v2"}, c.stored()); diff != "" || len(c.rewrites()) > 0 {
		t.Errorf("%s%v is left in the inventory", diff, c.rewrites())
	}
	c.expect(well)
	c.quiet()
}

// The storage version moves back and forth while nobody installs: what was rewritten before may be stored in the older version again.
func TestARewriteBeginsAnewForAnotherStorageVersion(t *testing.T) {
	long(t, "a rewrite while the storage version moves to and fro")
	c := moving(t)
	c.until(len(c.wire.Writes()), 2*inPage)
	for _, stores := range []string{"0", "1"} {
		other := map[string]string{"0": "1", "1": "0"}[stores]
		c.edit("CustomResourceDefinition", definitionOfThings, types.JSONPatchType,
			`[{"op": "replace", "path": "/spec/versions/`+other+`/storage", "value": false}, {"op": "replace", "path": "/spec/versions/`+stores+
				`/storage", "value": true}]`)
	}
	since := len(c.wire.Writes())
	c.until(since, objects+1)
	c.untilDone()
	if diff := cmp.Diff([]string{"v2"}, c.stored()); diff != "" {
		t.Error(diff)
	}
	// The release before comes back in the middle of the next move.
	c.release(provider(t, "infrastructure-aws", "v1.1.1", bothVersions("v1")))
	c.until(len(c.wire.Writes()), 2*inPage)
	c.release(provider(t, "infrastructure-aws", "v1.1.0", bothVersions("v2")))
	since = len(c.wire.Writes())
	c.until(since, objects+1)
	c.restart()
	c.untilDone()
	if diff := cmp.Diff([]string{"v2"}, c.stored()); diff != "" || len(c.rewrites()) > 0 {
		t.Errorf("%s%v is left in the inventory", diff, c.rewrites())
	}
	c.expect(well)
	c.quiet()
}

// An installer is away for longer than the API server remembers a place in a list. The next one goes on at that place in the newest list. One that the API
// server does not know at all is the first.
func TestARewriteOutlivesItsPlaceInTheList(t *testing.T) {
	long(t, "a rewrite whose place in the list is forgotten")
	c := moving(t)
	for _, s := range []struct {
		stored string
		place  func(was string) string
		again  int // objects that are rewritten twice
	}{
		{"v2", longAgo, 0}, // 410 Gone
		{"v1", func(string) string { return "no-place" }, 2 * inPage}, // 400
	} {
		c.release(provider(t, "infrastructure-aws", "v1.1.0", bothVersions(s.stored)))
		since := len(c.wire.Writes())
		c.until(since, 2*inPage)
		if err := plane.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		rewrites := c.rewrites()
		at := rewrites[definitionOfThings]
		at.Continue = s.place(at.Continue)
		rewrites[definitionOfThings] = at
		patch, _ := json.Marshal(map[string]any{"data": map[string]any{rewritesKey: rewrites.Text()}})
		c.edit("ConfigMap", inventoryPrefix+"infrastructure-aws", types.MergePatchType, string(patch))
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kindOf("awsThing"))
		if err := c.List(t.Context(), list, client.Limit(1), client.Continue(at.Continue)); err == nil {
			t.Fatal("the API server still knows the place")
		}
		c.until(since, objects+1)
		c.untilDone()
		again := 0
		for _, n := range c.rewritten(since) {
			again += n - 1
		}
		if again != s.again {
			t.Errorf("%s: %d are rewritten again, want %d", s.stored, again, s.again)
		}
		if diff := cmp.Diff([]string{s.stored}, c.stored()); diff != "" {
			t.Error(diff)
		}
		c.quiet()
	}
	c.expect(well)
}

// longAgo is the same place in a list of the first revision.
func longAgo(place string) string {
	var token map[string]any
	raw, _ := base64.RawURLEncoding.DecodeString(place)
	_ = json.Unmarshal(raw, &token)
	token["rv"] = 1
	raw, _ = json.Marshal(token)
	return base64.RawURLEncoding.EncodeToString(raw)
}
