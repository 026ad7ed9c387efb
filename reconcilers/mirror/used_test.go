// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// A ControlPlaneMachineSet may refer to the template of a MachineSet's mirror, which then stays when the MachineSet has another one.
func TestATemplateThatTheControlPlaneRefersToStays(t *testing.T) {
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
