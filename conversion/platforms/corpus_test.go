// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
)

// corpus is the cluster of a folder's manifests.
type corpus struct {
	Infrastructure map[string]any `json:"infrastructure"`
	InfraCluster   map[string]any `json:"infraCluster"`
	CloudConfig    string         `json:"cloudConfig"`
}

// variant is how installations differ from a manifest of the folder. Machine, Object and Cluster are JSON merge patches of the providerSpec, of the whole
// object, and of the cluster.
type variant struct {
	Of      string          `json:"of"`
	Machine json.RawMessage `json:"machine"`
	Object  json.RawMessage `json:"object"`
	Cluster json.RawMessage `json:"cluster"`
	// Becomes is a merge patch of the infrastructure machine's spec that changes nothing.
	Becomes json.RawMessage `json:"becomes"`
	// Says is why it does not move: each begins with the field.
	Says []string `json:"says"`
	// Remedy is what the message asks for; then the object moves.
	Remedy *variant `json:"remedy"`
	// Stays is why nothing makes the object move. Then the message says that it stays with Machine API.
	Stays string `json:"stays"`
}

// variants are those of a folder, each by a sentence.
type variants struct {
	Moves   map[string]variant `json:"moves"`
	Refused map[string]variant `json:"refused"`
}

func (c corpus) env(t *testing.T) conversion.Env {
	t.Helper()
	name, _, _ := unstructured.NestedString(c.Infrastructure, "status", "infrastructureName")
	kind, _, _ := unstructured.NestedString(c.Infrastructure, "status", "platformStatus", "type")
	platform, ok := platforms.For(kind)
	if !ok {
		t.Fatalf("no platform %q", kind)
	}
	env := conversion.Env{
		Platform: platform, ClusterName: name, MachineAPINamespace: "openshift-machine-api", ClusterAPINamespace: "openshift-cluster-api",
		Infrastructure: c.Infrastructure, InfraCluster: c.InfraCluster,
	}
	env.Region = env.PlatformStatus("region")
	if platform.Account != nil {
		env.Account = platform.Account(c.CloudConfig)
	}
	every, err := conversion.ParsePatterns([]string{".*"}) // as OpenShift's releases start Cluster API's manager
	if err != nil {
		t.Fatal(err)
	}
	env.NodeSync = conversion.NodeSync{Labels: every, Annotations: every}
	return env
}

// Objects as installers of several releases write them, with the changes of admission, controllers and administrators, round-trip unchanged.
func TestManifestsOfInstallationsMove(t *testing.T) {
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		manifests, _ := filepath.Glob(filepath.Join(folder, "*.yaml"))
		for _, manifest := range manifests {
			if name := filepath.Base(manifest); name != "cluster.yaml" && name != "variants.yaml" {
				t.Run(name, func(t *testing.T) { moves(t, c, read(t, manifest)) })
			}
		}
		for text, v := range v.Moves {
			t.Run(text, func(t *testing.T) {
				c, o := v.apply(t, c, read(t, filepath.Join(folder, v.Of)))
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

// Admission and actuators store providerSpecs as their Go types encode them, and Azure's admission sets the cluster's values: a set and its Machines then
// differ though nobody has edited either. They convert to the same machine.
func TestWhatIsStoredAnewMeansTheSame(t *testing.T) {
	eachCluster(t, func(t *testing.T, folder string, c corpus, _ variants) {
		manifests, _ := filepath.Glob(filepath.Join(folder, "*worker*.yaml"))
		for _, manifest := range manifests {
			t.Run(filepath.Base(manifest), func(t *testing.T) {
				env, o := c.env(t), read(t, manifest)
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

// An object that does not move has the reason, and a remedy after which it moves or the advice to keep it with Machine API.
func TestManifestsThatCannotMoveNameTheRemedy(t *testing.T) {
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		for text, v := range v.Refused {
			t.Run(text, func(t *testing.T) {
				c, o := v.apply(t, c, read(t, filepath.Join(folder, v.Of)))
				_, errs := core.ToClusterAPI(o.GetKind(), o, c.env(t))
				if !said(errs, v.Says) {
					t.Errorf("it says:\n%v\nand not, word by word,\n%s", errs.ToAggregate(), strings.Join(v.Says, "\n"))
				}
				if (v.Remedy == nil) != (v.Stays != "") {
					t.Error("it needs either a remedy or the reason why it stays")
				}
				for _, e := range errs {
					if v.Stays != "" && !strings.Contains(e.Detail, "with Machine API") {
						t.Errorf("%s stays, and the message does not advise it: %s", v.Stays, e.Detail)
					}
				}
				if v.Remedy != nil {
					c, o = v.Remedy.apply(t, c, o)
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
		env, workers := c.env(t), workersOf(folder)
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

func eachCluster(t *testing.T, f func(*testing.T, string, corpus, variants)) {
	clusters, err := filepath.Glob("testdata/corpus/*/cluster.yaml")
	if err != nil || len(clusters) != len(platforms.List()) {
		t.Fatalf("%d platforms have a corpus, of %d: %v", len(clusters), len(platforms.List()), err)
	}
	for _, path := range clusters {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			var c corpus
			var v variants
			load(t, path, &c)
			load(t, filepath.Join(folder, "variants.yaml"), &v)
			f(t, folder, c, v)
		})
	}
}

// moves converts an object there and back, and returns the spec of its infrastructure machine.
func moves(t *testing.T, c corpus, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	env := c.env(t)
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

// apply makes a variant. A template's providerSpec is patched as a Machine's is.
func (v variant) apply(t *testing.T, c corpus, o *unstructured.Unstructured) (corpus, *unstructured.Unstructured) {
	t.Helper()
	path := []string{"spec", "providerSpec", "value"}
	if o.GetKind() == "MachineSet" {
		path = append([]string{"spec", "template"}, path...)
	}
	out := o.DeepCopy()
	provider, _, err := unstructured.NestedMap(out.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	patched := map[string]any{}
	merge(t, provider, v.Machine, &patched)
	if err := unstructured.SetNestedMap(out.Object, patched, path...); err != nil {
		t.Fatal(err)
	}
	whole := map[string]any{}
	merge(t, out.Object, v.Object, &whole)
	var cluster corpus
	merge(t, c, v.Cluster, &cluster)
	return cluster, &unstructured.Unstructured{Object: whole}
}

func merge(t *testing.T, from any, patch json.RawMessage, into any) {
	t.Helper()
	raw, err := json.Marshal(from)
	if err == nil && patch != nil {
		raw, err = jsonpatch.MergePatch(raw, patch)
	}
	if err == nil {
		err = strictjson.UnmarshalCaseSensitivePreserveInts(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	load(t, path, &o.Object)
	return o
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		raw, err = yaml.YAMLToJSON(raw)
	}
	if err == nil {
		err = strictjson.UnmarshalCaseSensitivePreserveInts(raw, into)
	}
	if err != nil {
		t.Fatal(path, err)
	}
}
