// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/corpustest"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

// runs is how many objects of each kind -long makes up for each platform and direction.
const runs = 40

// TestWhatIsConvertedIsAccepted: no API server refuses what the conversions make, and what it fills in changes nothing on the way back.
func TestWhatIsConvertedIsAccepted(t *testing.T) {
	embedded.LeaveOut(t)
	seed := conversiontest.Seed(t)
	server := start(t)
	for n, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			c := cluster{server, kit, kit.Env()}
			t.Run("the cluster's own objects", c.itself)
			t.Run("the kit's providerSpec", func(t *testing.T) { c.goes(t, machineAPIObject("MachineSet", kit.ProviderSpec)) })
			t.Run("the corpus", c.corpus)
			for _, kind := range []string{"Machine", "MachineSet"} {
				for i := range stories.Times(5, runs) {
					t.Run(fmt.Sprintf("%s to Cluster API/%d", kind, i), func(t *testing.T) { c.goes(t, machineAPIObject(kind, content(t, kit.AnyProviderSpec(r)))) })
					t.Run(fmt.Sprintf("%s to Machine API/%d", kind, i), func(t *testing.T) { c.comes(t, kind, content(t, kit.AnyInfraSpec(r))) })
				}
			}
		})
	}
}

// start is an API server with the CRDs of every platform.
func start(t *testing.T) client.Client {
	t.Helper()
	var names []string
	for _, kit := range platformstest.Kits() {
		names = append(names, kit.Platform.Name)
	}
	crds, err := embedded.CRDs(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	plane := embedded.ForTest(t, embedded.Options{CRDs: crds, Out: os.Stderr})
	config := plane.Admin()
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{machineAPI, clusterAPI} {
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

const (
	machineAPI = "openshift-machine-api"
	clusterAPI = "openshift-cluster-api"
)

// cluster is one on a platform.
type cluster struct {
	client.Client
	kit conversiontest.Kit
	env conversion.Env
}

// itself: a kit describes a possible cluster.
func (c cluster) itself(t *testing.T) {
	c.stored(t, object("config.openshift.io/v1", "Infrastructure", "", "cluster", c.kit.Infrastructure["spec"]))
	infra := c.kit.Platform.InfraCluster
	c.stored(t, object(infra.GroupVersion().String(), infra.Kind, clusterAPI, c.env.ClusterName, c.kit.InfraCluster))
}

// corpus has the objects go that installations have, each in its own cluster. What does not go is as possible as the rest.
func (c cluster) corpus(t *testing.T) {
	folder := "../../conversion/platforms/testdata/corpus/" + strings.ToLower(c.kit.Platform.Name)
	in := func(of corpustest.Case) cluster { return cluster{c.Client, c.kit, of.Cluster.Env(t)} }
	for text, of := range corpustest.Moving(t, folder) {
		t.Run(text, func(t *testing.T) {
			in(of).around(t)
			in(of).goes(t, of.Object)
		})
	}
	stored, unstored := corpustest.Refused(t, folder)
	for text, of := range stored {
		t.Run(text, func(t *testing.T) {
			in(of).around(t)
			c.stored(t, of.Object)
		})
	}
	for text, of := range unstored {
		t.Run(text, func(t *testing.T) {
			if err := c.Create(t.Context(), of.Object, client.DryRunAll); err == nil {
				t.Error("the API server takes it")
			}
		})
	}
}

// around is what the API server must accept of the objects around a machine: a message's command may have changed them.
func (c cluster) around(t *testing.T) {
	c.stored(t, object("config.openshift.io/v1", "Infrastructure", "", "cluster", c.env.Infrastructure["spec"]))
	infra := c.kit.Platform.InfraCluster
	o := object(infra.GroupVersion().String(), infra.Kind, clusterAPI, c.env.ClusterName, c.env.InfraCluster["spec"])
	status, has := c.env.InfraCluster["status"]
	if !has {
		c.stored(t, o)
		return
	}
	if err := c.Create(t.Context(), o, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Fatalf("the API server refuses it: %v\n%s", err, text(t, o))
	}
	defer func() {
		if err := c.Delete(t.Context(), o); err != nil {
			t.Error(err)
		}
	}()
	patched := o.DeepCopy()
	patched.Object["status"] = status
	if err := c.Status().Patch(t.Context(), patched, client.MergeFrom(o), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Errorf("the API server refuses its status: %v\n%s", err, text(t, patched))
	}
}

// goes converts a Machine API object, has its twin accepted, and wants the same of it that it was made from.
func (c cluster) goes(t *testing.T, o *unstructured.Unstructured) {
	kind, from := o.GetKind(), c.stored(t, o)
	made := c.toClusterAPI(t, kind, from)
	there := core.Twin{Core: c.stored(t, made.Core), Infra: c.stored(t, made.Infra)}
	back := c.toMachineAPI(t, kind, there)
	same(t, "what the API server fills in is lost on the way back, and nothing else is added", c.toMachineAPI(t, kind, made), back)
	again := c.toClusterAPI(t, kind, back)
	same(t, "the Cluster API object that comes of the one that went and came back", made.Core, again.Core)
	same(t, "the infrastructure object that comes of the one that went and came back", made.Infra, again.Infra)
	c.stored(t, back)
}

// comes converts a Cluster API object, has its twin accepted, and wants nothing else to come of that.
func (c cluster) comes(t *testing.T, kind string, infraSpec map[string]any) {
	from := c.twin(t, kind, infraSpec)
	made := c.toMachineAPI(t, kind, from)
	there := c.stored(t, made)
	again := c.toClusterAPI(t, kind, there)
	defaulted := core.Twin{Core: c.stored(t, again.Core), Infra: c.stored(t, again.Infra)}
	same(t, "the Machine API object that comes of the one that went and came back", made, c.toMachineAPI(t, kind, defaulted))
}

func (c cluster) toClusterAPI(t *testing.T, kind string, o *unstructured.Unstructured) core.Twin {
	t.Helper()
	twin, errs := core.ToClusterAPI(kind, o, c.env)
	if len(errs) > 0 {
		t.Fatalf("what can go was refused: %v\n%s", errs.ToAggregate(), text(t, o))
	}
	return twin
}

func (c cluster) toMachineAPI(t *testing.T, kind string, twin core.Twin) *unstructured.Unstructured {
	t.Helper()
	o, errs := core.ToMachineAPI(kind, twin, c.env)
	if len(errs) > 0 {
		t.Fatalf("what can come was refused: %v\n%s\n%s", errs.ToAggregate(), text(t, twin.Core), text(t, twin.Infra))
	}
	return o
}

// stored is the object as the API server would store it, defaults filled in.
func (c cluster) stored(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	out := o.DeepCopy()
	if err := c.Create(t.Context(), out, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Fatalf("the API server refuses it: %v\n%s", err, text(t, o))
	}
	return out
}

// twin is a Cluster API object and its infrastructure object, as the API server would store them.
func (c cluster) twin(t *testing.T, kind string, infraSpec map[string]any) core.Twin {
	t.Helper()
	resource, providerID := c.kit.Platform.InfraMachine, infraSpec["providerID"]
	spec := map[string]any{}
	if zone := c.zone(t); zone != "" {
		spec["failureDomain"] = zone
	}
	if kind == "MachineSet" {
		// A template is of no instance.
		delete(infraSpec, "providerID")
		delete(infraSpec, "instanceID")
		resource, infraSpec = c.kit.Platform.InfraMachineTemplate, map[string]any{"template": map[string]any{"spec": infraSpec}}
	} else if providerID != nil {
		spec["providerID"] = providerID
	}
	spec["clusterName"], spec["bootstrap"] = c.env.ClusterName, map[string]any{"dataSecretName": "worker-user-data"}
	spec["infrastructureRef"] = map[string]any{"apiGroup": resource.Group, "kind": resource.Kind, "name": "x"}
	if kind == "MachineSet" {
		labels := map[string]any{"set": "x"}
		spec = map[string]any{
			"clusterName": c.env.ClusterName, "replicas": int64(1), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": spec},
		}
	}
	return core.Twin{
		Core:  c.stored(t, object("cluster.x-k8s.io/v1beta2", kind, clusterAPI, "x", spec)),
		Infra: c.stored(t, object(resource.GroupVersion().String(), resource.Kind, clusterAPI, "x", infraSpec)),
	}
}

// zone is where the kit's own worker is, on platforms that have zones.
func (c cluster) zone(t *testing.T) string {
	t.Helper()
	zone, _, err := unstructured.NestedString(c.toClusterAPI(t, "Machine", machineAPIObject("Machine", c.kit.ProviderSpec)).Core.Object, "spec", "failureDomain")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func machineAPIObject(kind string, providerSpec map[string]any) *unstructured.Unstructured {
	spec := map[string]any{"providerSpec": map[string]any{"value": providerSpec}}
	if kind == "MachineSet" {
		labels := map[string]any{"machine.openshift.io/cluster-api-machineset": "x"}
		spec = map[string]any{
			"replicas": int64(1), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": spec},
		}
	}
	return object("machine.openshift.io/v1beta1", kind, machineAPI, "x", spec)
}

func object(apiVersion, kind, namespace, name string, spec any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}}
	if namespace != "" {
		o.SetNamespace(namespace)
	}
	return o
}

// content is a typed value as the JSON that a person would send.
func content(t *testing.T, typed any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"apiVersion":"v1","kind":"X","spec":`+string(raw)+`}`), o); err != nil {
		t.Fatal(err)
	}
	return o.Object["spec"].(map[string]any)
}

func same(t *testing.T, what string, want, got *unstructured.Unstructured) {
	t.Helper()
	if d := cmp.Diff(want.Object, got.Object); d != "" {
		t.Errorf("%s (-first +second):\n%s", what, d)
	}
}

func text(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	raw, err := json.MarshalIndent(o.Object, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
