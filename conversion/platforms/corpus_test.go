// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/corpustest"
)

type (
	corpus   = corpustest.Cluster
	variants = corpustest.Variants
)

// merge, read and load are the corpus's.
var (
	merge = corpustest.Merge
	read  = corpustest.Read
	load  = corpustest.Load
)

func eachCluster(t *testing.T, f func(*testing.T, string, corpus, variants)) {
	corpustest.Each(t, "testdata/corpus", f)
}

// Objects as installers of several releases write them, with the changes of admission, controllers and administrators, round-trip unchanged.
func TestManifestsOfInstallationsMove(t *testing.T) {
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		for _, manifest := range corpustest.Manifests(folder) {
			t.Run(filepath.Base(manifest), func(t *testing.T) { moves(t, c, read(t, manifest)) })
		}
		for text, v := range v.Moves {
			t.Run(text, func(t *testing.T) {
				c, o := v.Apply(t, c, read(t, filepath.Join(folder, v.Of)))
				spec := moves(t, c, o)
				var want map[string]any
				merge(t, spec, v.Becomes, &want)
				if diff := gocmp.Diff(want, spec); diff != "" {
					t.Errorf("in Cluster API it becomes (-want +is):\n%s", diff)
				}
			})
		}
	})
}

// The corpus has the default workers of three releases of each platform, and the masters of three where a Machine has what its set has not, AWS's load
// balancers. Of PowerVS no release is known: its variants have the older forms.
func TestDefaultsOfThreeReleases(t *testing.T) {
	eachCluster(t, func(t *testing.T, folder string, _ corpus, _ variants) {
		releases, _ := filepath.Glob(filepath.Join(folder, "worker-4.*.yaml"))
		if len(releases) < 3 && filepath.Base(folder) != "powervs" {
			t.Errorf("it has those of %v", releases)
		}
		if masters, _ := filepath.Glob(filepath.Join(folder, "master-4.*.yaml")); len(masters) < 3 && filepath.Base(folder) == "aws" {
			t.Errorf("it has the masters of %v", masters)
		}
	})
}

// Admission and actuators store providerSpecs as their Go types encode them, and Azure's admission sets the cluster's values: a set and its Machines then
// differ though nobody has edited either. They convert to the same machine.
func TestWhatIsStoredAnewMeansTheSame(t *testing.T) {
	eachCluster(t, func(t *testing.T, folder string, c corpus, _ variants) {
		manifests, _ := filepath.Glob(filepath.Join(folder, "*worker*.yaml"))
		for _, manifest := range manifests {
			t.Run(filepath.Base(manifest), func(t *testing.T) {
				env, o := c.Env(t), read(t, manifest)
				path := []string{"spec", "template", "spec", "providerSpec", "value"}
				value, _, _ := unstructured.NestedMap(o.Object, path...)
				typed := env.Platform.Spec.NewProviderSpec()
				raw, err := json.Marshal(value)
				if err != nil || json.Unmarshal(raw, typed) != nil {
					t.Fatal(err)
				}
				var anew map[string]any
				if raw, err = json.Marshal(typed); err != nil || json.Unmarshal(raw, &anew) != nil {
					t.Fatal(err)
				}
				if env.Platform.Name == "Azure" {
					group := env.PlatformStatus("resourceGroupName")
					location, _ := env.InfraClusterString("spec", "location")
					anew["resourceGroup"], anew["networkResourceGroup"], anew["location"] = group, cmp.Or(env.PlatformStatus("networkResourceGroupName"), group), location
				}
				stored := o.DeepCopy()
				if err := unstructured.SetNestedMap(stored.Object, anew, path...); err != nil {
					t.Fatal(err)
				}
				want, errs := core.ToClusterAPI(o.GetKind(), o, env)
				got, others := core.ToClusterAPI(o.GetKind(), stored, env)
				if len(errs)+len(others) > 0 {
					t.Fatal(errs.ToAggregate(), others.ToAggregate())
				}
				if diff := gocmp.Diff(want.Infra.Object, got.Infra.Object); diff != "" {
					t.Errorf("it becomes another (-as written +as stored):\n%s", diff)
				}
			})
		}
	})
}

// An object that does not move has the reason, and a remedy after which it moves or the advice to leave Machine API authoritative.
func TestManifestsThatCannotMoveNameTheRemedy(t *testing.T) {
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		for text, v := range v.Refused {
			t.Run(text, func(t *testing.T) {
				c, o := v.Apply(t, c, read(t, filepath.Join(folder, v.Of)))
				_, errs := core.ToClusterAPI(o.GetKind(), o, c.Env(t))
				if !said(errs, v.Says) {
					t.Errorf("it says:\n%v\nand not, word by word,\n%s", errs.ToAggregate(), strings.Join(v.Says, "\n"))
				}
				if (v.Remedy == nil) != (v.Stays != "") {
					t.Error("it needs either a remedy or the reason why it stays")
				}
				for _, e := range errs {
					if v.Stays != "" && !regexp.MustCompile(`(?i)leave Machine API authoritative`).MatchString(e.Detail) {
						t.Errorf("%s stays, and the message does not advise it: %s", v.Stays, e.Detail)
					}
				}
				if v.Remedy != nil {
					c, o = v.Remedy.Apply(t, c, o)
					moves(t, c, o)
				}
			})
		}
	})
}

// If OpenShift creates no infrastructure cluster object, the Infrastructure has enough to make one, with which the manifests move.
func TestAnInfrastructureClusterIsMadeOfTheInfrastructure(t *testing.T) {
	eachCluster(t, func(t *testing.T, folder string, c corpus, _ variants) {
		c.InfraCluster = nil
		env, workers := c.Env(t), workersOf(folder)
		if len(workers) > 0 {
			env.Example, _, _ = unstructured.NestedMap(read(t, workers[0]).Object, "spec", "template", "spec", "providerSpec", "value")
		}
		what := env.Unmade(false)
		if name := env.Platform.Name; (what != "") != (name == "OpenStack" || name == "Nutanix") {
			t.Fatalf("on %s: %q", name, what)
		}
		manifests := regexp.MustCompile(`echo '([^']*)' \| kubectl create -f -`).FindAllStringSubmatch(what, -1)
		if what == "" {
			return
		}
		if len(manifests) != 2 || !strings.Contains(manifests[1][1], `"kind":"Cluster"`) || strings.Contains(env.Unmade(true), `"kind":"Cluster"`) {
			t.Fatal(what)
		}
		if err := json.Unmarshal([]byte(manifests[0][1]), &c.InfraCluster); err != nil {
			t.Fatal(err)
		}
		if env.Platform.Name == "OpenStack" { // its controller finds the network
			c.InfraCluster["status"] = map[string]any{"network": map[string]any{"id": "5f3d1c2e-9b0a-4a7e-8c55-0d2f6a1b7e01"}}
		}
		for _, manifest := range workers {
			t.Run(filepath.Base(manifest), func(t *testing.T) { moves(t, c, read(t, manifest)) })
		}
		env.Infrastructure = map[string]any{"status": map[string]any{}}
		if what := env.Unmade(false); what != "" {
			t.Errorf("of an Infrastructure that says nothing: %s", what)
		}
	})
}

func workersOf(folder string) []string {
	workers, _ := filepath.Glob(filepath.Join(folder, "worker*.yaml")) // the pattern is right
	return workers
}

// said reports whether these are all the errors.
func said(errs field.ErrorList, want []string) bool {
	if len(errs) != len(want) || len(want) == 0 {
		return false
	}
	for i, e := range errs {
		path, words, _ := strings.Cut(want[i], ": ")
		if e.Field != path || !strings.Contains(e.Detail, words) {
			return false
		}
	}
	return true
}

// moves converts an object there and back, and returns the spec of its infrastructure machine.
func moves(t *testing.T, c corpus, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	env := c.Env(t)
	twin, errs := core.ToClusterAPI(o.GetKind(), o, env)
	if len(errs) > 0 {
		t.Fatalf("it cannot go: %v", errs.ToAggregate())
	}
	back, errs := core.ToMachineAPI(o.GetKind(), twin, env)
	if len(errs) > 0 {
		t.Fatalf("it cannot come back: %v", errs.ToAggregate())
	}
	core.KeepSpelling(o.GetKind(), o, back, env)
	unstructured.RemoveNestedField(o.Object, "spec", "authoritativeAPI")
	if diff := gocmp.Diff(o.Object["spec"], back.Object["spec"]); diff != "" {
		t.Errorf("it comes back otherwise (-was +is):\n%s", diff)
	}
	if diff := gocmp.Diff(o.GetLabels(), back.GetLabels()); diff != "" {
		t.Errorf("its labels (-were +are):\n%s", diff)
	}
	if diff := gocmp.Diff(o.GetAnnotations(), back.GetAnnotations()); diff != "" {
		t.Errorf("its annotations (-were +are):\n%s", diff)
	}
	path := []string{"spec"}
	if o.GetKind() == "MachineSet" {
		path = append(path, "template", "spec")
	}
	var spec map[string]any
	merge(t, first(unstructured.NestedMap(twin.Infra.Object, path...)), nil, &spec)
	return spec
}

func first(m map[string]any, _ bool, _ error) map[string]any { return m }
