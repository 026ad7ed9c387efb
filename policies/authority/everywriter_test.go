// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/policiestest"
)

// surveyed is the number of rows of the survey of writers.
const surveyed = 76

// everybody lists each identity that a rule knows, and a person.
var everybody = []policies.Actor{
	policies.Anyone, policies.MachineAPIController, policies.ClusterAPIController, policies.InfrastructureController,
	policies.Autoscaler, policies.AutoscalerOperator,
	policies.ControlPlaneOperator, policies.EtcdOperator, policies.GarbageCollector, policies.NamespaceController,
}

func writes(t *testing.T) []policiestest.Write {
	t.Helper()
	all, err := policiestest.LoadWrites("testdata/writers/writers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEveryWriter sends each request of OpenShift's other components at each stage of a move. What a component must be able to write passes. A write on which
// two controllers would act is refused. The exception for one component lets no other identity pass.
func TestEveryWriter(t *testing.T) {
	for _, w := range writes(t) {
		if w.Nothing != "" {
			continue
		}
		t.Run(fmt.Sprint(w.Rows, " ", w.It), func(t *testing.T) {
			wrong := map[string][]policies.Actor{}
			for _, stage := range policiestest.Stages() {
				c, err := w.ChangeAt(stage)
				if err != nil {
					t.Fatal(err)
				}
				for _, actor := range everybody {
					c.Actor = actor
					refused, warned := meets(t, w, c, stage)
					if want := w.At(w.RefusedBy(actor), stage); refused != want {
						at := fmt.Sprintf("%s: refused by %q, want %q", stage, refused, want)
						wrong[at] = append(wrong[at], actor)
					}
					if want := w.At(w.Warned, stage); actor == w.As && refused == "" && warned != want {
						t.Errorf("%s: warned by %q, want %q", stage, warned, want)
					}
				}
			}
			for _, at := range slices.Sorted(maps.Keys(wrong)) {
				t.Errorf("%s, as %q", at, wrong[at])
			}
		})
	}
}

// meets returns the rules that refuse and that warn, after the defaulters have restored fields.
func meets(t *testing.T, w policiestest.Write, c policies.Change, stage string) (refused, warned string) {
	t.Helper()
	if c.New != nil {
		var err error
		if c.New, err = policies.Apply(c.New, policies.Defaulters(authority.Defaulters()).Patches(c)); err != nil {
			t.Fatal(err)
		}
		for _, path := range w.Kept {
			if before, after := valueAt(t, c.Old, path), valueAt(t, c.New, path); c.Actor == w.As && !gocmp.Equal(before, after) {
				t.Errorf("%s, by %q: %s is stored as %v, and was %v", stage, c.Actor, path, after, before)
			}
		}
	}
	var refuses, warns []string
	for _, f := range rules.Judge(c) {
		name := strings.TrimPrefix(f.Rule, "authority/")
		if len(f.Denials) > 0 && !slices.Contains(refuses, name) {
			refuses = append(refuses, name)
		}
		if len(f.Warnings) > 0 && !slices.Contains(warns, name) {
			warns = append(warns, name)
		}
	}
	return strings.Join(refuses, ", "), strings.Join(warns, ", ")
}

func valueAt(t *testing.T, o *policies.Object, path string) any {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal(o.Raw(), &content); err != nil {
		t.Fatal(err)
	}
	value, _, err := unstructured.NestedFieldNoCopy(content, strings.Split(path, ".")...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestEveryRowHasAWriter requires, for each row of the survey, a request in the table or the reason why there is none.
func TestEveryRowHasAWriter(t *testing.T) {
	seen := map[int]bool{}
	for _, w := range writes(t) {
		for _, row := range w.Rows {
			seen[row] = true
		}
	}
	for row := 1; row <= surveyed; row++ {
		if !seen[row] {
			t.Errorf("row %d of the survey has no request", row)
		}
	}
}

// TestNoIdentityIsLikeAnother: an identity is an exact name in its own namespace. A ServiceAccount of the same name in another namespace counts as anybody, and
// so does the name in capitals, or with more behind it. The default account of Cluster API's namespace counts as anybody, too, because every pod that names no
// account has it.
func TestNoIdentityIsLikeAnother(t *testing.T) {
	identities := authority.OpenShiftIdentities()
	for actor, names := range identities {
		for _, name := range names {
			if got := identities.Actor(name); got != actor {
				t.Errorf("%s is %q, want %q: two parts of one name", name, got, actor)
			}
			for _, like := range []string{name + "x", " " + name, strings.ToUpper(name), strings.Replace(name, "openshift-", "my-openshift-", 1) + "", name + ":default",
				strings.TrimPrefix(name, "system:serviceaccount:")} {
				if like != name && identities.Actor(like) != policies.Anyone {
					t.Errorf("%q is taken for %s", like, identities.Actor(like))
				}
			}
		}
	}
	for _, name := range []string{"", "system:admin", "system:masters", "system:serviceaccount:openshift-cluster-api:default", "system:serviceaccount:openshift-machine-api:default",
		"system:serviceaccount:openshift-cluster-api:machine-api-controllers", "system:serviceaccount:default:cluster-autoscaler",
		"system:serviceaccount:openshift-cluster-version:default", "system:serviceaccount:openshift-cluster-api:cluster-capi-operator"} {
		if got := identities.Actor(name); got != policies.Anyone {
			t.Errorf("%q is taken for %s", name, got)
		}
	}
}
