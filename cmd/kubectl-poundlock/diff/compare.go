// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Row is one field as the two sides have it; "" where a side says nothing.
type Row struct {
	Path       string `json:"path"`
	MachineAPI string `json:"machineAPI"`
	ClusterAPI string `json:"clusterAPI"`
	Same       bool   `json:"same"`
	// Own reports that the two differ and are meant to: the mirror leaves this label or annotation as it is.
	Own bool `json:"own,omitempty"`
}

// Comparison is two sides in one vocabulary.
type Comparison struct {
	// In is the API in whose words they are compared.
	In   authority.API `json:"in"`
	Rows []Row         `json:"rows"`
	// Unspeakable are the fields of either side that the other API has no words for; then there are no rows.
	Unspeakable []Unspeakable `json:"unspeakable,omitempty"`
}

// Unspeakable is a field that cannot be said in the other API.
type Unspeakable struct {
	Side   authority.API `json:"side"`
	Path   string        `json:"path"`
	Reason string        `json:"reason"`
}

// Same reports whether no field differs.
func (c Comparison) Same() bool {
	return len(c.Unspeakable) == 0 && !slices.ContainsFunc(c.Rows, Row.Differs)
}

// Differs reports whether the mirror would change the field, or is kept from it.
func (r Row) Differs() bool { return !r.Same && !r.Own }

// Compare says both sides in the words of an API. Both must exist. selects reports whether the MachineSet of the pair selects it by a label.
func Compare(p inventory.Pair, in authority.API, env conversion.Env, selects func(label string) bool) (Comparison, error) {
	if p.MachineAPI == nil || p.ClusterAPI == nil {
		return Comparison{}, errors.New("it has no twin to compare with")
	}
	c := Comparison{In: in}
	left, right, propagated, err := c.speak(p, env)
	if err != nil || len(c.Unspeakable) > 0 {
		return c, err
	}
	c.Rows = append(rows(left, right), propagated...)
	for i, r := range c.Rows {
		c.Rows[i].Own = r.Own || !r.Same && own(p, r, selects)
	}
	return c, nil
}

// own reports whether a field is a label or annotation that the mirror leaves as it is: what somebody else writes to the mirror alone, what
// the Machine API's controllers keep up to date whichever API is authoritative, and names by which somebody recognizes an object, but for labels by which
// its MachineSet selects it.
func own(p inventory.Pair, r Row, selects func(label string) bool) bool {
	for _, of := range []string{"metadata.labels", "metadata.annotations"} {
		rest, is := strings.CutPrefix(r.Path, of)
		if !is {
			continue
		}
		name := strings.Trim(rest, ".[]")
		if name == clusterv1.MachineSetNameLabel && p.Kind.Parent != "" {
			return r.MachineAPI == "" || r.ClusterAPI == "" // the mark of Cluster API's set, or what an older mirror copied of it
		}
		theirs := authority.Theirs(name) && (of != "metadata.labels" || !selects(name))
		if p.Authoritative() == authority.MachineAPI {
			return r.MachineAPI == "" || theirs
		}
		return r.ClusterAPI == "" || theirs || slices.Contains(authority.LeftAlone(p.Kind.Name, of), name)
	}
	return false
}

// speak converts the Machine API's object there and back, and Cluster API's back (and there again, where Cluster API's words
// are asked for): what an API server has filled in on either side then stands on both, or on none.
func (c *Comparison) speak(p inventory.Pair, env conversion.Env) (left, right map[string]any, propagated []Row, err error) {
	mapi, err := object(p.MachineAPI)
	if err != nil {
		return nil, nil, nil, err
	}
	twin := core.Twin{}
	if twin.Core, err = object(p.ClusterAPI); err != nil {
		return nil, nil, nil, err
	}
	if p.Infra != nil {
		if twin.Infra, err = object(p.Infra); err != nil {
			return nil, nil, nil, err
		}
	}
	made, errs := core.ToClusterAPI(p.Kind.Name, mapi, env)
	c.cannot(authority.MachineAPI, errs)
	if len(errs) == 0 {
		propagated = leave(p, made.Core, twin.Core)
	}
	back, errs := core.ToMachineAPI(p.Kind.Name, twin, env)
	c.cannot(authority.ClusterAPI, errs)
	if len(c.Unspeakable) > 0 {
		return nil, nil, nil, nil
	}
	if c.In == authority.ClusterAPI {
		again, errs := core.ToClusterAPI(p.Kind.Name, back, env)
		c.cannot(authority.ClusterAPI, errs)
		return both(made), both(again), propagated, nil
	}
	there, errs := core.ToMachineAPI(p.Kind.Name, made, env)
	c.cannot(authority.MachineAPI, errs)
	return content(there), content(back), propagated, nil
}

// leave makes those fields of a mirror what the mirror would make of them that a MachineSet of Cluster API has written in place, and lists them: the mirror leaves
// them to it, and Machine API cannot express most of them.
func leave(p inventory.Pair, made, mirror *unstructured.Unstructured) (out []Row) {
	owner := metav1.GetControllerOf(mirror)
	if p.Kind.Name != "Machine" || p.Authoritative() != authority.MachineAPI || owner == nil || owner.Kind != "MachineSet" {
		return nil
	}
	for _, path := range authority.PropagatedFields() {
		at := strings.Split(path, ".")
		wanted, _, _ := unstructured.NestedFieldNoCopy(made.Object, at...)
		live, _, _ := unstructured.NestedFieldNoCopy(mirror.Object, at...)
		if live == nil || reflect.DeepEqual(wanted, live) {
			continue
		}
		out = append(out, Row{Path: path, MachineAPI: text(wanted), ClusterAPI: text(live), Own: true})
		if unstructured.RemoveNestedField(mirror.Object, at...); wanted != nil {
			_ = unstructured.SetNestedField(mirror.Object, runtime.DeepCopyJSONValue(wanted), at...) // its parents were there
		}
	}
	return out
}

func object(o *policies.Object) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.Raw(), &u.Object); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", o.Kind, o.Metadata.Name, err)
	}
	return u, nil
}

func (c *Comparison) cannot(side authority.API, errs field.ErrorList) {
	for _, e := range errs {
		c.Unspeakable = append(c.Unspeakable, Unspeakable{Side: side, Path: e.Field, Reason: e.Detail})
	}
}

// content is what converts of an object.
func content(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	metadata, _, _ := unstructured.NestedMap(u.Object, "metadata")
	return map[string]any{
		"metadata": map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]},
		"spec":     u.Object["spec"],
	}
}

// both is the core object with its infrastructure object beside it, under its kind.
func both(t core.Twin) map[string]any {
	out := content(t.Core)
	if t.Infra != nil {
		out[t.Infra.GetKind()] = map[string]any{"spec": t.Infra.Object["spec"]}
	}
	return out
}

// rows compares every value that either side has, in the order of paths.
func rows(left, right map[string]any) []Row {
	l, r := map[string]any{}, map[string]any{}
	flatten(left, "", l)
	flatten(right, "", r)
	var out []Row
	for _, path := range slices.Sorted(maps.Keys(joined(l, r))) {
		out = append(out, Row{Path: path, MachineAPI: text(l[path]), ClusterAPI: text(r[path]), Same: reflect.DeepEqual(l[path], r[path])})
	}
	return out
}

func joined(l, r map[string]any) map[string]any {
	out := maps.Clone(l)
	maps.Copy(out, r)
	return out
}

// flatten lists values by their paths. What is empty says nothing.
func flatten(value any, at string, into map[string]any) {
	switch v := value.(type) {
	case map[string]any:
		for k := range v {
			flatten(v[k], step(at, k), into)
		}
	case []any:
		for i := range v {
			flatten(v[i], fmt.Sprintf("%s[%d]", at, i), into)
		}
	case nil:
	case string:
		// An empty label or annotation says something: that it is there.
		if v != "" || strings.HasPrefix(at, "metadata.") || strings.Contains(at, ".metadata.") {
			into[at] = v
		}
	default:
		into[at] = v
	}
}

func step(at, name string) string {
	switch {
	case strings.ContainsAny(name, "./"):
		return at + "[" + name + "]"
	case at == "":
		return name
	}
	return at + "." + name
}

func text(value any) string {
	if value == nil {
		return ""
	}
	if s, ok := value.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(value)
}
