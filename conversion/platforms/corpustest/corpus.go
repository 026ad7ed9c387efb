// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package corpustest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
)

// Cluster is the content of a folder's cluster.yaml. It describes the cluster that the folder's manifests belong to.
type Cluster struct {
	Infrastructure map[string]any `json:"infrastructure"`
	InfraCluster   map[string]any `json:"infraCluster"`
	CloudConfig    string         `json:"cloudConfig"`
}

// Variant describes how some installations differ from a manifest of the folder. Of is the manifest's file. Machine, Object and Cluster are JSON merge
// patches: Machine of the providerSpec, Object of the whole object, and Cluster of the cluster.
type Variant struct {
	Of      string          `json:"of"`
	Machine json.RawMessage `json:"machine"`
	Object  json.RawMessage `json:"object"`
	Cluster json.RawMessage `json:"cluster"`
	// Becomes is a JSON merge patch of the infrastructure machine's spec that the conversion makes. The patch must not change that spec: so the patch lists
	// values that the spec must have.
	Becomes json.RawMessage `json:"becomes"`
	// Says has the messages that say why the object does not move. Each message begins with the field.
	Says []string `json:"says"`
	// Remedy is the change that the messages ask for. After this change the object moves.
	Remedy *Variant `json:"remedy"`
	// Stays is the reason why no change can make the object move. The message must then say that the object stays with Machine API.
	Stays string `json:"stays"`
	// Unstored reports that API servers refuse the object, so that it can exist only in files.
	Unstored bool `json:"unstored"`
}

// Variants is the content of a folder's variants.yaml. The key of each variant is a sentence that describes it.
type Variants struct {
	Moves   map[string]Variant `json:"moves"`
	Refused map[string]Variant `json:"refused"`
}

// Env returns the Env for conversions in this cluster.
func (c Cluster) Env(t *testing.T) conversion.Env {
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
	every, err := conversion.ParsePatterns([]string{".*"}) // OpenShift's releases start Cluster API's manager with this pattern
	if err != nil {
		t.Fatal(err)
	}
	env.NodeSync = conversion.NodeSync{Labels: every, Annotations: every}
	return env
}

// Each runs a test for each platform's folder below root.
func Each(t *testing.T, root string, f func(*testing.T, string, Cluster, Variants)) {
	clusters, err := filepath.Glob(filepath.Join(root, "*", "cluster.yaml"))
	if err != nil || len(clusters) != len(platforms.List()) {
		t.Fatalf("%d platforms have a corpus, of %d: %v", len(clusters), len(platforms.List()), err)
	}
	for _, path := range clusters {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			c, v := folderOf(t, folder)
			f(t, folder, c, v)
		})
	}
}

func folderOf(t *testing.T, folder string) (c Cluster, v Variants) {
	t.Helper()
	Load(t, filepath.Join(folder, "cluster.yaml"), &c)
	Load(t, filepath.Join(folder, "variants.yaml"), &v)
	return c, v
}

// Manifests returns the paths of the files with a folder's objects: all YAML files except cluster.yaml and variants.yaml.
func Manifests(folder string) []string {
	all, _ := filepath.Glob(filepath.Join(folder, "*.yaml")) // cannot fail: the pattern is valid
	return slices.DeleteFunc(all, func(path string) bool {
		return slices.Contains([]string{"cluster.yaml", "variants.yaml"}, filepath.Base(path))
	})
}

// Case is an object together with the cluster that it is in.
type Case struct {
	Cluster Cluster
	Object  *unstructured.Unstructured
}

// Refused returns the objects of a folder that do not move, by the sentence of the variant. stored has the objects that API servers accept, and unstored
// those that API servers refuse.
func Refused(t *testing.T, folder string) (stored, unstored map[string]Case) {
	t.Helper()
	cluster, v := folderOf(t, folder)
	stored, unstored = map[string]Case{}, map[string]Case{}
	for text, v := range v.Refused {
		c, o := v.Apply(t, cluster, Read(t, filepath.Join(folder, v.Of)))
		if v.Unstored {
			unstored[text] = Case{c, o}
		} else {
			stored[text] = Case{c, o}
		}
	}
	return stored, unstored
}

// Moving returns the objects of a folder that must move. These are the manifests (by file name), the variants that move, and the refused variants after their
// remedies (by sentence).
func Moving(t *testing.T, folder string) map[string]Case {
	t.Helper()
	cluster, v := folderOf(t, folder)
	out := map[string]Case{}
	for _, path := range Manifests(folder) {
		out[filepath.Base(path)] = Case{cluster, Read(t, path)}
	}
	for text, v := range v.Moves {
		c, o := v.Apply(t, cluster, Read(t, filepath.Join(folder, v.Of)))
		out[text] = Case{c, o}
	}
	for text, v := range v.Refused {
		if v.Remedy != nil {
			c, o := v.Apply(t, cluster, Read(t, filepath.Join(folder, v.Of)))
			c, o = v.Remedy.Apply(t, c, o)
			out[text+", with its remedy"] = Case{c, o}
		}
	}
	return out
}

// Apply returns the cluster c and the object o with the variant's patches applied. In a MachineSet, the patch of the providerSpec applies to the template's
// providerSpec.
func (v Variant) Apply(t *testing.T, c Cluster, o *unstructured.Unstructured) (Cluster, *unstructured.Unstructured) {
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
	Merge(t, provider, v.Machine, &patched)
	if err := unstructured.SetNestedMap(out.Object, patched, path...); err != nil {
		t.Fatal(err)
	}
	whole := map[string]any{}
	Merge(t, out.Object, v.Object, &whole)
	var cluster Cluster
	Merge(t, c, v.Cluster, &cluster)
	return cluster, &unstructured.Unstructured{Object: whole}
}

// Merge applies a JSON merge patch (nil for none) to the value from, and decodes the result into the value that into points to. It does not change from.
func Merge(t *testing.T, from any, patch json.RawMessage, into any) {
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

// Read returns the object in a YAML file.
func Read(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	Load(t, path, &o.Object)
	return o
}

// Load decodes a YAML file.
func Load(t *testing.T, path string, into any) {
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
