// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestEachPlatformIsSimulated: the rows are there, speak of the kinds that convert, and pause as Poundlock expects of that provider.
func TestEachPlatformIsSimulated(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		p, err := platformNamed(kit.Platform.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.actuator.Spec != kit.Platform.ProviderSpec || p.actuator.Status != kit.Platform.ProviderStatus {
			t.Errorf("%s: the actuator is for %s and %s, the conversion for %s and %s", kit.Platform.Name, p.actuator.Spec, p.actuator.Status, kit.Platform.ProviderSpec,
				kit.Platform.ProviderStatus)
		}
		if want := authority.InfraFinalizer(kit.Platform.InfraMachine.Group, kit.Platform.InfraMachine.Kind); p.Finalizer != want {
			t.Errorf("%s: the finalizer is %s, and Poundlock looks for %s", kit.Platform.Name, p.Finalizer, want)
		}
		ways := map[conversiontest.Answer]authority.Acknowledgement{
			conversiontest.ByCondition: authority.ByCondition, conversiontest.ByNewCondition: authority.ByCondition, conversiontest.ByBlockMove: authority.ByBlockMove, conversiontest.InSilence: authority.ByPatience,
		}
		if want := authority.Acknowledges(kit.Platform.InfraMachine.Kind); ways[p.Answers] != want {
			t.Errorf("%s: it answers to a pause in way %d, and Poundlock listens in way %d", kit.Platform.Name, ways[p.Answers], want)
		}
	}
}

// What a provider reports of an instance that was terminated arrives at Cluster API's Machine, which reads the new kind of conditions where a status has them.
// A provider without a condition of its own leaves InfrastructureReady as it was.
func TestATerminatedInstanceIsNotReady(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		p, err := platformNamed(kit.Platform.Name)
		ok(t, err)
		if p.Ready == "" {
			continue
		}
		r := infraMachine{platform: p}
		for state, want := range map[machinetest.State]metav1.ConditionStatus{
			machinetest.Running: metav1.ConditionTrue, machinetest.Terminated: metav1.ConditionFalse,
		} {
			a := r.object()
			if p.Answers == conversiontest.ByNewCondition {
				paused("").put(a, "status.v1beta2.conditions")
			}
			r.report(a, machinetest.Instance{ID: "i-1", State: state})
			if got := readyForCore(a); got != string(want) {
				t.Errorf("%s: Ready is %q where the instance is %s, want %s", p.infra.Kind, got, state, want)
			}
		}
	}
}

// readyForCore is the condition Ready as Cluster API's core reads it (conditions.UnstructuredGet): from one list alone.
func readyForCore(a *unstructured.Unstructured) string {
	all, found, _ := unstructured.NestedSlice(a.Object, "status", "v1beta2", "conditions")
	if !found {
		all, _, _ = unstructured.NestedSlice(a.Object, "status", "conditions")
	}
	return conditionlist.Text(conditionlist.Find(all, clusterv1.ReadyCondition), "status")
}

// On platforms whose provider IDs contain a zone it is the one that the Machine asks for, on either side: a Machine that has its instance still converts.
func TestInstancesAreNamedByTheirZone(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		zones := kit.Zones
		if len(zones) == 0 {
			zones = []string{""}
		}
		for _, zone := range zones {
			t.Run(kit.Platform.Name+" "+zone, func(t *testing.T) {
				named, err := ProviderID(kit.Platform.Name)
				ok(t, err)
				cloud, err := machinetest.New(machinetest.Options{ProviderID: named})
				ok(t, err)
				p, err := platformNamed(kit.Platform.Name)
				ok(t, err)
				spec, err := json.Marshal(kit.ProviderSpec)
				ok(t, err)
				m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-machine-api", Name: "w", UID: "1"}}
				m.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind("Machine"))
				m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: bytes.ReplaceAll(spec, []byte(zones[0]), []byte(zone))}
				ok(t, (&machinetest.Actuator{Cloud: cloud.As(authority.MachineAPI), Provider: p.actuator}).Create(t.Context(), m))

				made, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
				ok(t, err)
				twin, errs := core.ToClusterAPI("Machine", &unstructured.Unstructured{Object: made}, kit.Env())
				if len(errs) > 0 {
					t.Fatalf("with the instance %s: %v", *m.Spec.ProviderID, errs.ToAggregate())
				}
				owner := &clusterv1.Machine{}
				ok(t, runtime.DefaultUnstructuredConverter.FromUnstructured(twin.Core.Object, owner))
				r := infraMachine{platform: p}
				i, err := cloud.As(authority.ClusterAPI).Launch(t.Context(), machinetest.Machine{Name: "w"}, r.order(owner, twin.Infra, "2"))
				ok(t, err)
				owner.Spec.ProviderID = i.ProviderID()
				again, err := runtime.DefaultUnstructuredConverter.ToUnstructured(owner)
				ok(t, err)
				set(twin.Infra, i.ProviderID(), "spec.providerID")
				if strings.HasPrefix(p.ID, "spec.") {
					set(twin.Infra, i.ID, p.ID)
				}
				if _, errs := core.ToMachineAPI("Machine", core.Twin{Core: &unstructured.Unstructured{Object: again}, Infra: twin.Infra}, kit.Env()); len(errs) > 0 {
					t.Errorf("with Cluster API's instance %s: %v", i.ProviderID(), errs.ToAggregate())
				}
			})
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
