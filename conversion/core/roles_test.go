// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
)

// labelCommand and patchCommand are the remedies of a Machine and of a set's template.
var (
	labelCommand = regexp.MustCompile(`kubectl -n openshift-cluster-api label --overwrite machines\.cluster\.x-k8s\.io worker-a-1((?: \S+[^.])+)(?:\. |$)`)
	patchCommand = regexp.MustCompile(`kubectl -n openshift-cluster-api patch machinesets\.cluster\.x-k8s\.io worker-a --type merge -p '([^']*)'`)
)

// TestHalfAControlPlaneMachine: of all labels by which either API knows a control plane Machine, each combination that is refused names the label that is
// missing, and each command of the message makes it one that converts: the first one of the control plane, the second none.
func TestHalfAControlPlaneMachine(t *testing.T) {
	const none = "none"
	for _, kind := range []string{"Machine", "MachineSet"} {
		text := objects[kind]
		twin, errs := core.ToClusterAPI(kind, object(t, text), env())
		diff(t, nil, errs.ToAggregate())
		path := []string{"metadata"}
		if kind == "MachineSet" {
			path = []string{"spec", "template", "metadata"}
		}
		refused := 0
		for _, choice := range choices(
			[]string{none, "", "worker", "master", "control-plane"}, []string{none, "", "worker", "master"}, []string{none, ""}, []string{none, "", "x"},
			[]string{none, ""}, []string{none, ""}, []string{none, "here"},
		) {
			if choice[6] != none && choice[3] != "" || kind == "MachineSet" && (choice[4] != none || choice[6] != none) {
				continue // there is no such label of the Node; a template converts as a Machine does
			}
			labels := map[string]string{}
			for i, name := range []string{machineapi.RoleLabel, machineapi.TypeLabel, "cluster.x-k8s.io/control-plane", "node-role.kubernetes.io/master",
				"node-role.kubernetes.io/worker", "node-role.kubernetes.io/control-plane"} {
				if choice[i] != none {
					labels[name] = choice[i]
				}
			}
			// In the Machine API the Node's label is in spec.metadata.
			onNode := map[string]string{}
			if choice[6] != none {
				onNode[core.NodeLabelsAnnotation] = "node-role.kubernetes.io/master"
			}
			of := core.Twin{Core: with(t, twin.Core, labels, onNode, path), Infra: twin.Infra}
			_, errs := core.ToMachineAPI(kind, of, env())
			if len(errs) == 0 {
				continue
			}
			refused++
			detail := errs[0].Detail
			if len(errs) != 1 || !strings.HasSuffix(errs[0].Field, "metadata.labels[cluster.x-k8s.io/control-plane]") {
				t.Fatalf("%s %v: %v", kind, labels, errs.ToAggregate())
			}
			missing := machineapi.RoleLabel + "=master"
			if _, control := labels["cluster.x-k8s.io/control-plane"]; !control {
				missing = "cluster.x-k8s.io/control-plane"
			}
			if !strings.Contains(detail, "lacks the label "+missing) {
				t.Errorf("%s %v: does not name %s: %s", kind, labels, missing, detail)
			}
			remedies := remedies(t, detail)
			if len(remedies) != 2 {
				t.Fatalf("%s %v: %d remedies: %s", kind, labels, len(remedies), detail)
			}
			for i, remedy := range remedies {
				after := maps.Clone(labels)
				for k, v := range remedy {
					if delete(after, k); v != nil {
						after[k] = *v
					}
				}
				of.Core = with(t, twin.Core, after, onNode, path)
				m, errs := core.ToMachineAPI(kind, of, env())
				if len(errs) > 0 {
					t.Errorf("%s %v: after remedy %d of %q: %v", kind, labels, i, detail, errs.ToAggregate())
					continue
				}
				role, _, _ := unstructured.NestedString(m.Object, append(path, "labels", machineapi.RoleLabel)...)
				if is := role == "master" || role == "control-plane"; is != (i == 0) {
					t.Errorf("%s %v: after remedy %d of %q its role is %q", kind, labels, i, detail, role)
				}
				_, control := labels["cluster.x-k8s.io/control-plane"]
				of, _, _ := unstructured.NestedString(m.Object, append(path, "labels", machineapi.TypeLabel)...)
				if control && i == 0 && choice[1] == none && of != "master" {
					t.Errorf("%s %v: after remedy %q its type is %q, by which a control plane's set selects", kind, labels, detail, of)
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s: nothing was refused", kind)
		}
	}
}

// choices lists every combination of one of each.
func choices(of ...[]string) [][]string {
	out := [][]string{nil}
	for _, all := range of {
		var next [][]string
		for _, have := range out {
			for _, one := range all {
				next = append(next, append(slices.Clone(have), one))
			}
		}
		out = next
	}
	return out
}

// with is an object that has these labels alone at a path, and further annotations.
func with(t *testing.T, o *unstructured.Unstructured, labels, annotations map[string]string, path []string) *unstructured.Unstructured {
	t.Helper()
	out := o.DeepCopy()
	have, _, _ := unstructured.NestedStringMap(out.Object, append(path, "annotations")...)
	delete(have, core.NodeLabelsAnnotation)
	if have == nil {
		have = map[string]string{}
	}
	maps.Copy(have, annotations)
	for name, value := range map[string]map[string]string{"labels": labels, "annotations": have} {
		if err := unstructured.SetNestedStringMap(out.Object, value, append(path, name)...); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// remedies are the labels that the commands of a message set; nil removes one.
func remedies(t *testing.T, text string) []map[string]*string {
	t.Helper()
	var out []map[string]*string
	for _, found := range labelCommand.FindAllStringSubmatch(text, -1) {
		one := map[string]*string{}
		for arg := range strings.FieldsSeq(found[1]) {
			if k, v, set := strings.Cut(arg, "="); set {
				one[k] = &v
			} else {
				one[strings.TrimSuffix(arg, "-")] = nil
			}
		}
		out = append(out, one)
	}
	for _, found := range patchCommand.FindAllStringSubmatch(text, -1) {
		if _, err := jsonpatch.MergePatch([]byte("{}"), []byte(found[1])); err != nil {
			t.Fatal(err)
		}
		var patch struct {
			Spec struct {
				Template struct {
					Metadata struct{ Labels map[string]*string }
				}
			}
		}
		if err := json.Unmarshal([]byte(found[1]), &patch); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", found[1], err))
		}
		out = append(out, patch.Spec.Template.Metadata.Labels)
	}
	return out
}
