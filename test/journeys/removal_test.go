// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/testcluster"
)

// admission lists the kinds of Poundlock's objects that make the API server ask or refuse.
const admission = "validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"

// converting › Upgrade / Downgrade Strategy: without Poundlock, what is paused stays paused, and the API that is authoritative goes on. When Poundlock is
// installed, an existing fleet gets mirrors, and nothing else happens to the fleet.
func TestPoundlockIsRemovedAndInstalledAgain(t *testing.T) {
	stories.Long(t)
	story(t)
	stays, moved := newSet(t, "stays-behind", 1), newSet(t, "moved-over", 1)
	for _, o := range []object{moved, mapiMachine(machinesOf(t, moved.name)[0])} {
		move(t, o, "ClusterAPI")
	}
	install := remove(t)

	must(t, stays.args("scale", "--replicas=2")...)
	must(t, capiSet(moved.name).args("scale", "--replicas=2")...)
	eventually(t, "the Machine API goes on with its set", func() string { return field(t, stays, ".status.availableReplicas") }, "2")
	eventually(t, "Cluster API goes on with its set", func() string { return field(t, capiSet(moved.name), ".status.availableReplicas") }, "2")
	if got := field(t, capiSet(stays.name), ".spec.replicas"); got != "1" {
		t.Errorf("who has scaled the mirror to %s?", got)
	}
	if got := machinesOf(t, moved.name); len(got) != 1 {
		t.Errorf("the Machine API, which is not authoritative, has Machines: %q", got)
	}
	for _, o := range []object{capiSet(stays.name), moved} {
		if got := condition(t, o, "Paused"); got != "True" {
			t.Errorf("%s %s has Paused=%s", o.resource, o.name, got)
		}
	}
	older, asItWas := olderFleet(t)

	install()
	for _, o := range append([]object{older}, mapiMachine(machinesOf(t, older.name)[0])) {
		eventually(t, o.resource+" "+o.name+" is mirrored", func() string { return condition(t, o, "Synchronized") }, "True")
		settled(t, o)
	}
	eventually(t, "the mirror is paused", func() string { return condition(t, capiSet(older.name), "Paused") }, "True")
	if now := look(t, older); now != asItWas {
		t.Errorf("the fleet was\n%s\nand is, since it is mirrored,\n%s", asItWas, now)
	}
	for _, set := range []object{stays, moved} {
		eventually(t, set.name+" has caught up", func() string {
			return fmt.Sprintf("%d %s %s", len(machinesOf(t, set.name)), field(t, set, ".spec.replicas"), field(t, capiSet(set.name), ".spec.replicas"))
		}, "2 2 2")
		for _, m := range machinesOf(t, set.name) {
			eventually(t, m+" is mirrored", func() string { return condition(t, mapiMachine(m), "Synchronized") }, "True")
		}
	}
}

// olderFleet creates a set of the Machine API that nobody mirrors, and returns what can be seen of it.
func olderFleet(t *testing.T) (set object, seen string) {
	t.Helper()
	if a := kubectl(t, testcluster.MachineSet("older", 1), "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	set = mapiSet("older")
	eventually(t, "an older fleet", func() string { return field(t, set, ".status.availableReplicas") }, "1")
	atRest(t)
	return set, look(t, set)
}

// look returns what must not change when a mirror is created: the object, its spec, its instance.
func look(t *testing.T, set object) string {
	t.Helper()
	var seen []string
	for _, o := range append([]object{set}, mapiMachine(machinesOf(t, set.name)[0])) {
		seen = append(seen, o.name, field(t, o, ".metadata.uid"), field(t, o, ".metadata.generation"), field(t, o, ".spec"), field(t, o, ".status.phase"))
	}
	return strings.Join(append(seen, instances(machinesOf(t, set.name)[0])...), "\n")
}

// remove removes Poundlock, admission first, and returns a function that installs it again.
func remove(t *testing.T) (install func()) {
	t.Helper()
	var saved struct{ Items []map[string]any }
	text := must(t, "get", admission, "-l", "app.kubernetes.io/part-of=poundlock", "-o", "yaml").out
	if err := yaml.Unmarshal([]byte(text), &saved); err != nil || len(saved.Items) == 0 {
		t.Fatalf("Poundlock's admission: %v: %s", err, text)
	}
	must(t, "delete", admission, "-l", "app.kubernetes.io/part-of=poundlock")
	if err := stage.StopManager(); err != nil {
		t.Fatal(err)
	}
	back := false
	install = func() {
		if back {
			return
		}
		back = true
		for _, item := range saved.Items {
			o := &unstructured.Unstructured{Object: item}
			o.SetResourceVersion("")
			o.SetUID("")
			o.SetManagedFields(nil)
			if err := stage.Admin.Create(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
		if err := stage.StartManager(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if !back {
			t.Error("Poundlock is still away: what follows will fail for want of it")
		}
	})
	return install
}
