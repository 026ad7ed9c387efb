// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
)

func TestOperations(t *testing.T) {
	for name, tt := range map[string]struct {
		object  string
		patches []Patch
		want    string
		wantErr bool
	}{
		"a member of an object that is there": {
			object: `{"spec":{}}`, patches: []Patch{{Path: "/spec/authoritativeAPI", Value: "MachineAPI"}},
			want: `[{"op":"add","path":"/spec/authoritativeAPI","value":"MachineAPI"}]`,
		},
		"an absent object on the way is made once": {
			object: `{}`, patches: []Patch{{Path: "/status/a", Value: 1}, {Path: "/status/b", Value: 2}},
			want: `[{"op":"add","path":"/status","value":{}},{"op":"add","path":"/status/a","value":1},{"op":"add","path":"/status/b","value":2}]`,
		},
		"null on the way is made an object": {
			object: `{"status":null}`, patches: []Patch{{Path: "/status/a", Value: 1}},
			want: `[{"op":"add","path":"/status","value":{}},{"op":"add","path":"/status/a","value":1}]`,
		},
		"a name with a slash": {
			object: `{"metadata":{"labels":{}}}`, patches: []Patch{{Path: "/metadata/labels/a.b~1c", Value: "x"}},
			want: `[{"op":"add","path":"/metadata/labels/a.b~1c","value":"x"}]`,
		},
		"nothing to do":                         {object: `{}`, want: `null`},
		"a list on the way is refused":          {object: `{"spec":[]}`, patches: []Patch{{Path: "/spec/a", Value: 1}}, wantErr: true},
		"a path that is no pointer is refused":  {object: `{}`, patches: []Patch{{Path: "spec.a", Value: 1}}, wantErr: true},
		"the whole object cannot be the target": {object: `{}`, patches: []Patch{{Path: "/", Value: 1}}, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := ParseObject([]byte(tt.object))
			if err != nil {
				t.Fatal(err)
			}
			ops, err := Operations(o, tt.patches)
			if (err != nil) != tt.wantErr {
				t.Fatalf("error %v, want one: %t", err, tt.wantErr)
			}
			if tt.wantErr {
				return
			}
			got, err := json.Marshal(ops)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFixedPoint(t *testing.T) {
	scope := []Scope{{Side: SideMachineAPI, Kinds: []string{"Machine"}, Operations: []admissionv1.Operation{admissionv1.Create}}}
	whenAbsent := Defaulter{ID: "test/when-absent", On: scope, Default: func(c Change) []Patch {
		var spec struct{ A string }
		if json.Unmarshal(c.New.Spec, &spec) == nil && spec.A != "" {
			return nil
		}
		return []Patch{{Path: "/spec/a", Value: "x"}}
	}}
	always := Defaulter{ID: "test/always", On: scope, Default: func(Change) []Patch {
		return []Patch{{Path: "/spec/b", Value: "x"}}
	}}
	o, err := ParseObject([]byte(`{"spec":{"c":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := Change{Subject: Subject{Side: SideMachineAPI, Kind: "Machine"}, Operation: admissionv1.Create, New: o}
	if err := (Defaulters{whenAbsent}).FixedPoint(c); err != nil {
		t.Errorf("a default that looks first has a fixed point, got %v", err)
	}
	if err := (Defaulters{whenAbsent, always}).FixedPoint(c); err == nil {
		t.Error("a default that never looks has no fixed point")
	}
}
