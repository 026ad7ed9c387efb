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

// Row is one field with the values of both sides; "" if a side does not have the field.
type Row struct {
	Path       string `json:"path"`
	MachineAPI string `json:"machineAPI"`
	ClusterAPI string `json:"clusterAPI"`
	Same       bool   `json:"same"`
	// Own reports an intended difference: the mirror does not change this label or annotation.
	Own bool `json:"own,omitempty"`
}

// Comparison compares both sides of a pair in the fields of one API.
type Comparison struct {
	// In is the API whose fields are compared.
	In   authority.API `json:"in"`
	Rows []Row         `json:"rows"`
	// Unspeakable are the fields of either side that the other API cannot express. If there are any, there are no rows.
	Unspeakable []Unspeakable `json:"unspeakable,omitempty"`
}

// Unspeakable is a field that the other API cannot express.
type Unspeakable struct {
	Side   authority.API `json:"side"`
	Path   string        `json:"path"`
	Reason string        `json:"reason"`
}

// Same reports whether no field differs.
func (c Comparison) Same() bool {
	return len(c.Unspeakable) == 0 && !slices.ContainsFunc(c.Rows, Row.Differs)
}

// Differs reports whether the mirror has yet to change the field, or cannot change it.
func (r Row) Differs() bool { return !r.Same && !r.Own }

// Compare converts both sides to the fields of one API and compares them. Both sides must exist. selects reports whether the pair's MachineSet selects the pair
// by a label.
func Compare(p inventory.Pair, in authority.API, env conversion.Env, selects func(label string) bool) (Comparison, error) {
	if p.MachineAPI == nil || p.ClusterAPI == nil {
		return Comparison{}, errors.New("the object exists only in one API, so there is nothing to compare it with")
	}
	c := Comparison{In: in}
	left, right, propagated, err := c.convertBoth(p, env)
	if err != nil || len(c.Unspeakable) > 0 {
		return c, err
	}
	c.Rows = append(rows(left, right), propagated...)
	for i, r := range c.Rows {
		c.Rows[i].Own = r.Own || !r.Same && own(p, r, selects)
	}
	return c, nil
}

// own reports whether a difference in a label or annotation is intended, so that the mirror does not change it. There are three cases: another writer adds it
// only to the mirror, the Machine API's controllers update it whichever API is authoritative, or someone recognizes an object by it. A label that the
// MachineSet's selector uses is never such a difference.
func own(p inventory.Pair, r Row, selects func(label string) bool) bool {
	for _, of := range []string{"metadata.labels", "metadata.annotations"} {
		rest, is := strings.CutPrefix(r.Path, of)
		if !is {
			continue
		}
		name := strings.Trim(rest, ".[]")
		if name == clusterv1.MachineSetNameLabel && p.Kind.Parent != "" {
			return r.MachineAPI == "" || r.ClusterAPI == "" // Cluster API's set wrote this mark, or an older mirror copied it
		}
		theirs := authority.Theirs(name) && (of != "metadata.labels" || !selects(name))
		if p.Authoritative() == authority.MachineAPI {
			return r.MachineAPI == "" || theirs
		}
		return r.ClusterAPI == "" || theirs || slices.Contains(authority.LeftAlone(p.Kind.Name, of), name)
	}
	return false
}

// convertBoth converts the Machine API object to Cluster API and back, and the Cluster API object to Machine API. If the fields are Cluster API's, it converts
// both results once more. So either both sides have the API servers' defaults, or neither side has.
func (c *Comparison) convertBoth(p inventory.Pair, env conversion.Env) (left, right map[string]any, propagated []Row, err error) {
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
	if ref := p.InfraRef(); twin.Infra == nil && ref.Name != "" { // the error has the words of the mirror and of the other commands
		p.Kind.ReportNoInfra(errs, fmt.Sprintf("%s %s/%s", ref.Kind, p.Namespaces.ClusterAPI, ref.Name), p.MachineAPI, p.ClusterAPI)
	}
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

// leave lists the fields of a mirror that Cluster API's MachineSet has written in place, and sets them to the mirror's result. The mirror does not change these
// fields, and Machine API cannot express most of them.
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
			_ = unstructured.SetNestedField(mirror.Object, runtime.DeepCopyJSONValue(wanted), at...) // the parents of the field exist
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

// content returns the part of an object that converts.
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

// both returns the core object's content, with the infrastructure object's content under the infrastructure object's kind.
func both(t core.Twin) map[string]any {
	out := content(t.Core)
	if t.Infra != nil {
		out[t.Infra.GetKind()] = map[string]any{"spec": t.Infra.Object["spec"]}
	}
	return out
}

// rows compares every value of either side, in the order of paths.
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

// flatten lists values by their paths. It leaves out empty values.
func flatten(value any, at string, into map[string]any) {
	switch v := value.(type) {
	case map[string]any:
		for k := range v {
			flatten(v[k], childPath(at, k), into)
		}
	case []any:
		for i := range v {
			flatten(v[i], fmt.Sprintf("%s[%d]", at, i), into)
		}
	case nil:
	case string:
		// An empty label or annotation counts: its existence has a meaning.
		if v != "" || strings.HasPrefix(at, "metadata.") || strings.Contains(at, ".metadata.") {
			into[at] = v
		}
	default:
		into[at] = v
	}
}

func childPath(at, name string) string {
	switch {
	case strings.ContainsAny(name, "./"):
		return at + "[" + name + "]"
	case at == "":
		return name
	}
	return at + "." + name
}

// text returns a value as a manifest may have it: a list or an object in the short form, which is both JSON and YAML.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return fmt.Sprintf("%q", v)
	case map[string]any, []any:
		raw, err := json.Marshal(v)
		if err != nil { // cannot happen, because the value came from JSON
			return fmt.Sprint(v)
		}
		return string(raw)
	}
	return fmt.Sprint(value)
}
