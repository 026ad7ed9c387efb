// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

const corpusFolder = "../../../conversion/platforms/testdata/corpus"

// surroundings are a cluster's objects around an object; each member may be missing.
type surroundings struct {
	Infrastructure json.RawMessage `json:"infrastructure,omitempty"`
	InfraCluster   json.RawMessage `json:"infraCluster,omitempty"`
	CloudConfig    string          `json:"cloudConfig,omitempty"`
	// nodeSync and gates are whether the flags of Cluster API's manager are given.
	nodeSync, gates bool
}

// manifestCase is a manifest of an installation, with its surroundings.
type manifestCase struct {
	platform, object string
	around           surroundings
}

// corpusCases are the manifests of the corpus, and their variants.
func corpusCases(t *testing.T) map[string]manifestCase {
	t.Helper()
	type variant struct {
		Of                       string
		Machine, Object, Cluster json.RawMessage
	}
	out := map[string]manifestCase{}
	folders, err := filepath.Glob(corpusFolder + "/*/cluster.yaml")
	if err != nil || len(folders) != len(platforms.List()) {
		t.Fatalf("%d platforms have a corpus, of %d: %v", len(folders), len(platforms.List()), err)
	}
	for _, path := range folders {
		folder := filepath.Dir(path)
		platform := filepath.Base(folder)
		cluster := document(t, path)
		manifests, _ := filepath.Glob(filepath.Join(folder, "*.yaml"))
		for _, manifest := range manifests {
			if name := filepath.Base(manifest); name != "cluster.yaml" && name != "variants.yaml" {
				out[platform+"/"+name] = manifestCase{platform, string(document(t, manifest)), around(t, cluster)}
			}
		}
		var v struct{ Moves, Refused map[string]variant }
		if err := json.Unmarshal(document(t, filepath.Join(folder, "variants.yaml")), &v); err != nil {
			t.Fatal(err)
		}
		for _, some := range []map[string]variant{v.Moves, v.Refused} {
			for sentence, v := range some {
				object := document(t, filepath.Join(folder, v.Of))
				if v.Machine != nil {
					machine := `{"spec":{"providerSpec":{"value":` + string(v.Machine) + `}}}`
					if strings.Contains(string(object), `"kind":"MachineSet"`) {
						machine = `{"spec":{"template":` + machine + `}}`
					}
					object = patched(t, object, []byte(machine))
				}
				out[platform+"/"+sentence] = manifestCase{platform, string(patched(t, object, v.Object)), around(t, patched(t, cluster, v.Cluster))}
			}
		}
	}
	return out
}

func document(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		raw, err = yaml.YAMLToJSON(raw)
	}
	if err != nil {
		t.Fatal(path, err)
	}
	return raw
}

func patched(t *testing.T, document, patch []byte) []byte {
	t.Helper()
	if patch == nil {
		return document
	}
	out, err := jsonpatch.MergePatch(document, patch)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func around(t *testing.T, cluster []byte) surroundings {
	t.Helper()
	s := surroundings{nodeSync: true, gates: true}
	if err := json.Unmarshal(cluster, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// judgeManifest judges a manifest with the remaining surroundings. on is the gate for taints.
func judgeManifest(t *testing.T, c manifestCase, s surroundings, on bool) readiness.Finding {
	t.Helper()
	documents := []string{c.object}
	add := func(content []byte, head string) {
		if content != nil {
			documents = append(documents, string(patched(t, content, []byte(head))))
		}
	}
	for _, p := range platforms.List() {
		if strings.EqualFold(p.Name, c.platform) {
			kind := p.InfraCluster
			add(s.InfraCluster, `{"apiVersion":"`+kind.GroupVersion().String()+`","kind":"`+kind.Kind+`","metadata":{"name":"prod-x7k2p","namespace":"openshift-cluster-api"}}`)
		}
	}
	add(s.Infrastructure, `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"}}`)
	if s.CloudConfig != "" {
		raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "cloud-provider-config",
			"namespace": "openshift-config"}, "data": map[string]any{"config": s.CloudConfig}})
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(raw))
	}
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
	if err != nil || len(f.Pairs) != 1 {
		t.Fatal(err, f.Problems, documents)
	}
	var value inventory.Cluster
	if s.nodeSync {
		all, err := conversion.ParsePatterns([]string{".*"})
		if err != nil {
			t.Fatal(err)
		}
		value.NodeSync = conversion.NodeSync{Labels: all, Annotations: all}
	}
	if s.gates {
		value.Gates = map[string]bool{authority.TaintGate: on}
	}
	cluster := f.Describe(value)
	env, unknown := f.Env(cluster, f.Pairs[0])
	return readiness.Judge(f.Pairs[0], authority.ClusterAPI, env, unknown, f.Lacks(cluster, env))
}

// With its whole cluster a manifest can move or cannot. Without a part that decides that, check reports Unknown and what it needs. It never contradicts the
// answer with the whole cluster.
func TestWithoutItsSurroundingsAnAnswerIsUnknown(t *testing.T) {
	stories.Long(t)
	parts := map[string]func(*surroundings){
		"infrastructure cluster": func(s *surroundings) { s.InfraCluster = nil },
		"Infrastructure":         func(s *surroundings) { s.Infrastructure = nil },
		"account":                func(s *surroundings) { s.CloudConfig = "" },
		"node sync":              func(s *surroundings) { s.nodeSync = false },
		"gates":                  func(s *surroundings) { s.gates = false },
	}
	yes, inTheWay := 0, map[string]string{}
	for sentence, c := range corpusCases(t) {
		t.Run(sentence, func(t *testing.T) {
			whole := judgeManifest(t, c, c.around, true)
			off := judgeManifest(t, c, c.around, false)
			switch whole.Readiness {
			case readiness.Unknown:
				if c.around.CloudConfig == "" && c.platform == "azure" {
					return // the manifest is one without an account
				}
				t.Errorf("with everything given it is %s: %s", whole.Readiness, whole.Message)
			case readiness.Ready:
				yes++
			}
			for _, f := range whole.Fields {
				inTheWay[f.Path] = sentence
			}
			for part, remove := range parts {
				s := c.around
				remove(&s)
				got := judgeManifest(t, c, s, true)
				decides := part == "infrastructure cluster" || part == "Infrastructure" || part == "gates" && off.Readiness != whole.Readiness
				switch {
				case got.Readiness == readiness.Ready && (decides || whole.Readiness != readiness.Ready):
					t.Errorf("without its %s it is a false yes", part)
				case got.Readiness == readiness.Unknown && len(got.Needs) == 0:
					t.Errorf("without its %s it is unknown, and needs nothing", part)
				case got.Readiness == readiness.Blocked && whole.Readiness != readiness.Blocked:
					t.Errorf("without its %s it is a false no: %s: %v", part, got.Reason, got.Fields)
				}
			}
			if off.Readiness == readiness.Ready && strings.Contains(c.object, `"taints":[{`) {
				t.Error("with the gate for taints off it is a false yes")
			}
		})
	}
	if len(inTheWay) < 50 {
		t.Errorf("%d fields were in the way", len(inTheWay))
	}
	all := topics.Topics()
	for path, sentence := range inTheWay {
		if len(all.Find(path)) == 0 {
			t.Errorf("explain does not know %s, which is in the way of %s", path, sentence)
		}
	}
	if yes < 50 {
		t.Errorf("%d manifests can move with everything given", yes)
	}
}

// An installer writes the tags that a user asks for onto the Infrastructure and the infrastructure cluster. For somebody who may not read the former, the
// latter alone is not a reason why nothing can move.
func TestTagsOfTheWholeClusterAreNoObstacleWithoutTheInfrastructure(t *testing.T) {
	played := map[string]int{}
	for sentence, c := range corpusCases(t) {
		here, there := "resourceTags", "additionalTags"
		switch c.platform {
		case "aws", "azure":
		case "gcp":
			here, there = "resourceLabels", "additionalLabels"
		default:
			continue
		}
		c.around.Infrastructure = patched(t, c.around.Infrastructure, fmt.Appendf(nil,
			`{"status":{"platformStatus":{%q:{%q:[{"key":"team","value":"a"}]}}}}`, c.platform, here))
		c.around.InfraCluster = patched(t, c.around.InfraCluster, fmt.Appendf(nil, `{"spec":{%q:{"team":"a"}}}`, there))
		whole := judgeManifest(t, c, c.around, true)
		if whole.Readiness != readiness.Ready {
			continue
		}
		played[c.platform]++
		c.around.Infrastructure = nil
		if got := judgeManifest(t, c, c.around, true); got.Readiness == readiness.Blocked {
			t.Errorf("%s: without the Infrastructure it is a false no: %s: %v", sentence, got.Reason, got.Fields)
		}
	}
	for _, platform := range []string{"aws", "azure", "gcp"} {
		if played[platform] < 3 {
			t.Errorf("%d manifests of %s have such tags", played[platform], platform)
		}
	}
}
