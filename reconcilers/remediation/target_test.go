// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"context"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodes is a reader of Nodes.
type nodes []corev1.Node

func (n nodes) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, ok := into.(*corev1.NodeList); ok {
		list.Items = n
	}
	return nil
}

func (n nodes) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for i := range n {
		if node, ok := into.(*corev1.Node); ok && n[i].Name == key.Name {
			n[i].DeepCopyInto(node)
			return nil
		}
	}
	return apierrors.NewNotFound(corev1.Resource("nodes"), key.Name)
}

// TestANodeThatHasAnotherName: the instance's Node was deleted and has registered again under another name, which its Machine does not know yet.
func TestANodeThatHasAnotherName(t *testing.T) {
	node := func(name, id string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: id}}
	}
	stored := func(name, status string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"providerID": "aws:///us-east-1a/i-1"},
			"status": map[string]any{"nodeRef": map[string]any{"kind": "Node", "name": "old"}},
		}}
		if status != "" {
			_ = unstructured.SetNestedField(o.Object, status, "status", "authoritativeAPI")
		}
		return o
	}
	for sentence, c := range map[string]struct {
		authority machinev1beta1.MachineAuthority
		nodes     nodes
		want      string
	}{
		"the same name":                       {"MachineAPI", nodes{node("new", "aws:///us-east-1a/i-1"), node("old", "")}, "old"},
		"another name":                        {"MachineAPI", nodes{node("other", "aws:///us-east-1a/i-2"), node("new", "aws:///i-1")}, "new"},
		"another name, Cluster API's Machine": {"ClusterAPI", nodes{node("new", "aws:///us-east-1a/i-1")}, "new"},
		"another instance's":                  {"MachineAPI", nodes{node("other", "aws:///us-east-1a/i-2"), node("none", "")}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &state{
				machineAPI: map[string]*unstructured.Unstructured{"m": stored("m", string(c.authority))},
				clusterAPI: map[string]*unstructured.Unstructured{"m": stored("m", "")},
			}
			m, err := s.machine("m")
			if err != nil {
				t.Fatal(err)
			}
			got, err := (&reconciler{}).target(t.Context(), c.nodes, m)
			if err != nil {
				t.Fatal(err)
			}
			name := ""
			if got.Node != nil {
				name = got.Node.Name
			}
			if name != c.want {
				t.Errorf("its Node is %q, want %q", name, c.want)
			}
		})
	}
}
