// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestEveryPlatformIsSupposed(t *testing.T) {
	for _, p := range platforms.List() {
		s := p.Supposed
		if s.InfraCluster == "" {
			t.Errorf("%s: Platform().Supposed is missing", p.Name)
		}
		for _, text := range []string{s.InfraCluster, s.PlatformSpec, s.PlatformStatus} {
			if text != "" && !json.Valid([]byte(text)) {
				t.Errorf("%s: %s", p.Name, text)
			}
		}
	}
}

// None of the manifests of real installations, which all move with their cluster's objects, is refused without these.
func TestWithoutItsClusterNoManifestIsRefused(t *testing.T) {
	const corpus = "../../../conversion/platforms/testdata/corpus"
	paths, err := filepath.Glob(corpus + "/*/*.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatal(err, paths)
	}
	unknown := map[string][]string{}
	for _, path := range paths {
		if name := filepath.Base(path); name == "cluster.yaml" || name == "variants.yaml" {
			continue
		}
		t.Run(strings.TrimPrefix(path, corpus+"/"), func(t *testing.T) {
			f, err := FromFiles([]string{path}, nil, authority.Pairs{DefaultPair})
			if err != nil || len(f.Pairs) != 1 {
				t.Fatal(err, f.Problems)
			}
			c := f.Describe(Cluster{})
			env, err := f.Env(c, f.Pairs[0])
			if err != nil {
				t.Fatal(err)
			}
			certain, _, lacks := Sift(env, f.Lacks(c, env), func(e conversion.Env) field.ErrorList {
				return core.Check(f.Pairs[0].Kind.Name, f.Pairs[0].MachineAPI.Raw(), e)
			})
			var needs []string
			for _, l := range lacks {
				needs = append(needs, l.Name)
			}
			if len(certain) > 0 {
				t.Errorf("refused: %v (needs %q)", certain, needs)
			}
			unknown[path] = needs
		})
	}
	for path, want := range map[string][]string{
		"azure/worker-4.21.yaml": {"the AzureCluster prod-x7k2p"},
		"azure/worker-4.17.yaml": {"the AzureCluster prod-x7k2p", "ConfigMap cloud-provider-config of openshift-config"},
		"gcp/worker-4.17.yaml":   {"the GCPCluster prod-x7k2p"},
		"aws/master-4.21.yaml":   {"the AWSCluster prod-x7k2p"},
		"aws/worker-4.18.yaml":   nil,
	} {
		if got := unknown[filepath.Join(corpus, path)]; !slices.Equal(got, want) {
			t.Errorf("%s needs %q, want %q", path, got, want)
		}
	}
}

func TestTheSubscriptionIsReadFromFiles(t *testing.T) {
	if _, err := os.Stat("../../../conversion/platforms/testdata/corpus/azure/worker-4.17.yaml"); err != nil {
		t.Fatal(err)
	}
	f, err := FromFiles([]string{"../../../conversion/platforms/testdata/corpus/azure/worker-4.17.yaml", "-"}, strings.NewReader(
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cloud-provider-config","namespace":"openshift-config"},"data":{"config":"{\"subscriptionId\":\"s-1\"}"}}`),
		authority.Pairs{DefaultPair})
	if err != nil {
		t.Fatal(err)
	}
	if env, err := f.Env(f.Describe(Cluster{}), f.Pairs[0]); err != nil || env.Account != "s-1" {
		t.Errorf("%q, %v", env.Account, err)
	}
}
