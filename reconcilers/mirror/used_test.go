// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// A ControlPlaneMachineSet may refer to the template of a MachineSet's mirror, which then stays when the MachineSet has another one.
func TestATemplateThatTheControlPlaneRefersToStays(t *testing.T) {
	stories.Long(t)
	w := twinsWorld(t)
	sets := &twins{w, authority.Kinds()[1]}
	sets.adopt(t, "shared", authority.MachineAPI)
	sets.mirrored(t, "shared", 0)
	edit := func(instanceType string) (before *unstructured.Unstructured) {
		before = w.template(t, "shared")
		w.patch(t, sets.mapi(t, "shared"), "", fmt.Sprintf(`{"spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":%q}}}}}}`, instanceType))
		w.eventually(t, "another template", func() string {
			if now := w.template(t, "shared"); now == nil || now.GetName() == before.GetName() {
				return show(now)
			}
			return w.unsynced(t, sets.kind.MachineAPIGVK(), "shared")
		})
		w.quietFor(t, 5)
		return before
	}
	shared := w.template(t, "shared").GetName()
	w.make(t, fmt.Sprintf(`
apiVersion: machine.openshift.io/v1
kind: ControlPlaneMachineSet
metadata: {name: cluster, namespace: openshift-machine-api}
spec:
  authoritativeAPI: ClusterAPI
  replicas: 3
  selector: {matchLabels: {machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master}}
  template:
    machineType: machines_v1beta2_cluster_x_k8s_io
    machines_v1beta2_cluster_x_k8s_io:
      metadata: {labels: {machine.openshift.io/cluster-api-machine-role: master, machine.openshift.io/cluster-api-machine-type: master, machine.openshift.io/cluster-api-cluster: lock-7x2k9}}
      spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: %s}, bootstrap: {dataSecretName: master-user-data}}
`, shared))
	edit("m6i.4xlarge")
	if w.get(t, awsTemplate, capi, shared) == nil {
		t.Error("the template that the control plane's set refers to was deleted")
	}
	if next := edit("m6i.8xlarge"); w.get(t, awsTemplate, capi, next.GetName()) != nil {
		t.Error("a template that nothing refers to is left")
	}
}

// A MachineSet or a MachineDeployment of Cluster API's may refer to the template of a set's mirror. It stays when that set is deleted, and goes with the last
// reference.
func TestATemplateThatAnotherSetRefersToGoesWithIt(t *testing.T) {
	stories.Long(t)
	w := twinsWorld(t)
	sets := &twins{w, authority.Kinds()[1]}
	remove := func(t *testing.T, o *unstructured.Unstructured) {
		if err := w.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(t *testing.T, gvk schema.GroupVersionKind, name string) {
		w.eventually(t, "a deletion", func() string {
			o := w.get(t, gvk, capi, name)
			if o == nil {
				return ""
			}
			if slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) { // there is no collector here
				w.patch(t, o, "", `{"metadata":{"finalizers":null}}`)
			}
			return show(o)
		})
	}
	deleted := func(t *testing.T, borrower *unstructured.Unstructured) { remove(t, borrower) }
	replaced := func(t *testing.T, borrower *unstructured.Unstructured) {
		w.patch(t, borrower, "", `{"spec":{"template":{"spec":{"infrastructureRef":{"name":"of-its-own"}}}}}`)
	}
	for name, c := range map[string]struct {
		borrows string
		end     func(t *testing.T, borrower *unstructured.Unstructured)
	}{
		"lent-until-deleted":               {"MachineSet", deleted},
		"lent-until-replaced":              {"MachineSet", replaced},
		"lent-until-deployment-is-deleted": {"MachineDeployment", deleted},
		"lent-until-deployment-rolls-out":  {"MachineDeployment", replaced},
	} {
		t.Run(name, func(t *testing.T) {
			sets.adopt(t, name, authority.MachineAPI)
			sets.mirrored(t, name, 0)
			lent := w.template(t, name).GetName()
			borrower := w.make(t, fmt.Sprintf(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: %[3]s
metadata: {name: by-hand-%[1]s, namespace: openshift-cluster-api}
spec:
  clusterName: lock-7x2k9
  replicas: 0
  selector: {matchLabels: {by-hand: %[1]s}}
  template:
    metadata: {labels: {by-hand: %[1]s}}
    spec:
      clusterName: lock-7x2k9
      bootstrap: {dataSecretName: worker-user-data}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: %[2]s}
`, name, lent, c.borrows))
			remove(t, sets.mapi(t, name))
			gone(t, sets.kind.ClusterAPIGVK(), name)
			w.quietFor(t, 5)
			if w.get(t, awsTemplate, capi, lent) == nil {
				t.Fatal("the template that another object refers to was deleted")
			}
			c.end(t, borrower)
			gone(t, awsTemplate, lent)
		})
	}
}
