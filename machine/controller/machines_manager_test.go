// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/stories"
)

// TestMachinesInAManager runs the controller as it runs in a cluster: woken by watches alone.
func TestMachinesInAManager(t *testing.T) {
	s := newScene(t)
	m := s.manager(plane.Admin())
	actuator := s.actuator()
	actuator.Now, actuator.Poll = nil, 50*time.Millisecond
	if err := AddMachines(m, Options{Actuator: actuator, Gated: true, AnyName: true}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	is := func(phase string) func() bool {
		return func() bool { return deref(s.get("one").Status.Phase) == phase }
	}
	s.machine("one", func(m *machinev1beta1.Machine) { m.Spec.Labels = map[string]string{"team": "a"} })
	s.eventually("provisioned", is(machinev1beta1.PhaseProvisioned))
	node := s.node(s.instances(1)[0])
	s.eventually("running", is(machinev1beta1.PhaseRunning))
	s.patch(s.getNode(node), `{"metadata":{"labels":{"team":null}}}`)
	s.eventually("a label that was taken away comes back", func() bool { return s.getNode(node).Labels["team"] == "a" })
	s.authority("one", machinev1beta1.MachineAuthorityMigrating)
	s.eventually("paused", func() bool { return s.condition("one", "Paused").Status == corev1.ConditionTrue })
	s.authority("one", machinev1beta1.MachineAuthorityMachineAPI)
	s.eventually("acts again", func() bool { return s.condition("one", "Paused").Status == corev1.ConditionFalse })
	s.deleting("one")
	s.eventually("gone", func() bool { return s.get("one") == nil })
}

func (s *scene) eventually(what string, is func() bool) {
	s.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); pause(s.Context()) {
		if is() {
			return
		}
	}
	s.Fatalf("%s: not in 30 s: %s", what, s.told("one"))
}

func TestMachinesNeedAnActuator(t *testing.T) {
	s := newScene(t)
	if err := AddMachines(s.manager(plane.Admin()), Options{}); err == nil {
		t.Error("no error without an actuator")
	}
}

// TestCRDWithoutTheFieldsOfAuthority is a cluster without the feature gate: its CRD has no authoritativeAPI.
func TestCRDWithoutTheFieldsOfAuthority(t *testing.T) {
	stories.Long(t)
	replaced := func(variant string) {
		t.Helper()
		if err := plane.InstallCRDs(context.Background(), machineCRD(t, variant)); err != nil {
			t.Fatal(err)
		}
	}
	replaced("Default")
	t.Cleanup(func() { replaced("CustomNoUpgrade") })
	s := newScene(t)
	s.machine("one")
	if m := s.get("one"); m.Spec.AuthoritativeAPI != "" {
		t.Fatalf("the CRD has the field: %s", m.Spec.AuthoritativeAPI)
	}
	s.phase("one", machinev1beta1.PhaseProvisioned)
	if m := s.get("one"); m.Status.AuthoritativeAPI != "" || s.condition("one", "Paused").Status != "" {
		t.Error(s.told("one"))
	}
	s.deleting("one")
	s.gone("one")
}

func machineCRD(t *testing.T, variant string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	dir, err := build.ModuleDir(context.Background(), "github.com/openshift/api")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "machine/v1beta1/zz_generated.crd-manifests/*_machines-"+variant+".crd.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// TestAPIServerThatStopsInTheMiddle: the provider has made the instance, and nothing can store that.
func TestAPIServerThatStopsInTheMiddle(t *testing.T) {
	stories.Long(t)
	s := newScene(t)
	s.machine("one")
	inner := s.c.actuator
	s.c.actuator = spoilt{Actuator: inner, create: func(ctx context.Context, m *machinev1beta1.Machine) error {
		err := inner.Create(ctx, m)
		if stop := plane.StopPart(build.APIServer); stop != nil {
			t.Error(stop)
		}
		return err
	}}
	var failed error
	for range 4 {
		if _, failed = s.pass("one"); failed != nil {
			break
		}
	}
	if failed == nil {
		t.Error("a pass whose answer could not be stored reports no error")
	}
	s.instances(1)
	if err := plane.StartPart(t.Context(), build.APIServer); err != nil {
		t.Fatal(err)
	}
	if m := s.get("one"); m.Spec.ProviderID != nil || deref(m.Status.Phase) != machinev1beta1.PhaseProvisioning || !machine.HasFinalizer(m) {
		t.Errorf("what the API server knows: %s", s.told("one"))
	}
	s.c.actuator = inner
	s.phase("one", machinev1beta1.PhaseProvisioned)
	s.instances(1)
	s.deleting("one")
	s.gone("one")
}

// TestNodeThatRefusesWhatItsMachineGives: neither the CRD nor admission holds spec.metadata to what a Node takes.
func TestNodeThatRefusesWhatItsMachineGives(t *testing.T) {
	s := newScene(t)
	s.machine("one", func(m *machinev1beta1.Machine) { m.Spec.Labels = map[string]string{"not a label": "!"} })
	s.phase("one", machinev1beta1.PhaseProvisioned)
	s.node(s.instances(1)[0])
	s.phase("one", machinev1beta1.PhaseRunning)
	if !s.heard("FailedFurnishNode") {
		t.Error("no event says what is wrong")
	}
}

// TestTwoMachinesOfOneInstance: somebody has copied a Machine, provider ID and all.
func TestTwoMachinesOfOneInstance(t *testing.T) {
	s := newScene(t)
	node := s.running("one")
	s.until("one", "has claimed the Node", func(*machinev1beta1.Machine) bool {
		return s.getNode(node).Annotations[machine.NodeAnnotation] == s.namespace+"/one"
	})
	s.machine("two", func(m *machinev1beta1.Machine) { m.Spec.ProviderID = s.get("one").Spec.ProviderID })
	s.until("two", "is refused the Node", func(*machinev1beta1.Machine) bool { return s.heard("FailedLinkNode") })
	if owner := s.getNode(node).Annotations[machine.NodeAnnotation]; owner != s.namespace+"/one" || s.get("two").Status.NodeRef != nil {
		t.Errorf("the Node is %s's", owner)
	}
	s.instances(1)
}
