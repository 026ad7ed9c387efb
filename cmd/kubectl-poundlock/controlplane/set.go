// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// Parse reads the only ControlPlaneMachineSet of a file, which may be in a list. source names the file in errors.
func Parse(source string, r io.Reader) (*unstructured.Unstructured, error) {
	var all []map[string]any
	documents := utilyaml.NewYAMLReader(bufio.NewReader(r))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", source, err)
		}
		found, err := objects(document)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read as YAML or JSON: %s", source, strings.Join(strings.Fields(err.Error()), " "))
		}
		all = append(all, found...)
	}
	return only(source, all)
}

// only returns the only ControlPlaneMachineSet among objects.
func only(source string, all []map[string]any) (*unstructured.Unstructured, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("%s contains no object: give a ControlPlaneMachineSet", source)
	}
	sets := slices.DeleteFunc(slices.Clone(all), func(o map[string]any) bool { return !isSet(o) })
	switch {
	case len(sets) == 1:
		return one(source, sets[0])
	case len(sets) > 1:
		return nil, fmt.Errorf("%s contains %d ControlPlaneMachineSets: give only one", source, len(sets))
	case len(all) == 1:
		return one(source, all[0])
	}
	return nil, fmt.Errorf("%s contains %d objects, and none is a ControlPlaneMachineSet of %s: give that set. All other objects are read from the cluster",
		source, len(all), machinev1.GroupVersion)
}

func isSet(content map[string]any) bool {
	return content["kind"] == controlplane.Kind && content["apiVersion"] == machinev1.GroupVersion.String()
}

// objects returns a document's objects: none, one, or those of a list.
func objects(document []byte) ([]map[string]any, error) {
	raw, err := yaml.YAMLToJSONStrict(document)
	if err != nil || string(raw) == "null" {
		return nil, err
	}
	var content map[string]any
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, errors.New("the document is not an object")
	}
	items, ok := content["items"].([]any)
	if kind, _ := content["kind"].(string); !ok || !strings.HasSuffix(kind, "List") {
		return []map[string]any{content}, nil
	}
	var out []map[string]any
	for _, item := range items {
		o, ok := item.(map[string]any)
		if !ok {
			return nil, errors.New("an item of the list is not an object")
		}
		out = append(out, o)
	}
	return out, nil
}

func one(source string, content map[string]any) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: content}
	if !isSet(content) {
		return nil, fmt.Errorf("%s contains %s: give a %s of %s", source, described(u), controlplane.Kind, machinev1.GroupVersion)
	}
	if _, ok := content["spec"].(map[string]any); !ok {
		return nil, fmt.Errorf("%s: spec is missing, or is not an object", source)
	}
	if _, ok := content["metadata"].(map[string]any); !ok || u.GetName() == "" {
		return nil, fmt.Errorf("%s: metadata.name is missing: set it to %s", source, controlplane.Name)
	}
	return u, nil
}

func described(u *unstructured.Unstructured) string {
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return "an object without apiVersion and kind"
	}
	return "a " + u.GetKind() + " of " + u.GetAPIVersion()
}

// Over returns the set that results from applying a file. Absent fields of spec keep the stored value, as with `kubectl apply`, or get the CRD's default if
// none is stored (nil). The rest of a stored set stays.
func Over(stored, file *unstructured.Unstructured) *unstructured.Unstructured {
	out := file.DeepCopy()
	spec := map[string]any{"state": string(machinev1.ControlPlaneMachineSetStateInactive), "replicas": int64(3),
		"strategy": map[string]any{"type": string(machinev1.RollingUpdate)}}
	if stored != nil {
		out = stored.DeepCopy()
		out.SetLabels(over(stored.GetLabels(), file.GetLabels()))
		out.SetAnnotations(over(stored.GetAnnotations(), file.GetAnnotations()))
		spec, _, _ = unstructured.NestedMap(out.Object, "spec") // a copy
	}
	own, _, _ := unstructured.NestedMap(file.Object, "spec")
	maps.Copy(spec, own)
	out.Object["spec"] = spec
	return out
}

func over(a, b map[string]string) map[string]string {
	if len(a)+len(b) == 0 {
		return nil
	}
	out := map[string]string{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// With returns the set with another strategy; "" keeps the set's own.
func With(set *unstructured.Unstructured, strategy machinev1.ControlPlaneMachineSetStrategyType) (*unstructured.Unstructured, error) {
	if strategy == "" {
		return set, nil
	}
	out := set.DeepCopy()
	if err := unstructured.SetNestedField(out.Object, string(strategy), "spec", "strategy", "type"); err != nil {
		return nil, fmt.Errorf("setting spec.strategy.type: %w", err)
	}
	return out, nil
}

// Active returns the set with the state Active.
func Active(set *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out := set.DeepCopy()
	if err := unstructured.SetNestedField(out.Object, string(machinev1.ControlPlaneMachineSetStateActive), "spec", "state"); err != nil {
		return nil, fmt.Errorf("setting spec.state: %w", err)
	}
	return out, nil
}

// MayRecreate reports whether a cluster allows the strategy Recreate, as far as that is known. A stored set with this strategy was admitted, unless its
// conditions report that the operator does not allow the strategy.
func MayRecreate(stored *unstructured.Unstructured) bool {
	if stored == nil {
		return false
	}
	if strategy, _, _ := unstructured.NestedString(stored.Object, "spec", "strategy", "type"); strategy != string(machinev1.Recreate) {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions")
	return !slices.ContainsFunc(conditions, func(c any) bool {
		one, _ := c.(map[string]any)
		return one["reason"] == string(controlplane.RecreateDisabled)
	})
}

// Typed returns the set as its Go type.
func Typed(source string, set *unstructured.Unstructured) (*machinev1.ControlPlaneMachineSet, error) {
	raw, err := set.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", source, err)
	}
	out := &machinev1.ControlPlaneMachineSet{}
	if err := json.Unmarshal(raw, out); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
			return nil, fmt.Errorf("%s is not a valid %s: %s cannot be a %s", source, controlplane.Kind, wrong.Field, wrong.Value)
		}
		return nil, fmt.Errorf("%s is not a valid %s: %w", source, controlplane.Kind, err)
	}
	return out, nil
}

// object returns a set in the form that rules read; nil for none.
func object(set *unstructured.Unstructured) (*policies.Object, error) {
	if set == nil {
		return nil, nil
	}
	set = set.DeepCopy()
	set.SetManagedFields(nil)
	raw, err := set.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", set.GetKind(), set.GetName(), err)
	}
	return policies.ParseCheckedObject(raw)
}
