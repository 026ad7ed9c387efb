// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/controlplanetemplate"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// controlPlane is a ControlPlaneMachineSet in a cluster. All fields but Says are merge patches.
type controlPlane struct {
	Domains json.RawMessage `json:"domains"`
	Spec    json.RawMessage `json:"spec"`
	Cluster json.RawMessage `json:"cluster"`
	// There are the failure domains of the set for Cluster API, whose template has no place for the zone of a providerSpec.
	There  json.RawMessage `json:"there"`
	Says   []string        `json:"says"`
	Remedy *controlPlane   `json:"remedy"`
}

// controlPlanes are those of a folder.
type controlPlanes struct {
	Each    map[string]any          `json:"each"`
	Cluster json.RawMessage         `json:"cluster"`
	Moves   map[string]controlPlane `json:"moves"`
	Refused map[string]controlPlane `json:"refused"`
}

// madeFor is a set's failure domains, the providerSpec of its template, and its cluster.
type madeFor struct {
	domains, spec, there map[string]any
	cluster              corpus
}

func (m madeFor) with(t *testing.T, v controlPlane) madeFor {
	t.Helper()
	var out madeFor
	merge(t, m.domains, v.Domains, &out.domains)
	merge(t, m.there, v.There, &out.there)
	merge(t, m.spec, v.Spec, &out.spec)
	merge(t, m.cluster, v.Cluster, &out.cluster)
	return out
}

func (m madeFor) labels() map[string]any {
	const prefix = "machine.openshift.io/cluster-api-"
	return map[string]any{prefix + "cluster": "prod-x7k2p", prefix + "machine-role": "master", prefix + "machine-type": "master"}
}

// set is the ControlPlaneMachineSet, with one of the union's members and its spec.
func (m madeFor) set(t *testing.T, member string, spec map[string]any) []byte {
	t.Helper()
	template := map[string]any{"metadata": map[string]any{"labels": m.labels()}, "spec": spec}
	if len(m.domains) > 0 {
		template["failureDomains"] = m.domains
	} else if len(m.there) > 0 && member == string(controlplane.ClusterAPIMember) {
		template["failureDomains"] = m.there
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "machine.openshift.io/v1", "kind": "ControlPlaneMachineSet", "metadata": map[string]any{"name": "cluster", "namespace": "openshift-machine-api"},
		"spec": map[string]any{
			"replicas": 3, "state": "Active", "selector": map[string]any{"matchLabels": m.labels()},
			"template": map[string]any{"machineType": member, member: template},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (m madeFor) machineAPI(t *testing.T) *machinev1.ControlPlaneMachineSet {
	t.Helper()
	out := &machinev1.ControlPlaneMachineSet{}
	raw := m.set(t, string(controlplane.MachineAPIMember), map[string]any{"providerSpec": map[string]any{"value": m.spec}})
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// get reads the cluster, with a template.
func (m madeFor) get(template *unstructured.Unstructured) func(schema.GroupVersionKind, string, string) (*unstructured.Unstructured, error) {
	return func(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
		switch {
		case kind.Kind == "Infrastructure":
			return &unstructured.Unstructured{Object: m.cluster.Infrastructure}, nil
		case kind.Kind == template.GetKind() && name == template.GetName() && namespace == "openshift-cluster-api":
			return template, nil
		case strings.HasSuffix(kind.Kind, "Cluster") && name == "prod-x7k2p":
			return &unstructured.Unstructured{Object: m.cluster.InfraCluster}, nil
		}
		return nil, nil
	}
}

// goes converts a set to Cluster API's template and back, and each of its Machines too.
func (m madeFor) goes(t *testing.T) {
	t.Helper()
	env, of, infrastructure := m.cluster.Env(t), m.machineAPI(t), &configv1.Infrastructure{}
	template, errs := controlplanetemplate.Reflect(of, env)
	if len(errs) > 0 {
		t.Fatalf("it cannot go: %v", errs.ToAggregate())
	}
	kind, secret := env.Platform.InfraMachineTemplate, "master-user-data"
	there := m.set(t, string(controlplane.ClusterAPIMember), map[string]any{
		"infrastructureRef": map[string]any{"apiGroup": kind.Group, "kind": kind.Kind, "name": template.GetName()}, "bootstrap": map[string]any{"dataSecretName": secret},
	})
	template.SetGroupVersionKind(kind.GroupVersionKind)
	pair := authority.Pair{MachineAPI: "openshift-machine-api", ClusterAPI: "openshift-cluster-api"}
	resolve := func(set []byte) (controlplane.Resolved, error) {
		account := func(conversion.Platform, map[string]any) (string, error) { return env.Account, nil }
		return controlplanetemplate.Resolve(m.get(template), account, pair, set)
	}
	got, err := resolve(there)
	if err != nil || len(got.Unresolved) > 0 {
		t.Fatalf("it cannot come back: %v, %v", got.Unresolved.ToAggregate(), err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.cluster.Infrastructure, infrastructure); err != nil {
		t.Fatal(err)
	}
	where, errs := controlplane.Places(of, infrastructure)
	if domains, _ := m.domains[strings.ToLower(env.Platform.Name)].([]any); len(errs) > 0 || len(where) != max(1, len(domains)) {
		t.Fatalf("it is in %d places: %v", len(where), errs.ToAggregate())
	}
	for i, at := range where {
		raw, err := json.Marshal(at.ProviderSpec)
		if err != nil {
			t.Fatal(err)
		}
		machine := machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "prod-x7k2p-master-0", Labels: of.Spec.Template.OpenShiftMachineV1Beta1Machine.ObjectMeta.Labels}}
		machine.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: raw}
		plan := controlplane.Make(controlplane.View{Set: got.Set, Infrastructure: infrastructure, Machines: []machinev1beta1.Machine{machine}})
		for _, index := range plan.Indexes {
			for _, m := range index.Machines {
				if !m.Updated() {
					t.Errorf("in place %d (%s) the set would replace a Machine of its own: %v", i, at.Domain, m.Differences)
				}
			}
		}
		moves(t, m.cluster, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
			"metadata": map[string]any{"name": "prod-x7k2p-master-0", "namespace": "openshift-machine-api", "labels": m.labels()},
			"spec":     map[string]any{"lifecycleHooks": map[string]any{}, "metadata": map[string]any{}, "providerSpec": map[string]any{"value": at.ProviderSpec}},
		}})
	}
}

// The template of a ControlPlaneMachineSet with a failure domain is a Machine's. With each of them it converts to Cluster API, and the set that refers to the
// result makes the same Machines; or the error says why not, and it converts after the remedy.
func TestControlPlaneMachineSetsOfInstallations(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*/controlplane/sets.yaml")
	if err != nil || len(files) != len(platforms.List()) {
		t.Fatalf("%d platforms have one, of %d: %v", len(files), len(platforms.List()), err)
	}
	for _, file := range files {
		folder := filepath.Dir(filepath.Dir(file))
		t.Run(filepath.Base(folder), func(t *testing.T) {
			var all controlPlanes
			base := madeFor{}
			load(t, file, &all)
			load(t, filepath.Join(folder, "cluster.yaml"), &base.cluster)
			base.spec, base.domains, base.there = all.Each, map[string]any{}, map[string]any{}
			base = base.with(t, controlPlane{Cluster: all.Cluster})
			for sentence, v := range all.Moves {
				t.Run(sentence, func(t *testing.T) { base.with(t, v).goes(t) })
			}
			for sentence, v := range all.Refused {
				t.Run(sentence, func(t *testing.T) {
					m := base.with(t, v)
					if _, errs := controlplanetemplate.Reflect(m.machineAPI(t), m.cluster.Env(t)); !said(errs, v.Says) {
						t.Errorf("it says:\n%v\nand not, word by word,\n%s", errs.ToAggregate(), strings.Join(v.Says, "\n"))
					}
					if v.Remedy != nil {
						m.with(t, *v.Remedy).goes(t)
					}
				})
			}
		})
	}
}
