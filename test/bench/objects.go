// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// surroundings are what a conversion reads of the cluster.
func surroundings(namespace string) []client.Object {
	return []client.Object{
		object(`{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster},
			spec: {platformSpec: {type: AWS, aws: {}}},
			status: {infrastructureName: bench-1, controlPlaneTopology: HighlyAvailable, infrastructureTopology: HighlyAvailable,
			  apiServerURL: "https://api.example.com:6443", apiServerInternalURI: "https://api-int.example.com:6443", etcdDiscoveryDomain: "",
			  platform: AWS, platformStatus: {type: AWS, aws: {region: us-east-1}}}}`),
		object(fmt.Sprintf(`{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster,
			metadata: {name: bench-1, namespace: %s-twins}, spec: {region: us-east-1}}`,
			namespace)),
		object(fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: bench-1, namespace: %s-twins},
			spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: bench-1}}}`, namespace)),
	}
}

func machine(namespace string, i int) *unstructured.Unstructured {
	return object(fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine,
		metadata: {name: m-%05d, namespace: %s, finalizers: [%s],
		  labels: {machine.openshift.io/cluster-api-cluster: bench-1,
		  machine.openshift.io/cluster-api-machine-role: worker, machine.openshift.io/cluster-api-machine-type: worker}},
		spec: {authoritativeAPI: MachineAPI, providerID: "aws:///us-east-1a/i-%017d", providerSpec: {value: {
		  apiVersion: machine.openshift.io/v1beta1, kind: AWSMachineProviderConfig, ami: {id: ami-0f3c7d07486cad139}, instanceType: m6i.large,
		  iamInstanceProfile: {id: bench-1-worker-profile}, credentialsSecret: {name: aws-cloud-credentials},
		  userDataSecret: {name: worker-user-data}, deviceIndex: 0,
		  placement: {region: us-east-1, availabilityZone: us-east-1a}, subnet: {filters: [{name: "tag:Name", values: [bench-1-subnet-private-us-east-1a]}]},
		  securityGroups: [{filters: [{name: "tag:Name", values: [bench-1-node]}]}, {filters: [{name: "tag:Name", values: [bench-1-lb]}]}],
		  blockDevices: [{ebs: {encrypted: true, volumeSize: 120, volumeType: gp3}}], tags: [{name: kubernetes.io/cluster/bench-1, value: owned}]}}}}`,
		i, namespace, authority.SyncFinalizer, i))
}

func mirror(namespace string, i int) *unstructured.Unstructured {
	return object(fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine,
		metadata: {name: m-%05d, namespace: %s, annotations: {%s: ""}, finalizers: [%s]},
		spec: {clusterName: bench-1, bootstrap: {dataSecretName: worker-user-data},
		  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: m-%05d}}}`,
		i, namespace, authority.PausedAnnotation, authority.SyncFinalizer, i))
}

// object reads a flow-style manifest of this file.
func object(text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(fmt.Sprintf("%v in\n%s", err, text)) // our own text
	}
	return o
}

func noopWebhook(server *httptest.Server) client.Object {
	rule, selector := machinesIn(noop, admissionregistrationv1.Update)
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-noop"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "noop.example.com", Rules: []admissionregistrationv1.RuleWithOperations{rule}, NamespaceSelector: selector,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: ptr.To(server.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			FailurePolicy: ptr.To(admissionregistrationv1.Fail), SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// celPolicy looks for the twin among all twins: with params, each object of their kind is tried in turn.
func celPolicy() client.Object {
	rule, selector := machinesIn(params, admissionregistrationv1.Update)
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-params"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			ParamKind:     &admissionregistrationv1.ParamKind{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine"},
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: selector,
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: `params.metadata.name != object.metadata.name || !has(params.metadata.annotations) || "` + authority.PausedAnnotation +
					`" in params.metadata.annotations`,
				Message: "the twin is not paused",
			}},
		},
	}
}

func celBinding() client.Object {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-params"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        "bench-params",
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			ParamRef: &admissionregistrationv1.ParamRef{
				Namespace: params + "-twins", Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: ptr.To(admissionregistrationv1.DenyAction),
			},
		},
	}
}
