// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/test/stories"
)

// Combinations of what the corpus has one by one: a manifest, several variants of it, the tags of the Infrastructure, the writes of admission and controllers,
// and the spellings of people and tools. Each that moves round-trips, and converts to the same again. CONVERSION_RUNS is how many objects are generated for
// each platform.
func TestMixedManifestsComeBack(t *testing.T) {
	runs := stories.Times(40, 150)
	if n, err := strconv.Atoi(os.Getenv("CONVERSION_RUNS")); err == nil {
		runs = n
	}
	r := rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		manifests, _ := filepath.Glob(filepath.Join(folder, "*.yaml"))
		manifests = slices.DeleteFunc(manifests, func(path string) bool {
			return slices.Contains([]string{"cluster.yaml", "variants.yaml"}, filepath.Base(path))
		})
		originals := map[string]*unstructured.Unstructured{}
		for _, path := range manifests {
			originals[path] = read(t, path)
		}
		names, moved := slices.Sorted(maps.Keys(v.Moves)), 0
		for range runs {
			c, o, value := c, originals[pick(r, manifests)].DeepCopy(), []string{}
			for range r.IntN(3) {
				name := pick(r, names)
				part := v.Moves[name]
				if machine := part; r.IntN(2) == 0 {
					machine.Object = nil
					part = machine
				}
				c, o = part.Apply(t, c, o)
				value = append(value, name)
			}
			c, value = installed(t, r, c, o, value)
			if err := written(t, r, c, o); err != nil {
				t.Fatal(err)
			}
			if comes(t, c, o, value) {
				moved++
			}
			if t.Failed() {
				raw, _ := json.MarshalIndent(o.Object, "", "  ")
				t.Fatalf("it was %v:\n%s", value, raw)
			}
		}
		t.Logf("%d of %d move", moved, runs)
		if moved < runs/5 {
			t.Error("that is no test")
		}
	})
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// comes converts an object there and back if it can move, and reports whether it did.
func comes(t *testing.T, c corpus, o *unstructured.Unstructured, value []string) bool {
	t.Helper()
	env := c.Env(t)
	markInterruptible(t, env, o)
	before := o.DeepCopy()
	twin, errs := core.ToClusterAPI(o.GetKind(), o, env)
	if !reflect.DeepEqual(before, o) {
		t.Error("the conversion changed what it read")
	}
	if len(errs) > 0 {
		for _, e := range errs {
			if e.Field == "" || e.Detail == "" {
				t.Errorf("a refusal without a path or a reason: %#v", e)
			}
		}
		return false
	}
	back, errs := core.ToMachineAPI(o.GetKind(), twin, env)
	if len(errs) > 0 {
		t.Errorf("it cannot come back: %v", errs.ToAggregate())
		return true
	}
	again, errs := core.ToClusterAPI(o.GetKind(), back, env)
	if len(errs) > 0 {
		t.Errorf("it cannot go again: %v", errs.ToAggregate())
	} else if diff := gocmp.Diff(twin, again); diff != "" {
		t.Errorf("it goes otherwise the second time (-first +second):\n%s", diff)
	}
	core.KeepSpelling(o.GetKind(), o, back, env)
	want := o.DeepCopy()
	unstructured.RemoveNestedField(want.Object, "spec", "authoritativeAPI")
	if diff := gocmp.Diff(want.Object["spec"], back.Object["spec"]); diff != "" {
		t.Errorf("%v comes back otherwise (-was +is):\n%s", value, diff)
	}
	if diff := gocmp.Diff(want.GetLabels(), back.GetLabels()); diff != "" {
		t.Errorf("its labels (-were +are):\n%s", diff)
	}
	core.StatusToClusterAPI(o.GetKind(), o, env)
	core.StatusToMachineAPI(o.GetKind(), twin, env)
	return true
}

// markInterruptible does what Machine API's controllers do in each pass for a Machine whose instance the cloud may take back.
func markInterruptible(t *testing.T, env conversion.Env, o *unstructured.Unstructured) {
	t.Helper()
	spec, _, _ := unstructured.NestedMap(o.Object, "spec", "providerSpec", "value")
	typed := env.Platform.Spec.NewProviderSpec()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if o.GetKind() != "Machine" || env.Platform.Interruptible == nil || json.Unmarshal(raw, typed) != nil || !env.Platform.Interruptible(typed) {
		return
	}
	for _, path := range [][]string{{"metadata", "labels"}, {"spec", "metadata", "labels"}} {
		if err := unstructured.SetNestedField(o.Object, "", append(path, machineapi.InterruptibleLabel)...); err != nil {
			t.Fatal(err)
		}
	}
}

// installed adds what the Infrastructure has of the cluster, and what admission and controllers write.
func installed(t *testing.T, r *rand.Rand, c corpus, o *unstructured.Unstructured, have []string) (corpus, []string) {
	t.Helper()
	var out corpus
	merge(t, c, nil, &out)
	platform, _, _ := unstructured.NestedString(out.Infrastructure, "status", "platformStatus", "type")
	for _, list := range map[string][]string{"AWS": {"resourceTags"}, "Azure": {"resourceTags"}, "GCP": {"resourceLabels", "resourceTags"}}[platform] {
		if r.IntN(2) == 0 {
			continue
		}
		entry := map[string]any{"key": pick(r, []string{"cost", "team", "env"}), "value": pick(r, []string{"42", "a", "owned"})}
		if platform == "GCP" && list == "resourceTags" {
			entry["parentID"] = "123456789012"
		}
		if unstructured.SetNestedSlice(out.Infrastructure, []any{entry}, "status", "platformStatus", strings.ToLower(platform), list) == nil {
			have = append(have, list)
		}
	}
	metadata := map[string]map[string]string{"labels": o.GetLabels(), "annotations": o.GetAnnotations()}
	put := func(of, name, value string) {
		if metadata[of] == nil {
			metadata[of] = map[string]string{}
		}
		if _, there := metadata[of][name]; !there && r.IntN(2) == 0 {
			metadata[of][name] = value
		}
	}
	if o.GetKind() == "Machine" {
		for name, value := range map[string]string{"region": "r", "zone": pick(r, []string{"", "0", "z"}), "instance-type": "t", "cluster-api-machine-role": pick(r, []string{"worker", "master", "infra", "My.Role"})} {
			put("labels", "machine.openshift.io/"+name, value)
		}
		for name, value := range map[string]string{"machine.openshift.io/instance-state": "running", "openstack-resourceId": "x", "machine.openshift.io/instance-power-state": "ON", "machine.openshift.io/exclude-node-draining": ""} {
			put("annotations", name, value)
		}
	} else {
		for name, value := range map[string]string{"machine.openshift.io/vCPU": "4", "machine.openshift.io/memoryMb": "16384", "machine.openshift.io/GPU": "0", "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=amd64",
			"machine.openshift.io/cluster-api-autoscaler-node-group-min-size": "1", "autoscaling.openshift.io/machineautoscaler": "a/b", "kubectl.kubernetes.io/last-applied-configuration": "{}"} {
			put("annotations", name, value)
		}
		put("labels", "machineconfiguration.openshift.io/osstream", "rhel-10")
	}
	o.SetLabels(metadata["labels"])
	o.SetAnnotations(metadata["annotations"])
	return out, have
}

// written rewrites the providerSpec as admission stores it, or changes the spelling of some members.
func written(t *testing.T, r *rand.Rand, c corpus, o *unstructured.Unstructured) error {
	t.Helper()
	path := []string{"spec", "providerSpec", "value"}
	if o.GetKind() == "MachineSet" {
		path = append([]string{"spec", "template"}, path...)
	}
	spec, _, _ := unstructured.NestedMap(o.Object, path...)
	typed := c.Env(t).Platform.Spec.NewProviderSpec()
	raw, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	switch r.IntN(3) {
	case 0:
		if !decodes(raw, typed) {
			return nil // it stays as it is
		}
		if raw, err = json.Marshal(typed); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		spec = map[string]any{}
		merge(t, json.RawMessage(raw), nil, &spec)
	case 1:
		respell(r, spec, reflect.TypeOf(typed))
	}
	return unstructured.SetNestedMap(o.Object, spec, path...)
}

// respell changes the case of members, and adds some empty ones, at each depth.
func respell(r *rand.Rand, spec map[string]any, kind reflect.Type) {
	kind = pointed(kind)
	if kind.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(kind) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || f.Anonymous || name == "kind" || name == "apiVersion" {
			continue
		}
		value, there := spec[name]
		switch below := value.(type) {
		case map[string]any:
			respell(r, below, f.Type)
		case []any:
			for _, item := range below {
				if m, ok := item.(map[string]any); ok && pointed(f.Type).Kind() == reflect.Slice {
					respell(r, m, pointed(f.Type).Elem())
				}
			}
		}
		switch {
		case there && r.IntN(8) == 0:
			delete(spec, name)
			spec[pick(r, []string{strings.ToUpper(name), strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:]})] = runtime.DeepCopyJSONValue(value)
		case !there && r.IntN(10) == 0 && !folds(spec, name):
			spec[name] = nil
		case !there && r.IntN(20) == 0 && pointed(f.Type).Kind() == reflect.String && !folds(spec, name):
			spec[name] = ""
		}
	}
}

// folds reports whether a member exists in another case.
func folds(spec map[string]any, name string) bool {
	for other := range spec {
		if strings.EqualFold(other, name) {
			return true
		}
	}
	return false
}
