// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

// oddTexts are texts that some CRD accepts and another one refuses.
var oddTexts = []string{
	"", " ", "x", "True", "False", "Unknown", "no such instance", "Instance-Missing", "InvalidConfiguration", "_", "ä", "Running", "\n",
	strings.Repeat("ä", 300), strings.Repeat("x", 11000), strings.Repeat("é", 33000),
}

// oddValue is a value of a random type.
func oddValue(r *rand.Rand) any {
	values := []any{nil, int64(-1), int64(1 << 30), 0.5, true, "x", "", []any{}, []any{nil, "x"}, map[string]any{}, map[string]any{"name": ""}}
	return values[r.IntN(len(values))]
}

func oddText(r *rand.Rand) any { return oddTexts[r.IntN(len(oddTexts))] }

// oddStatus generates a status of either API. A wild one has values of other types too, as in an object that was stored under an older CRD.
func oddStatus(r *rand.Rand, wild bool) map[string]any {
	condition := func() any {
		kinds := []any{"InstanceExists", "InfrastructureReady", "Deleting", "RemediationAllowed", "MachineCreation", "VMProvisioned", "Ready"}
		return map[string]any{"type": kinds[r.IntN(len(kinds))], "status": oddText(r), "reason": oddText(r), "message": oddText(r),
			"severity": oddText(r), "lastTransitionTime": "2026-01-01T00:00:00Z"}
	}
	list := func(one func() any) (out []any) {
		for range r.IntN(5) {
			out = append(out, one())
		}
		return out
	}
	phases := []any{"", "Pending", "Provisioning", "Provisioned", "Running", "Updating", "Deleting", "Deleted", "Failed", "Unknown", "Odd"}
	kinds := []any{"", "InternalIP", "Hostname", "Odd"}
	out := map[string]any{
		"phase": phases[r.IntN(len(phases))], "errorReason": oddText(r), "errorMessage": oddText(r), "failureReason": oddText(r), "failureMessage": oddText(r),
		"conditions": list(condition), "nodeRef": map[string]any{"kind": "Node", "name": []any{"a", "", "A_b"}[r.IntN(3)]},
		"addresses":  list(func() any { return map[string]any{"type": kinds[r.IntN(len(kinds))], "address": oddText(r)} }),
		"deprecated": map[string]any{"v1beta1": map[string]any{"failureReason": oddText(r), "failureMessage": oddText(r), "conditions": list(condition)}},
		"providerStatus": map[string]any{"instanceId": oddText(r), "instanceState": oddText(r), "vmState": oddText(r), "vmUUID": oddText(r), "vmId": oddText(r),
			"dedicatedHost": map[string]any{"id": oddText(r)}, "conditions": list(condition)},
		"instanceState": oddText(r), "instanceID": oddText(r), "vmState": oddText(r), "vmUUID": oddText(r), "ready": r.IntN(2) == 0,
		"replicas": r.Int64N(3), "readyReplicas": r.Int64N(3), "expectedMachines": r.Int64N(3), "currentHealthy": r.Int64N(3), "remediationsAllowed": r.Int64N(3) - 1,
	}
	for k := range out {
		switch {
		case r.IntN(6) == 0:
			delete(out, k)
		case wild && r.IntN(6) == 0:
			out[k] = oddValue(r)
		}
	}
	return out
}

// statusSchemas validates statuses as the API server does.
type statusSchemas map[schema.GroupKind]validation.SchemaValidator

func readStatusSchemas(t *testing.T) statusSchemas {
	t.Helper()
	var names []string
	for _, kit := range platformstest.Kits() {
		names = append(names, kit.Platform.Name)
	}
	crds, err := embedded.CRDs(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	out := statusSchemas{}
	for _, crd := range crds {
		i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
		status, has := crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["status"]
		if !has {
			continue
		}
		var in apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&status, &in, nil); err != nil {
			t.Fatal(err)
		}
		validator, _, err := validation.NewSchemaValidator(&in)
		if err != nil {
			t.Fatal(err)
		}
		out[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = validator
	}
	return out
}

// refuses lists the schema's errors for a status, once its conditions have a time, which the reporter adds.
func (s statusSchemas) refuses(t *testing.T, group, kind string, status map[string]any) (out []string) {
	t.Helper()
	of, ok := s[schema.GroupKind{Group: group, Kind: kind}]
	if !ok {
		t.Fatalf("no CRD of %s in %s", kind, group)
	}
	if len(status) == 0 {
		return nil // no patch
	}
	seen := map[any]bool{}
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		one, _ := c.(map[string]any)
		if one["lastTransitionTime"] == nil {
			one["lastTransitionTime"] = "2026-01-01T00:00:00Z"
		}
		if seen[one["type"]] {
			out = append(out, fmt.Sprintf("%s: the condition %v is there twice", kind, one["type"]))
		}
		seen[one["type"]] = true
	}
	for _, e := range of.Validate(status).Errors {
		text := e.Error()
		out = append(out, kind+": "+text[:min(300, len(text))])
	}
	return out
}

// TestNoStatusIsRefused: the API server accepts the mirror's status for any status. A status is written whole, so one text that is too long would block
// everything else that others read there.
func TestNoStatusIsRefused(t *testing.T) {
	schemas := readStatusSchemas(t)
	seed := conversiontest.Seed(t)
	for n, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			r, env := rand.New(rand.NewPCG(seed, uint64(n))), kit.Env()
			for i := range stories.Times(30, 150) {
				from := &unstructured.Unstructured{Object: map[string]any{
					"spec":   map[string]any{"providerID": []any{kit.ProviderID("a"), "", "x", "odd://", int64(1)}[r.IntN(5)]},
					"status": oddStatus(r, i%2 == 0),
				}}
				infra := &unstructured.Unstructured{Object: map[string]any{"spec": from.Object["spec"], "status": oddStatus(r, i%2 == 0)}}
				for _, kind := range []string{"Machine", "MachineSet", "MachineHealthCheck"} {
					coreStatus, infraStatus := core.StatusToClusterAPI(kind, from, env)
					problems := append(schemas.refuses(t, "cluster.x-k8s.io", kind, coreStatus),
						schemas.refuses(t, kit.Platform.InfraMachine.Group, kit.Platform.InfraMachine.Kind, infraStatus)...)
					back := core.StatusToMachineAPI(kind, core.Twin{Core: from, Infra: infra}, env)
					problems = append(problems, schemas.refuses(t, "machine.openshift.io", kind, back)...)
					if len(problems) > 0 {
						raw, _ := json.Marshal(from.Object) // unstructured content is JSON
						t.Fatalf("%s\nof %.2000s", strings.Join(problems, "\n"), raw)
					}
				}
			}
		})
	}
}
