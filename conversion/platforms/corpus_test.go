// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/json"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
)

// corpus is the cluster that the manifests of a folder belong to.
type corpus struct {
	Infrastructure map[string]any `json:"infrastructure"`
	InfraCluster   map[string]any `json:"infraCluster"`
	CloudConfig    string         `json:"cloudConfig"`
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

// What installers of several releases write, and what admission and controllers make of it, moves there and back, and is
// then what it was.
func TestManifestsOfInstallationsMove(t *testing.T) {
	clusters, err := filepath.Glob("testdata/corpus/*/cluster.yaml")
	if err != nil || len(clusters) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, path := range clusters {
		var c corpus
		load(t, path, &c)
		manifests, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.yaml"))
		for _, manifest := range manifests {
			if manifest == path {
				continue
			}
			t.Run(manifest[len("testdata/corpus/"):], func(t *testing.T) {
				o := &unstructured.Unstructured{}
				load(t, manifest, &o.Object)
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
				if diff := cmp.Diff(o.Object["spec"], back.Object["spec"]); diff != "" {
					t.Errorf("it comes back otherwise (-was +is):\n%s", diff)
				}
				if diff := cmp.Diff(o.GetLabels(), back.GetLabels()); diff != "" {
					t.Errorf("its labels (-were +are):\n%s", diff)
				}
			})
		}
	}
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		raw, err = yaml.YAMLToJSON(raw)
	}
	if err == nil {
		err = json.UnmarshalCaseSensitivePreserveInts(raw, into)
	}
	if err != nil {
		t.Fatal(path, err)
	}
}
