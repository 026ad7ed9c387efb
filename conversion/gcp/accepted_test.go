// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"
	"sigs.k8s.io/cluster-api-provider-gcp/webhooks"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/gcp/gcptest"
	"github.com/poundlock/poundlock/test/build"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // the provider's webhooks write one line for each object
	os.Exit(m.Run())
}

// server accepts what an API server with the provider's CRD would: it prunes, defaults and validates.
type server struct {
	schema *structuralschema.Structural
	valid  validation.SchemaValidator
}

func serverOf(t *testing.T, plural string) server {
	t.Helper()
	dir, err := build.ModuleDir(t.Context(), "sigs.k8s.io/cluster-api-provider-gcp")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "config", "crd", "bases", gcpv1.GroupVersion.Group+"_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	var internal apiextensions.CustomResourceValidation
	if err := yaml.UnmarshalStrict(raw, &crd); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[0].Schema,
		&internal, nil); err != nil {
		t.Fatal(err)
	}
	schema, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	valid, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return server{schema, valid}
}

// accept returns the object as it would be stored. The CRD has no rules in CEL.
func (s server) accept(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	sent := runtime.DeepCopyJSON(object)
	if pruned := pruning.PruneWithOptions(object, s.schema, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(pruned) > 0 {
		t.Errorf("the CRD does not have %v", pruned)
	}
	defaulting.Default(object, s.schema)
	errs := validation.ValidateCustomResource(nil, object, s.valid)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.schema, object)...)
	if len(errs) > 0 {
		raw, _ := json.MarshalIndent(sent, "", "  ")
		t.Errorf("the CRD refuses it: %v\n%s", errs.ToAggregate(), raw)
	}
	return object
}

func as[T any](t *testing.T, object map[string]any) *T {
	t.Helper()
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func gcpMachine(spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": gcpv1.GroupVersion.String(), "kind": "GCPMachine", "metadata": map[string]any{"name": "x"}, "spec": spec}
}

func gcpMachineTemplate(spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": gcpv1.GroupVersion.String(), "kind": "GCPMachineTemplate", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"template": map[string]any{"spec": spec}}}
}

func encoded(t *testing.T, typed any) map[string]any {
	t.Helper()
	out, err := conversion.Encode(typed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTheProviderTakesWhatGoes: the provider's CRDs and webhooks accept each converted providerSpec, and the stored result converts back to the same as the
// converted one.
func TestTheProviderTakesWhatGoes(t *testing.T) {
	kit, r := gcptest.Kit(), rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	machines, templates := serverOf(t, "gcpmachines"), serverOf(t, "gcpmachinetemplates")
	there, back := trips(kit.Env(), &conversion.Core{ProviderID: gcptest.ProviderID("x")})
	for range 200 {
		sent, errs := there(kit.AnyProviderSpec(r).(*providerSpec))
		if len(errs) > 0 {
			t.Fatalf("a providerSpec that can go was refused: %v", errs.ToAggregate())
		}
		stored := as[gcpv1.GCPMachine](t, machines.accept(t, gcpMachine(encoded(t, sent))))
		if _, err := new(webhooks.GCPMachine).ValidateCreate(t.Context(), stored); err != nil {
			t.Errorf("the provider's webhook refuses the GCPMachine: %v", err)
		}
		template := as[gcpv1.GCPMachineTemplate](t, templates.accept(t, gcpMachineTemplate(encoded(t, sent))))
		if _, err := new(webhooks.GCPMachineTemplate).ValidateCreate(t.Context(), template); err != nil {
			t.Errorf("the provider's webhook refuses the GCPMachineTemplate: %v", err)
		}
		want, _ := back(sent)
		got, errs := back(&stored.Spec)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" || len(errs) > 0 {
			t.Errorf("what was stored comes back another (-sent +stored):\n%s\n%v", d, errs.ToAggregate())
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestTheProviderTakesWhatComesBack: the mirror of a GCPMachine that was created in Cluster API may write the result of a round trip, although the provider's
// webhook makes the spec immutable.
func TestTheProviderTakesWhatComesBack(t *testing.T) {
	kit, r := gcptest.Kit(), rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	machines := serverOf(t, "gcpmachines")
	there, back := trips(kit.Env(), &conversion.Core{ProviderID: gcptest.ProviderID("x"), FailureDomain: gcptest.Zone, BootstrapSecret: new("worker-user-data")})
	for range 200 {
		born := machines.accept(t, gcpMachine(encoded(t, kit.AnyInfraSpec(r))))
		old := as[gcpv1.GCPMachine](t, born)
		mirror, errs := back(&old.Spec)
		again, more := there(mirror)
		if errs = append(errs, more...); len(errs) > 0 {
			t.Fatalf("a GCPMachine that can go was refused: %v", errs.ToAggregate())
		}
		now := as[gcpv1.GCPMachine](t, machines.accept(t, gcpMachine(encoded(t, again))))
		if _, err := new(webhooks.GCPMachine).ValidateUpdate(t.Context(), old, now); err != nil {
			t.Fatalf("the provider's webhook refuses what came back: %v\n%s", err, cmp.Diff(old.Spec, now.Spec))
		}
	}
}

// TestTheProviderTakesTheKitsCluster: the kit's cluster is a valid GCPCluster.
func TestTheProviderTakesTheKitsCluster(t *testing.T) {
	object := map[string]any{"apiVersion": gcpv1.GroupVersion.String(), "kind": "GCPCluster", "metadata": map[string]any{"name": gcptest.Cluster},
		"spec": gcptest.Kit().InfraCluster}
	cluster := as[gcpv1.GCPCluster](t, serverOf(t, "gcpclusters").accept(t, runtime.DeepCopyJSON(object)))
	if _, err := new(webhooks.GCPCluster).ValidateCreate(t.Context(), cluster); err != nil {
		t.Error(err)
	}
	if _, err := new(webhooks.GCPCluster).ValidateUpdate(t.Context(), cluster, cluster); err != nil {
		t.Error(err)
	}
}

// TestTheTableRefusesWhatTheProviderWould: the table refuses each of these before the CRD or the webhook would.
func TestTheTableRefusesWhatTheProviderWould(t *testing.T) {
	for sentence, patch := range map[string]string{
		"a confidential machine that moves":     `{"machineType": "n2d-standard-4", "confidentialCompute": "Enabled"}`,
		"a confidential machine of no series":   `{"onHostMaintenance": "Terminate", "confidentialCompute": "IntelTrustedDomainExtensions"}`,
		"a metadata key given twice":            `{"gcpMetadata": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]}`,
		"a tag of no parent":                    `{"resourceManagerTags": [{"parentID": "", "key": "a", "value": "b"}]}`,
		"an account that is not of a project":   `{"disks": [{"autoDelete": true, "boot": true, "image": "x", "encryptionKey": {"kmsKeyServiceAccount": "me@example.com", "kmsKey": {"name": "k", "keyRing": "r", "location": "us"}}}]}`,
		"a key whose name is too long for them": `{"disks": [{"autoDelete": true, "boot": true, "image": "x", "encryptionKey": {"kmsKey": {"name": "` + long(63) + `", "keyRing": "` + long(63) + `", "location": "us"}}}]}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			env := gcptest.Kit().Env()
			p := conversion.NewPass(&env, &conversion.Core{}, "")
			infra, _ := conversiontest.ToClusterAPI(p, conversiontest.Patched(t, plain(t), patch)).(*infraSpec)
			if len(p.Errors()) == 0 {
				t.Error("the table takes it")
			}
			if infra != nil && len(refusals(t, infra)) == 0 {
				t.Error("the provider takes it: is the rule needed?")
			}
		})
	}
}

// refusals are the errors of the CRD and of the webhook for a spec.
func refusals(t *testing.T, spec *infraSpec) field.ErrorList {
	t.Helper()
	s, object := serverOf(t, "gcpmachines"), gcpMachine(encoded(t, spec))
	errs := validation.ValidateCustomResource(nil, object, s.valid)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.schema, object)...)
	if _, err := new(webhooks.GCPMachine).ValidateCreate(t.Context(), as[gcpv1.GCPMachine](t, object)); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec"), nil, err.Error()))
	}
	return errs
}
