// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/test/stories"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/actuators.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPageShowsTheExample: what is shown is what compiles.
func TestPageShowsTheExample(t *testing.T) {
	text, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "func Example() {\n")
	body, _, _ := strings.Cut(rest, "\n}\n")
	if body == "" || !strings.Contains(page(t), "```go\n"+body+"\n```") {
		t.Error("docs/actuators.md does not show the body of Example as it is")
	}
}

// TestPagePermissionsAreEnough runs all controllers with what the page grants, and nothing else.
func TestPagePermissionsAreEnough(t *testing.T) {
	stories.Long(t)
	s := newScene(t)
	const user = "provider"
	s.grant(user)
	config, err := plane.As(user)
	if err != nil {
		t.Fatal(err)
	}
	m := s.manager(config)
	actuator := s.actuator()
	actuator.Now, actuator.Poll = nil, 50*time.Millisecond
	if err := Add(m, Options{Actuator: actuator, Gated: true, AnyName: true}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	t.Cleanup(func() { stop(); <-done })

	labels := map[string]string{"of": "set"}
	s.machine("template")
	one := s.get("template")
	set := &machinev1beta1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Name: "set", Namespace: s.namespace},
		Spec: machinev1beta1.MachineSetSpec{
			AuthoritativeAPI: machinev1beta1.MachineAuthorityMachineAPI, Replicas: ptr.To(int32(1)), Selector: metav1.LabelSelector{MatchLabels: labels},
			Template: machinev1beta1.MachineTemplateSpec{ObjectMeta: machinev1beta1.ObjectMeta{Labels: labels},
				Spec: machinev1beta1.MachineSpec{ProviderSpec: one.Spec.ProviderSpec}},
		},
	}
	if err := s.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	s.eventually("both have instances", func() bool { all, _ := s.cloud.Instances(t.Context()); return len(all) == 2 })
	all := s.instances(2)
	nodes := []string{s.node(all[0]), s.node(all[1])}
	s.pod("app", nodes[0], nil)
	s.eventually("both run", func() bool {
		list := &machinev1beta1.MachineList{}
		if err := s.List(t.Context(), list, client.InNamespace(s.namespace)); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, m := range list.Items {
			if deref(m.Status.Phase) == machinev1beta1.PhaseRunning {
				n++
			}
		}
		return n == 2
	})
	s.deleting("template")
	s.patch(set, `{"spec":{"replicas":0}}`)
	s.eventually("all is gone", func() bool {
		return s.getNode(nodes[0]) == nil && s.getNode(nodes[1]) == nil && s.get("template") == nil
	})
	events := &corev1.EventList{}
	if err := s.List(t.Context(), events, client.InNamespace(s.namespace)); err != nil || len(events.Items) == 0 {
		t.Errorf("%d events: %v", len(events.Items), err)
	}
}

// grant creates the page's roles and gives them to the user.
func (s *scene) grant(user string) {
	s.Helper()
	_, rest, _ := strings.Cut(page(s.T), "```yaml\n")
	manifests, _, _ := strings.Cut(rest, "\n```")
	first, second, _ := strings.Cut(manifests, "\n---\n")
	role, clusterRole := &rbacv1.Role{}, &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict([]byte(first), role); err != nil {
		s.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(second), clusterRole); err != nil {
		s.Fatal(err)
	}
	role.Namespace = s.namespace
	clusterRole.Name = s.namespace
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name, Namespace: s.namespace}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}
	clusterBinding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.namespace},
	}
	for _, err := range []error{
		s.Create(s.Context(), role), s.Create(s.Context(), clusterRole), s.Create(s.Context(), binding), s.Create(s.Context(), clusterBinding),
	} {
		if err != nil {
			s.Fatal(err)
		}
	}
}
