// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestWhatAnInfrastructureLacks(t *testing.T) {
	about := func(name, platform string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"infrastructureName": name, "platformStatus": map[string]any{"type": platform},
		}}}
	}
	for sentence, c := range map[string]struct {
		kind   string
		about  *unstructured.Unstructured
		reason string
	}{
		"there is none":                           {"Machine", nil, reasonNotReady},
		"it says neither name nor platform":       {"Machine", &unstructured.Unstructured{Object: map[string]any{}}, reasonNotReady},
		"it has no name yet":                      {"Machine", about("", "AWS"), reasonNotReady},
		"it has no platform yet":                  {"MachineSet", about("x", ""), reasonNotReady},
		"a platform nobody converts, and no name": {"Machine", about("", "None"), reasonNotReady},
		"a platform nobody converts":              {"Machine", about("x", "None"), reasonPlatform},
		"the same, to a MachineSet":               {"MachineSet", about("x", "None"), reasonPlatform},
		"the same, to a check":                    {"MachineHealthCheck", about("x", "None"), ""},
		"nothing":                                 {"Machine", about("x", "AWS"), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			kind, _ := authority.KindNamed(c.kind)
			reason, missing := readInfrastructure(kind, c.about, &conversion.Env{})
			if reason != c.reason || (missing == "") != (reason == "") {
				t.Errorf("%s: %s, want %q", reason, missing, c.reason)
			}
			if reason == reasonPlatform && missing != platforms.Unsupported("None") {
				t.Errorf("admission says it otherwise: %s", missing)
			}
		})
	}
}

// TestAnInfrastructureClusterThatNobodyMakes has a reason of its own: to wait for it is no use.
func TestAnInfrastructureClusterThatNobodyMakes(t *testing.T) {
	about := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"infrastructureName": "x", "platformStatus": map[string]any{
		"type": "OpenStack", "openstack": map[string]any{"apiServerInternalIPs": []any{"10.0.0.5"}},
	}}}}
	for _, c := range []struct {
		platform, reason string
		cluster          *unstructured.Unstructured
		says, not        string
	}{
		{"OpenStack", reasonUnmade, about, "kubectl create", `"kind":"Cluster"`},
		{"OpenStack", reasonUnmade, nil, `"kind":"Cluster"`, "Poundlock"},
		{"AWS", reasonNotReady, about, "needs it before", "kubectl"},
	} {
		s := &state{cluster: c.cluster}
		s.env = conversion.Env{ClusterName: "x", ClusterAPINamespace: "capi", Infrastructure: about.Object}
		s.env.Platform, _ = platforms.For(c.platform)
		reason, missing := unmade(s.env.Platform.InfraCluster.Kind, s)
		if reason != c.reason || !strings.Contains(missing, c.says) || strings.Contains(missing, c.not) {
			t.Errorf("%s: %s: %s", c.platform, reason, missing)
		}
	}
}
