// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestAnInfrastructureClusterThatNobodyMakes has a reason of its own: to wait for it is no use.
func TestAnInfrastructureClusterThatNobodyMakes(t *testing.T) {
	about := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"infrastructureName": "x", "platformStatus": map[string]any{
		"type": "OpenStack", "openstack": map[string]any{"apiServerInternalIPs": []any{"10.0.0.5"}},
	}}}}
	for _, c := range []struct {
		platform, reason string
		cluster          *unstructured.Unstructured
		contains, not    string
	}{
		{"OpenStack", conversion.ReasonInfraClusterMissing, about, "kubectl create", `"kind":"Cluster"`},
		{"OpenStack", conversion.ReasonInfraClusterMissing, nil, `"kind":"Cluster"`, "Poundlock"},
		{"AWS", conversion.ReasonClusterNotReady, about, "needs this object before", "kubectl"},
	} {
		s := &State{Cluster: c.cluster}
		s.Env = conversion.Env{ClusterName: "x", ClusterAPINamespace: "capi", Infrastructure: about.Object}
		s.Env.Platform, _ = platforms.For(c.platform)
		s.Absent(s.Env.Platform.InfraCluster.Kind)
		reason, missing := s.Reason, s.Missing
		if reason != c.reason || !strings.Contains(missing, c.contains) || strings.Contains(missing, c.not) {
			t.Errorf("%s: %s: %s", c.platform, reason, missing)
		}
	}
}

// A set that is created for Cluster API gets its template first. The pass goes on with both: it does not report a template that it has just made as gone.
func TestATemplateIsKnownOnceTheSetRefersToIt(t *testing.T) {
	kind, _ := authority.KindNamed("MachineSet")
	s := &State{Kind: kind, Name: "a"}
	s.Env.Platform, _ = platforms.For("Azure")
	made := func(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetGroupVersionKind(kind)
		o.SetName(name)
		return o
	}
	template := made(s.InfraKind(), "a-1", nil)
	set := made(kind.ClusterAPIGVK(), "a", map[string]any{"template": map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{"name": "a-1"}}}})
	set.SetAnnotations(map[string]string{authority.MirrorAnnotation: s.Mark()})
	s.Store(template, template)
	s.Store(set, set)
	if s.Infra != template {
		t.Errorf("the infrastructure object is %v", s.Infra)
	}
}
