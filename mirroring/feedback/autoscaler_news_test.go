// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// wrote is a manager's entry in metadata.managedFields with the time of its last write, "" for none.
func wrote(name, operation, subresource, second, fields string) string {
	entry := strings.TrimSuffix(mirroringtest.Manager(name, operation, fields), "}")
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
		return wrote(ownership.Manager, "Apply", "", second, `{"f:spec": {"f:order": {}}}`)
	}
	theirs := func(second string) string { return wrote("cluster-autoscaler", "Update", "", second, both) }
	scale := wrote("cluster-autoscaler", "Update", "scale", "", both)
	const newborn = "to a mirror that was made a moment ago"
	const beforeSwitch = "before the switch: the authority had that value at the switch, and has another since"
	const switched, inStep, never = `{type: Synchronized, status: Unknown, lastTransitionTime: "2026-11-23T00:00:20Z"}`,
		`{type: Synchronized, status: "True", lastTransitionTime: "2026-11-23T00:00:25Z"}`, ""
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
		{"the mirror still owns the field", 1, inStep, []string{wrote(ownership.Manager, "Apply", "", "30", both), theirs("31")}, false},
		{"status is no place for it", 1, inStep, []string{mine("30"), wrote("cluster-autoscaler", "Update", "status", "31", both)}, false},
		{"through /scale, which leaves no time", 1, inStep, []string{mine("30"), scale}, true},
		{"through /scale, and the mirror's were cleared", 1, inStep, []string{scale}, false},
		{"through /scale after a switch, while the authority's replicas are still the mirror's", 0, switched, []string{mine("10"), scale, "still"}, true},
		{"through /scale before the switch, or after it: somebody has scaled the authority since, and wins", 0, switched, []string{mine("10"), scale}, false},
		{"right after a switch", 0, switched, []string{mine("10"), theirs("20")}, true},
		{"right after a switch, to an object that the mirror has never written", 0, switched, []string{theirs("21")}, true},
		{beforeSwitch, 0, switched, []string{mine("10"), theirs("19")}, false},
		{"to what somebody else made, before the mirror", 0, never, []string{theirs("19")}, false},
		{"before the mirror was made", 0, never, []string{mine("20"), theirs("19")}, false},
		{newborn, 0, never, []string{mine("10"), theirs("19")}, false},
	} {
		for _, kind := range []string{"MachineSet", "Machine"} {
			s := &pairs.State{Kind: mirroringtest.Kind(t, kind), Name: "m"}
			s.Core = mirroringtest.Machine(t,
				fmt.Sprintf(`{metadata: {name: m, resourceVersion: "7", annotations: {%s: %s/m, cluster.x-k8s.io/delete-machine: now}, managedFields: [%s]}, spec: {replicas: 3}}`,
					authority.MirrorAnnotation, kind, strings.Join(slices.DeleteFunc(slices.Clone(c.managers), func(m string) bool { return m == "still" }), ", ")))
			s.MachineAPI = mirroringtest.Machine(t,
				fmt.Sprintf(`{metadata: {name: m, resourceVersion: "8"}, spec: {authoritativeAPI: MachineAPI, replicas: 1}, status: {authoritativeAPI: MachineAPI, synchronizedGeneration: %d, conditions: [%s]}}`,
					c.generation, c.synchronized))
			if slices.Contains(c.managers, "still") {
				s.MachineAPI.SetManagedFields(mirroringtest.Machine(t, `{metadata: {managedFields: [`+wrote(ownership.Manager, "Apply", "", "10",
					strings.Replace(both, "f:cluster.x-k8s.io", "f:machine.openshift.io", 1))+`]}}`).GetManagedFields())
			}
			if lag := kind == "Machine" && (c.sentence == beforeSwitch || c.sentence == newborn); lag {
				c.follows = true // the mark is not on the authority, which may never have had it
			}
			if got := Followed(s) != nil; got != c.follows {
				t.Errorf("%s: %s: followed: %t", kind, c.sentence, got)
			}
		}
	}
}

// TestBothSidesWereScaled: while Poundlock is away, or a moment ago. A scale through /scale has no time.
func TestBothSidesWereScaled(t *testing.T) {
	replicas := `{"f:spec": {"f:replicas": {}}}`
	person := wrote("kubectl", "Update", "scale", "", replicas)
	for _, c := range []struct {
		sentence, synchronized, by string
		generation                 int64
		follows                    bool
	}{
		{"a person has scaled the authority since both were equal", "True", person, 5, false},
		{"a person has edited something else of it, and had scaled it before", "True", person, 5, false},
		{"a person had scaled it before", "True", person, 4, true},
		{"the autoscaler was followed a moment ago", "True", wrote(ownership.CarriedManager, "Update", "", "31", replicas), 5, true},
		{"it does not convert, so that nobody knows when both were equal", "False", person, 5, true},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "m"}
		s.Core = mirroringtest.Machine(t, fmt.Sprintf(`{metadata: {name: m, resourceVersion: "7", annotations: {%s: MachineSet/m}, managedFields: [%s]}, spec: {replicas: 3}}`,
			authority.MirrorAnnotation, c.by))
		s.Core.SetGeneration(c.generation)
		s.MachineAPI = mirroringtest.Machine(t, fmt.Sprintf(`{metadata: {name: m, resourceVersion: "8", managedFields: [%s, %s]}, spec: {replicas: 4},
			status: {authoritativeAPI: ClusterAPI, synchronizedGeneration: 4, conditions: [{type: Synchronized, status: %q}]}}`,
			wrote(ownership.Manager, "Apply", "", "30", `{"f:spec": {"f:order": {}}}`), wrote("cluster-autoscaler", "Update", "scale", "", replicas), c.synchronized))
		if got := Followed(s) != nil; got != c.follows {
			t.Errorf("%s: followed: %t", c.sentence, got)
		}
	}
}

// TestWhatIsTheOperatorsWord: the limits of a set that has moved.
func TestWhatIsTheOperatorsWord(t *testing.T) {
	const size, there = "machine.openshift.io/cluster-api-autoscaler-node-group-max-size", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	both := `{"f:metadata": {"f:annotations": {"f:` + size + `": {}}}}`
	mine := wrote(ownership.Manager, "Apply", "", "30", `{"f:spec": {"f:replicas": {}}}`)
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
		{"its operator wrote before the move began", []string{mine, wrote("cluster-autoscaler-operator", "Update", "", "31", both)}, authority.Migrating, true},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "m"}
		s.Core = mirroringtest.Machine(t, fmt.Sprintf(`{metadata: {name: m, resourceVersion: "7", annotations: {%s: MachineSet/m, %s: "3"}}, spec: {replicas: 1}}`,
			authority.MirrorAnnotation, there))
		s.MachineAPI = mirroringtest.Machine(t,
			fmt.Sprintf(`{metadata: {name: m, resourceVersion: "8", annotations: {%s: "5"}, managedFields: [%s]}, spec: {replicas: 1}, status: {authoritativeAPI: %s, synchronizedAPI: ClusterAPI, synchronizedGeneration: 1}}`,
				size, strings.Join(c.managers, ", "), c.api))
		w := Followed(s)
		if (w != nil) != c.follows {
			t.Errorf("%s: followed: %t", c.sentence, w != nil)
		}
		if w != nil && (w.Object != s.Core || w.Fields[0] != "metadata.annotations."+there) {
			t.Errorf("%s: writes %v to %s", c.sentence, w.Fields, pairs.Describe(w.Object))
		}
	}
}

// TestWhatTheAutoscalerWritesToTheMachineAPIsMirror: Cluster API is authoritative. The replicas differ, or the marks do.
func TestWhatTheAutoscalerWritesToTheMachineAPIsMirror(t *testing.T) {
	const newer, older, there = "machine.openshift.io/delete-machine", "machine.openshift.io/cluster-api-delete-machine", "cluster.x-k8s.io/delete-machine"
	const switched, inStep = `{type: Synchronized, status: Unknown, lastTransitionTime: "2026-11-23T00:00:20Z"}`,
		`{type: Synchronized, status: "True", lastTransitionTime: "2026-11-23T00:00:25Z"}`
	marked := `{"f:metadata": {"f:annotations": {"f:` + newer + `": {}, "f:` + older + `": {}}}}`
	markedThere := `{"f:metadata": {"f:annotations": {"f:` + there + `": {}}}}`
	mine, replicated := wrote(ownership.Manager, "Apply", "", "30", `{"f:spec": {"f:order": {}}}`), `{"f:spec": {"f:replicas": {}}}`
	scale := wrote("cluster-autoscaler", "Update", "scale", "", replicated)
	const never = " "
	created := wrote(ownership.Manager, "Update", "", "18", `{"f:spec": {"f:order": {}}}`)
	autoscaler := func(second string) string { return wrote("cluster-autoscaler", "Update", "", second, marked) }
	const both = newer + ": t1, " + older + ": t2"
	for _, c := range []struct {
		sentence, kind, api, synchronized string
		generation                        int
		// on and by are the mirror's annotations, or replicas, and managed fields; thereOn and thereBy the authority's.
		on, by, thereOn, thereBy string
		want                     string
	}{
		{sentence: "it marks a Machine", kind: "Machine", on: both, by: mine + "," + autoscaler("31"), want: there + "=t1"},
		{sentence: "it marks a Machine by the older name alone", kind: "Machine", on: older + ": t2", by: mine + "," + autoscaler("31"), want: there + "=t2"},
		{sentence: "it has marked what is marked", kind: "Machine", on: both, by: mine + "," + autoscaler("31"), thereOn: there + ": t1", thereBy: wrote("kubectl", "Update", "", "29", markedThere)},
		{sentence: "a person marks, past the locks", kind: "Machine", on: both, by: mine + "," + wrote("kubectl", "Update", "", "31", marked)},
		{sentence: "managed fields were cleared", kind: "Machine", on: both},
		{sentence: "it has marked before the move began", kind: "Machine", api: "Migrating", on: both, by: mine + "," + autoscaler("31"), want: there + "=t1"},
		{sentence: "it marks right after the switch", kind: "Machine", generation: -1, synchronized: switched, on: both, by: autoscaler("20"), want: there + "=t1"},
		{sentence: "it has marked right before the switch", kind: "Machine", generation: -1, synchronized: switched, on: both, by: autoscaler("19"), want: there + "=t1"},
		{sentence: "it has marked before there was any mirror", kind: "Machine", generation: -1, on: both, by: autoscaler("19")},
		{sentence: "it marks a mirror that was made a moment ago", kind: "Machine", generation: -1, synchronized: never, on: both, by: created + "," + autoscaler("19"), want: there + "=t1"},
		{sentence: "it has marked before the mirror was made", kind: "Machine", generation: -1, synchronized: never, on: both, by: created + "," + autoscaler("17")},
		{sentence: "it marks a mirror that was made a moment ago, and a person the authority", kind: "Machine", generation: -1, synchronized: never, on: both, by: created + "," + autoscaler("19"), thereOn: there + ": t0"},
		{sentence: "it takes its mark back", kind: "Machine", by: mine, thereOn: there + ": t1", thereBy: wrote(ownership.CarriedManager, "Update", "", "31", markedThere), want: there + "="},
		{sentence: "it takes its mark back in mid-move", kind: "Machine", api: "Migrating", by: mine, thereOn: there + ": t1", thereBy: wrote(ownership.CarriedManager, "Update", "", "31", markedThere), want: there + "="},
		{sentence: "in mid-move the mirror lacks a person's mark", kind: "Machine", api: "Migrating", by: mine, thereOn: there + ": t1", thereBy: wrote("kubectl", "Update", "", "31", markedThere)},
		{sentence: "it takes back a mark from before the switch", kind: "Machine", generation: -1, synchronized: switched, thereOn: there + ": t1", thereBy: wrote(ownership.Manager, "Apply", "", "10", markedThere), want: there + "="},
		{sentence: "one name of two is gone: it is marked still", kind: "Machine", on: older + ": t2", by: mine, thereOn: there + ": t1", thereBy: wrote(ownership.CarriedManager, "Update", "", "31", markedThere)},
		{sentence: "a person's mark on the authority is new to the mirror", kind: "Machine", by: mine, thereOn: there + ": t1", thereBy: wrote("kubectl", "Update", "", "31", markedThere)},
		{sentence: "a manifest has the mark, too", kind: "Machine", by: mine, thereOn: there + ": t1", thereBy: wrote(ownership.CarriedManager, "Update", "", "31", markedThere) + "," + wrote("kubectl", "Apply", "", "32", markedThere)},
		{sentence: "the authority's managed fields were cleared", kind: "Machine", by: mine, thereOn: there + ": t1"},
		{sentence: "the mirror was created anew by a person, without the mark", kind: "Machine", thereOn: there + ": t1", thereBy: wrote(ownership.CarriedManager, "Update", "", "31", markedThere)},
		{sentence: "and adopted", kind: "Machine", generation: -1, thereOn: there + ": t1", thereBy: wrote(ownership.CarriedManager, "Update", "", "31", markedThere)},
		{sentence: "it scales up", kind: "MachineSet", on: "5", by: mine + "," + scale, thereOn: "3", want: "replicas=5"},
		{sentence: "it scales right after the switch", kind: "MachineSet", generation: -1, synchronized: switched, on: "5", by: scale, thereOn: "3", thereBy: wrote(ownership.Manager, "Apply", "", "10", replicated), want: "replicas=5"},
		{sentence: "it scaled before the switch, and a person has scaled the authority since", kind: "MachineSet", generation: -1, synchronized: switched, on: "5", by: scale, thereOn: "3", thereBy: wrote("kubectl", "Update", "", "22", replicated)},
		{sentence: "a person scales, past the locks", kind: "MachineSet", on: "5", by: mine + "," + wrote("kubectl", "Update", "scale", "", replicated), thereOn: "3"},
		{sentence: "somebody scales under another program's name, within its limits", kind: "MachineSet", on: "5", by: mine + "," + wrote("scaler", "Update", "scale", "", replicated), thereOn: "3, min: 1, max: 5"},
		{sentence: "it has scaled before the move began", kind: "MachineSet", api: "Migrating", on: "5", by: mine + "," + scale, thereOn: "3", want: "replicas=5"},
		{sentence: "it scales to zero, which has no owner", kind: "MachineSet", on: "0", by: mine, thereOn: "3, min: 0", want: "replicas=0"},
		{sentence: "it scales to zero right after the switch", kind: "MachineSet", generation: -1, synchronized: switched, on: "0", thereOn: "3, min: 0", thereBy: wrote(ownership.Manager, "Apply", "", "10", replicated), want: "replicas=0"},
		{sentence: "a set at zero, and a person has scaled the authority since the switch", kind: "MachineSet", generation: -1, synchronized: switched, on: "0", thereOn: "3, min: 0", thereBy: wrote("kubectl", "Update", "", "22", replicated)},
		{sentence: "zero of a set that it may not empty is nobody's", kind: "MachineSet", on: "0", by: mine, thereOn: "3, min: 1"},
		{sentence: "zero of a set that it does not scale is nobody's", kind: "MachineSet", on: "0", by: mine, thereOn: "3"},
		{sentence: "zero with an owner is that one's", kind: "MachineSet", on: "0", by: mine + "," + wrote("kubectl", "Update", "", "31", replicated), thereOn: "3, min: 0"},
		{sentence: "managed fields were cleared, and it is zero", kind: "MachineSet", on: "0", thereOn: "3, min: 0"},
	} {
		generation := max(c.generation+1, 0)
		if c.api == "" {
			c.api = "ClusterAPI"
		}
		if c.synchronized == "" {
			c.synchronized = inStep
		}
		s := &pairs.State{Kind: mirroringtest.Kind(t, c.kind), Name: "m"}
		form := `{apiVersion: v1, kind: %s, metadata: {name: m, resourceVersion: "8", annotations: {%s}, managedFields: [%s]}, spec: {%s}%s}`
		spec, annotations, specThere, annotationsThere := "", c.on, "", c.thereOn
		if c.kind == "MachineSet" {
			replicas, least, limited := strings.Cut(c.thereOn, ", min: ")
			least, most, both := strings.Cut(least, ", max: ")
			spec, annotations, specThere, annotationsThere = "replicas: "+c.on, "", "replicas: "+replicas, ""
			if limited {
				annotationsThere = fmt.Sprintf("cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: %q", least)
			}
			if both {
				annotationsThere += fmt.Sprintf(", cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: %q", most)
			}
		}
		status := fmt.Sprintf(`, status: {authoritativeAPI: %s, synchronizedAPI: ClusterAPI, synchronizedGeneration: %d, conditions: [%s]}`,
			c.api, generation, c.synchronized)
		s.MachineAPI = mirroringtest.Machine(t, fmt.Sprintf(form, c.kind, annotations, c.by, spec, status))
		s.Core = mirroringtest.Machine(t, fmt.Sprintf(form, c.kind, annotationsThere, c.thereBy, specThere, ""))
		got := ""
		if w := Followed(s); w != nil {
			if w.Object != s.Core || w.By != ownership.CarriedManager {
				t.Errorf("%s: writes to %s as %s", c.sentence, pairs.Describe(w.Object), w.By)
			}
			got = shown(w)
		}
		if got != c.want {
			t.Errorf("%s: carries over %q, want %q", c.sentence, got, c.want)
		}
	}
}

// shown is what a patch changes: replicas, else annotations.
func shown(w *pairs.Write) string {
	if spec := pairs.Below(w.Patch, "spec"); spec != nil {
		return fmt.Sprintf("replicas=%v", spec["replicas"])
	}
	var out []string
	for key, value := range pairs.Below(pairs.Below(w.Patch, "metadata"), "annotations") {
		if value == nil {
			value = ""
		}
		out = append(out, fmt.Sprintf("%s=%v", key, value))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestMarksComeBeforeReplicas: the set is Cluster API's, and the autoscaler has scaled its mirror down.
func TestMarksComeBeforeReplicas(t *testing.T) {
	marked := wrote("cluster-autoscaler", "Update", "", "31", `{"f:metadata": {"f:annotations": {"f:machine.openshift.io/delete-machine": {}}}}`)
	mine := wrote(ownership.Manager, "Apply", "", "30", `{"f:spec": {"f:order": {}}}`)
	for _, c := range []struct {
		sentence, machine, twin string
		replicas                int
		want                    []string
	}{
		{"Cluster API's Machine", `{annotations: {machine.openshift.io/delete-machine: t}, managedFields: [` + mine + `, ` + marked + `]}, status: {authoritativeAPI: ClusterAPI, synchronizedGeneration: 1}`, `{}`, 1,
			[]string{"Machine: cluster.x-k8s.io/delete-machine=t", "MachineSet: replicas=1"}},
		{"Machine API's Machine, whose mirror lags", `{annotations: {machine.openshift.io/cluster-api-delete-machine: t}}, status: {authoritativeAPI: MachineAPI}`, `{}`, 1,
			[]string{"Machine: cluster.x-k8s.io/delete-machine=t", "MachineSet: replicas=1"}},
		{"a Machine that is marked in both APIs", `{annotations: {machine.openshift.io/delete-machine: t}}, status: {authoritativeAPI: MachineAPI}`, `{annotations: {cluster.x-k8s.io/delete-machine: t}}`, 1,
			[]string{"MachineSet: replicas=1"}},
		{"a Machine without a twin", `{annotations: {machine.openshift.io/delete-machine: t}}, status: {authoritativeAPI: MachineAPI}`, "", 1,
			[]string{"MachineSet: replicas=1"}},
		{"more replicas choose nobody", `{annotations: {machine.openshift.io/delete-machine: t}}, status: {authoritativeAPI: MachineAPI}`, `{}`, 3,
			[]string{"MachineSet: replicas=3"}},
	} {
		set := &pairs.State{Kind: mirroringtest.Kind(t, "MachineSet"), Name: "m"}
		set.MachineAPI = mirroringtest.Object(t,
			fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: m, managedFields: [%s, %s]}, spec: {replicas: %d}, status: {authoritativeAPI: ClusterAPI, synchronizedGeneration: 1}}`,
				mine, wrote("cluster-autoscaler", "Update", "scale", "", `{"f:spec": {"f:replicas": {}}}`), c.replicas))
		set.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, metadata: {name: m}, spec: {replicas: 2}}`)
		machine := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m-1",
			MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: `+c.machine+`}`)}
		machine.MachineAPI.SetName("m-1")
		if c.twin != "" {
			machine.Core = mirroringtest.Object(t, `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: `+c.twin+`}`)
			machine.Core.SetName("m-1")
		}
		set.MarkedMachines = []*pairs.State{machine}
		var got []string
		for range 3 {
			w := Followed(set)
			if w == nil {
				break
			}
			got = append(got, w.Object.GetKind()+": "+shown(w))
			now := w.Object.DeepCopy()
			if spec := pairs.Below(w.Patch, "spec"); spec != nil {
				now.Object["spec"] = spec
			} else {
				now.SetAnnotations(map[string]string{"cluster.x-k8s.io/delete-machine": "t"})
			}
			set.Store(w.Object, now)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.sentence, diff)
		}
	}
}
