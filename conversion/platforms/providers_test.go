// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies/authority"
)

// The object that a provider keeps for an instance is named in two places: by its kind where authority is decided, by its resource where it is read.
func TestProvidersAreKnownToBoth(t *testing.T) {
	for _, p := range platforms.List() {
		if _, err := platformstest.Named(p.Name); err != nil {
			t.Errorf("%s has no kit: give it a line in platformstest.Kits", p.Name)
		}
	}
	known := authority.Providers()
	for i, kit := range platformstest.Kits() {
		p := kit.Platform
		at := slices.IndexFunc(known, func(o authority.Provider) bool { return o.Machine == p.InfraMachine.Kind })
		if at < 0 {
			t.Errorf("%s: the rules know nothing of the controllers of %s: give it a row in providers of policies/authority/providers.go", p.Name, p.InfraMachine.Kind)
			continue
		}
		if at != i {
			t.Errorf("%s is row %d, and platform %d", p.InfraMachine.Kind, at, i)
		}
		if known[at].Platform != p.Name || known[at].ProviderSpec != p.ProviderSpec.Kind {
			t.Errorf("the row of %s has the platform %q and the providerSpec %q, want %q and %q: the rules recognize a Machine by them",
				p.InfraMachine.Kind, known[at].Platform, known[at].ProviderSpec, p.Name, p.ProviderSpec.Kind)
		}
		if known[at].InstanceID != p.InstanceID || p.InstanceID == "" {
			t.Errorf("the IDs of %s have the form %q, and the rules know %q", p.Name, p.InstanceID, known[at].InstanceID)
		}
		if want := known[at].Instance; p.InfraInstance.Kind != want || want != authority.InfraInstanceKind(p.InfraMachine.Kind) {
			t.Errorf("%s keeps %q, and authority knows %q", p.Name, p.InfraInstance.Kind, want)
		}
	}
	if len(known) != len(platformstest.Kits()) {
		t.Errorf("the rules know %d providers, and %d platforms have a kit", len(known), len(platformstest.Kits()))
	}
}

// Most providers look at the last part of an ID alone. Converted, the ID of another cloud would be that of an instance of this one.
func TestTheIDOfAnotherCloudDoesNotConvert(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		own := kit.ProviderID("w")
		_, instance, _ := strings.Cut(own, "://")
		for id, converts := range map[string]bool{own: true, "ibm://" + instance: false, instance: false} {
			from := machineAPIObject("Machine", kit)
			there, errs := core.ToClusterAPI("Machine", from, kit.Env())
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if err := unstructured.SetNestedField(from.Object, id, "spec", "providerID"); err != nil {
				t.Fatal(err)
			}
			for _, o := range []*unstructured.Unstructured{there.Core, there.Infra} {
				if err := unstructured.SetNestedField(o.Object, id, "spec", "providerID"); err != nil {
					t.Fatal(err)
				}
			}
			unstructured.RemoveNestedField(there.Infra.Object, "spec", "instanceID") // AWS's own field
			_, to := core.ToClusterAPI("Machine", from, kit.Env())
			_, back := core.ToMachineAPI("Machine", there, kit.Env())
			for way, errs := range map[string]field.ErrorList{"to Cluster API": to, "to Machine API": back} {
				named := slices.ContainsFunc(errs, func(e *field.Error) bool {
					return e.Field == "spec.providerID" && strings.Contains(e.Detail, kit.Platform.InstanceID)
				})
				if named == converts || converts && len(errs) > 0 {
					t.Errorf("%s: %s %s: %v", kit.Platform.Name, id, way, errs)
				}
			}
		}
	}
}
