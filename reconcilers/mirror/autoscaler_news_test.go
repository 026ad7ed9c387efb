// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// wrote is a manager's entry in metadata.managedFields with the time of its last write, "" for none.
func wrote(name, operation, subresource, second, fields string) string {
	entry := strings.TrimSuffix(manager(name, operation, fields), "}")
	if subresource != "" {
		entry += ", subresource: " + subresource
	}
	if second != "" {
		entry += fmt.Sprintf(", time: %q", "2026-11-23T00:00:"+second+"Z")
	}
	return entry + "}"
}

// TestWhatIsTheAutoscalersWord: the authority has 1 replica, its mirror 3, and the mark is on the mirror alone. Only what managedFields give to
// the autoscaler, later than the mirror's last write, reaches the authority.
func TestWhatIsTheAutoscalersWord(t *testing.T) {
	const both = `{"f:metadata": {"f:annotations": {"f:cluster.x-k8s.io/delete-machine": {}}}, "f:spec": {"f:replicas": {}}}`
	mine := func(second string) string {
		return wrote(fieldManager, "Apply", "", second, `{"f:spec": {"f:order": {}}}`)
	}
	theirs := func(second string) string { return wrote("cluster-autoscaler", "Update", "", second, both) }
	scale := wrote("cluster-autoscaler", "Update", "scale", "", both)
	const switched, inStep, never = `{type: Synchronized, status: Unknown, lastTransitionTime: "2026-11-23T00:00:20Z"}`, `{type: Synchronized, status: "True", lastTransitionTime: "2026-11-23T00:00:25Z"}`, ""
	for _, c := range []struct {
		sentence     string
		generation   int
		synchronized string
		managers     []string
		follows      bool
	}{
		{"the autoscaler wrote after the mirror", 1, inStep, []string{mine("30"), theirs("31")}, true},
		{"in the same second", 1, inStep, []string{mine("30"), theirs("30")}, true},
		{"by an apply", 1, inStep, []string{mine("30"), wrote("cluster-autoscaler", "Apply", "", "31", both)}, true},
		{"before the mirror did: somebody has edited the managed fields", 1, inStep, []string{mine("30"), theirs("29")}, false},
		{"the managed fields were cleared", 1, inStep, nil, false},
		{"and the mirror's alone were cleared", 1, inStep, []string{theirs("31")}, false},
		{"a person wrote, past the locks", 1, inStep, []string{mine("30"), wrote("kubectl-scale", "Update", "scale", "31", both)}, false},
		{"the mirror still owns the field", 1, inStep, []string{wrote(fieldManager, "Apply", "", "30", both), theirs("31")}, false},
		{"status is no place for it", 1, inStep, []string{mine("30"), wrote("cluster-autoscaler", "Update", "status", "31", both)}, false},
		{"through /scale, which leaves no time", 1, inStep, []string{mine("30"), scale}, true},
		{"through /scale, and the mirror's were cleared", 1, inStep, []string{scale}, false},
		{"through /scale after a switch, while the authority's replicas are still the mirror's", 0, switched, []string{mine("10"), scale, "still"}, true},
		{"through /scale before the switch, or after it: somebody has scaled the authority since, and wins", 0, switched, []string{mine("10"), scale}, false},
		{"right after a switch", 0, switched, []string{mine("10"), theirs("20")}, true},
		{"right after a switch, to an object that the mirror has never written", 0, switched, []string{theirs("21")}, true},
		{"before the switch: the authority had that value at the switch, and has another since", 0, switched, []string{mine("10"), theirs("19")}, false},
		{"before there was any mirror", 0, never, []string{mine("10"), theirs("19")}, false},
	} {
		for _, kind := range []string{"MachineSet", "Machine"} {
			s := &state{kind: kindNamed(t, kind), name: "m"}
			s.core = parse(t, fmt.Sprintf(`{metadata: {name: m, resourceVersion: "7", annotations: {%s: %s/m, cluster.x-k8s.io/delete-machine: now}, managedFields: [%s]}, spec: {replicas: 3}}`,
				authority.MirrorAnnotation, kind, strings.Join(slices.DeleteFunc(slices.Clone(c.managers), func(m string) bool { return m == "still" }), ", ")))
			s.machineAPI = parse(t, fmt.Sprintf(`{metadata: {name: m, resourceVersion: "8"}, spec: {authoritativeAPI: MachineAPI, replicas: 1}, status: {authoritativeAPI: MachineAPI, synchronizedGeneration: %d, conditions: [%s]}}`,
				c.generation, c.synchronized))
			if slices.Contains(c.managers, "still") {
				s.machineAPI.SetManagedFields(parse(t, `{metadata: {managedFields: [`+wrote(fieldManager, "Apply", "", "10", both)+`]}}`).GetManagedFields())
			}
			if got := s.followed() != nil; got != c.follows {
				t.Errorf("%s: %s: followed: %t", kind, c.sentence, got)
			}
		}
	}
}

// TestClearedManagedFieldsAreClaimed: a mirror without an entry of ours cannot be relieved of what its authority drops later, so that it is applied once.
func TestClearedManagedFieldsAreClaimed(t *testing.T) {
	const marked = `annotations: {` + authority.MirrorAnnotation + `: Machine/m}`
	for _, c := range []struct {
		sentence, live string
		claims         bool
	}{
		{"nothing is left of them", `{metadata: {` + marked + `}, spec: {a: 1}}`, true},
		{"another's entry is left", `{metadata: {` + marked + `, managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, true},
		{"ours is there", `{metadata: {` + marked + `, managedFields: [` + manager(fieldManager, "Apply", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, false},
		{"the Machine API's mirror, too", `{apiVersion: machine.openshift.io/v1beta1, metadata: {}, spec: {a: 1}}`, true},
		{"one that somebody else made is taken over field by field", `{metadata: {managedFields: [` + manager("kubectl", "Update", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, false},
	} {
		s := &state{kind: kindNamed(t, "Machine"), name: "m"}
		s.machineAPI = parse(t, `{metadata: {name: m}, status: {authoritativeAPI: MachineAPI, synchronizedGeneration: 1}}`)
		w := s.become(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "spec": map[string]any{"a": int64(1)}}}, parse(t, c.live))
		if got := w != nil && w.verb == apply; got != c.claims {
			t.Errorf("%s: applied: %t", c.sentence, got)
		}
	}
}

// TestWhatIsTheOperatorsWord: the limits of a set that has moved.
func TestWhatIsTheOperatorsWord(t *testing.T) {
	const size, there = "machine.openshift.io/cluster-api-autoscaler-node-group-max-size", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	both := `{"f:metadata": {"f:annotations": {"f:` + size + `": {}}}}`
	mine := wrote(fieldManager, "Apply", "", "30", `{"f:spec": {"f:replicas": {}}}`)
	for _, c := range []struct {
		sentence string
		managers []string
		api      authority.API
		follows  bool
	}{
		{"its operator wrote after the mirror", []string{mine, wrote("cluster-autoscaler-operator", "Update", "", "31", both)}, authority.ClusterAPI, true},
		{"before the mirror", []string{mine, wrote("cluster-autoscaler-operator", "Update", "", "29", both)}, authority.ClusterAPI, false},
		{"a person wrote, past the locks", []string{mine, wrote("kubectl-annotate", "Update", "", "31", both)}, authority.ClusterAPI, false},
		{"managed fields were cleared", nil, authority.ClusterAPI, false},
		{"the set is the authority", []string{mine, wrote("cluster-autoscaler-operator", "Update", "", "31", both)}, authority.MachineAPI, false},
		{"authority moves", []string{mine, wrote("cluster-autoscaler-operator", "Update", "", "31", both)}, authority.Migrating, false},
	} {
		s := &state{kind: kindNamed(t, "MachineSet"), name: "m"}
		s.core = parse(t, fmt.Sprintf(`{metadata: {name: m, resourceVersion: "7", annotations: {%s: MachineSet/m, %s: "3"}}, spec: {replicas: 1}}`, authority.MirrorAnnotation, there))
		s.machineAPI = parse(t, fmt.Sprintf(`{metadata: {name: m, resourceVersion: "8", annotations: {%s: "5"}, managedFields: [%s]}, spec: {replicas: 1}, status: {authoritativeAPI: %s, synchronizedAPI: ClusterAPI, synchronizedGeneration: 1}}`,
			size, strings.Join(c.managers, ", "), c.api))
		w := s.followed()
		if (w != nil) != c.follows {
			t.Errorf("%s: followed: %t", c.sentence, w != nil)
		}
		if w != nil && (w.object != s.core || w.fields[0] != "metadata.annotations."+there) {
			t.Errorf("%s: writes %v to %s", c.sentence, w.fields, describe(w.object))
		}
	}
}
