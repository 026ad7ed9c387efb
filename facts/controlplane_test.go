// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
)

// shelf is a reader of some Machines and Nodes.
type shelf struct {
	machines []unstructured.Unstructured
	// unselected are those that a list by the selector has not.
	unselected []unstructured.Unstructured
	nodes      []corev1.Node
	gets       []string
	// lists is how often all Machines were listed.
	lists int
}

func (s *shelf) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	asked := &client.ListOptions{}
	asked.ApplyOptions(opts)
	switch into := into.(type) {
	case *corev1.NodeList:
		for _, n := range s.nodes {
			if asked.LabelSelector.Matches(labels.Set(n.Labels)) {
				into.Items = append(into.Items, n)
			}
		}
	case *unstructured.UnstructuredList:
		into.Items = s.machines
		if asked.LabelSelector == nil {
			into.Items, s.lists = append(slices.Clone(s.machines), s.unselected...), s.lists+1
		}
	}
	return nil
}

func (s *shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if u, is := into.(*unstructured.Unstructured); is && u.GetKind() == "Machine" {
		for _, m := range s.unselected {
			if m.GetName() == key.Name {
				m.DeepCopyInto(u)
				return nil
			}
		}
		return apierrors.NewNotFound(corev1.Resource("machines"), key.Name)
	}
	n, ok := into.(*corev1.Node)
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("infrastructures"), key.Name)
	}
	s.gets = append(s.gets, key.Name)
	i := slices.IndexFunc(s.nodes, func(n corev1.Node) bool { return n.Name == key.Name })
	if i < 0 {
		return apierrors.NewNotFound(corev1.Resource("nodes"), key.Name)
	}
	s.nodes[i].DeepCopyInto(n)
	return nil
}

// TestOtherNodesOfAControlPlane: a Node without the role is read where a selected Machine refers to it, and no other.
func TestOtherNodesOfAControlPlane(t *testing.T) {
	named := func(name, role string) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if role != "" {
			n.Labels = map[string]string{"node-role.kubernetes.io/" + role: ""}
		}
		return n
	}
	machine := func(name, node string) unstructured.Unstructured {
		o := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
		if node != "" {
			o.Object["status"] = map[string]any{"nodeRef": map[string]any{"name": node}}
		}
		return o
	}
	s := &shelf{
		nodes:    []corev1.Node{named("a", "master"), named("b", "control-plane"), named("w", "worker"), named("x", "")},
		machines: []unstructured.Unstructured{machine("m-a", "a"), machine("m-b", "b"), machine("m-w", "w"), machine("m-gone", "gone"), machine("m-new", "")},
	}
	in, err := facts.ControlPlane(t.Context(), s, "ns", labels.Everything(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Nodes) != 2 || len(in.OtherNodes) != 1 || in.OtherNodes[0].Name != "w" || !slices.Equal(s.gets, []string{"w", "gone"}) {
		t.Errorf("nodes %d, others %v, read by name: %v", len(in.Nodes), in.OtherNodes, s.gets)
	}
}

// TestMachinesThatTheSelectorDoesNotMatch: the Machine that a Node names is read where no selected one refers to the Node.
func TestMachinesThatTheSelectorDoesNotMatch(t *testing.T) {
	named := func(name, machine string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"node-role.kubernetes.io/master": ""}, Annotations: map[string]string{"machine.openshift.io/machine": machine},
		}}
	}
	machine := func(name, node string) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": map[string]any{"name": name}, "status": map[string]any{"nodeRef": map[string]any{"name": node}},
		}}
	}
	s := &shelf{
		nodes: []corev1.Node{
			named("a", "ns/m-a"), named("b", "ns/m-b"), named("gone", "ns/m-gone"), named("foreign", "other/m-b"), named("none", ""), named("replaced", "ns/m-replaced"),
		},
		machines:   []unstructured.Unstructured{machine("m-a", "a")},
		unselected: []unstructured.Unstructured{machine("m-b", "b"), machine("m-replaced", "another")},
	}
	in, err := facts.ControlPlane(t.Context(), s, "ns", labels.Everything(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Unselected) != 1 || in.Unselected[0].Name != "m-b" {
		t.Errorf("Machines that only the selector does not match: %v, want m-b", in.Unselected)
	}
	s = &shelf{
		nodes: []corev1.Node{named("a", ""), named("b", ""), named("c", ""), named("d", "")}, machines: []unstructured.Unstructured{machine("m-a", "a")},
		unselected: []unstructured.Unstructured{machine("m-b", "b"), machine("m-c", "c")},
	}
	if in, err = facts.ControlPlane(t.Context(), s, "ns", labels.Everything(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if len(in.Unselected) != 2 || in.Unselected[0].Name != "m-b" || in.Unselected[1].Name != "m-c" || s.lists != 1 {
		t.Errorf("Nodes that name no Machine: Machines that only the selector does not match: %v, want m-b and m-c; listed %d times, want once", in.Unselected, s.lists)
	}
	s = &shelf{nodes: []corev1.Node{named("a", "")}, machines: []unstructured.Unstructured{machine("m-a", "a")}}
	if _, err = facts.ControlPlane(t.Context(), s, "ns", labels.Everything(), time.Now()); err != nil || s.lists != 0 {
		t.Errorf("where each Node has its Machine: %v, listed %d times", err, s.lists)
	}
}
