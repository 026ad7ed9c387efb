// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// inClusterAPIsWords returns a patch that gives a set the template of Cluster API, which names an infrastructure machine template.
func inClusterAPIsWords(more, template string) string {
	return fmt.Sprintf(`{"spec":{%s"template":{"machineType":"machines_v1beta2_cluster_x_k8s_io","machines_v1beta1_machine_openshift_io":null,"machines_v1beta2_cluster_x_k8s_io":{
		"failureDomains":{"platform":"AWS","aws":[{"placement":{"availabilityZone":"eu-west-1a"},"subnet":{"type":"ID","id":"subnet-a"}},{"placement":{"availabilityZone":"eu-west-1b"},"subnet":{"type":"ID","id":"subnet-b"}},{"placement":{"availabilityZone":"eu-west-1c"},"subnet":{"type":"ID","id":"subnet-c"}}]},
		"metadata":{"labels":{"machine.openshift.io/cluster-api-cluster":"x","machine.openshift.io/cluster-api-machine-role":"master","machine.openshift.io/cluster-api-machine-type":"master"}},
		"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"AWSMachineTemplate","name":%q},"bootstrap":{"dataSecretName":"master-user-data"}}}}}}`, more, template)
}

// controlPlaneAuthority is the warning for a user who moves a set to Cluster API.
func controlPlaneAuthority(t *testing.T, p *place) {
	check := func(words ...string) []string { return words }
	const request, both = `{"spec":{"authoritativeAPI":"ClusterAPI"}}`, `"authoritativeAPI":"ClusterAPI",`
	p.patches(t, false, request, check("AWSCluster c/x does not exist", "status.authoritativeAPI of the set is "+
		"empty", "[controlplane/request-warning]"), "--dry-run=server")
	p.create(t, p.admin, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSCluster
metadata: {namespace: c, name: x}
spec: {region: eu-west-1, controlPlaneLoadBalancer: {name: int, loadBalancerType: nlb}}`)
	p.patches(t, false, request, check("this request moves the ControlPlaneMachineSet, but not its Machines",
		"Cluster API will be authoritative for new Machines",
		"While status.authoritativeAPI of the set is Migrating, no Machine is replaced"), "--dry-run=server")
	p.patches(t, false, `{"spec":{"authoritativeAPI":"ClusterAPI","template":{"machines_v1beta1_machine_openshift_io":{"spec":{"providerSpec":{"value":{"deviceIndex":2}}}}}}}`,
		check("spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value.deviceIndex: Cluster API cannot express this, so the move will not "+
			"start"),
		"--dry-run=server")

	p.patches(t, true, inClusterAPIsWords("", "cluster-0123abcd"), check("spec.template.machineType", "patch controlplanemachinesets.machine.openshift.io "+
		"cluster",
		"[controlplane/authority]"))
	p.patches(t, false, inClusterAPIsWords(both, "cluster-0123abcd"), check(`this will do nothing until this problem is fixed`,
		`machines_v1beta2_cluster_x_k8s_io.spec.infrastructureRef: Required value: AWSMachineTemplate "cluster-0123abcd" does not exist`), "--dry-run=server")
	p.create(t, p.admin, `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {namespace: c, name: cluster-0123abcd, annotations: {poundlock.openshift.io/mirror-of: ControlPlaneMachineSet/cluster}}
spec: {template: {spec: {ami: {id: ami-1}, instanceType: m6i.4xlarge, ignition: {version: "3.4", storageType: UnencryptedUserData}}}}`)
	p.patches(t, false, inClusterAPIsWords(both, "cluster-0123abcd"), check("this will replace 3 of 3 control plane Machines, one at a time: x-master-0 (",
		"instanceType m6i.xlarge → m6i.4xlarge"), "--dry-run=server")

	set, template := machinev1.GroupVersion.WithKind(controlplane.Kind), platforms.List()[0].InfraMachineTemplate.GroupVersionKind
	o := toward(template, "c", "cluster-0123abcd")
	denied(t, p.admin.Patch(t.Context(), o, merge(`{"spec":{"template":{"spec":{"instanceType":"t3.micro"}}}}`)), "authority/infra-locked",
		"spec.template.spec.instanceType")
	p.patchStatus(t, set, "m", "cluster", `{"status":{"replicas":3}}`)
	s := toward(set, "m", "cluster")
	p.must(t, p.admin.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	if status, _ := s.Object["status"].(map[string]any); status["authoritativeAPI"] != "MachineAPI" {
		t.Errorf("whoever writes status first does not store the authority: %v", status)
	}
	denied(t, p.admin.Status().Patch(t.Context(), toward(set, "m", "cluster"), merge(`{"status":{"authoritativeAPI":"Migrating"}}`)), "authority/status-owned",
		"status.authoritativeAPI")
	p.must(t, p.poundlock.Status().Patch(t.Context(), toward(set, "m", "cluster"),
		merge(`{"status":{"authoritativeAPI":"Migrating","synchronizedAPI":"MachineAPI"}}`)))
	p.must(t, p.poundlock.Status().Patch(t.Context(), toward(set, "m", "cluster"),
		merge(`{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`)))
	p.patches(t, false, inClusterAPIsWords(both, "cluster-0123abcd"), check("this will replace 3 of 3"))
	p.must(t, p.admin.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	s.Object["status"] = map[string]any{"replicas": int64(2)} // as OpenShift's operator sends it: its type lacks the fields
	p.must(t, p.admin.Status().Update(t.Context(), s))
	if status, _ := s.Object["status"].(map[string]any); status["authoritativeAPI"] != "ClusterAPI" || status["synchronizedAPI"] != "ClusterAPI" ||
		status["replicas"] != int64(2) {
		t.Errorf("an operator that knows no authoritativeAPI replaces status: %v", status)
	}
	p.patches(t, true, `{"spec":{"authoritativeAPI":"MachineAPI"}}`,
		check("spec.authoritativeAPI", "change the template to the type machines_v1beta1_machine_openshift_io in the same request", "[controlplane/authority]"))
	p.must(t, p.admin.Patch(t.Context(), o, merge(`{"spec":{"template":{"spec":{"instanceType":"m6i.8xlarge"}}}}`)))
	p.prints(t, false, "", check("Cluster API's Machines and infrastructure templates stay",
		"[controlplane/delete]"), "delete", cpms, "cluster", "--dry-run=server")
}
