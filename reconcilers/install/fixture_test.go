// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/poundlock/poundlock/bundle"
)

const metadataYAML = `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries: [{major: 1, minor: 0, contract: v1beta1}, {major: 1, minor: 1, contract: v1beta1}]
`

// manifests are those of a small provider with something in each stage. NAME is its name.
const manifests = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: NAME-priority}
value: 1000
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: NAMEthings.infrastructure.cluster.x-k8s.io
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: NAMEThing, listKind: NAMEThingList, plural: NAMEthings, singular: NAMEthing}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME-manager, namespace: openshift-cluster-api}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-settings, namespace: openshift-cluster-api, labels: {cluster.x-k8s.io/provider: NAME}}
data: {mode: "${NAME_MODE:=quiet}"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME-manager}
rules:
- {apiGroups: [infrastructure.cluster.x-k8s.io], resources: [NAMEthings], verbs: ["*"]}
- {apiGroups: [""], resources: [secrets], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME-manager}
subjects: [{kind: ServiceAccount, name: NAME-manager, namespace: openshift-cluster-api}]
---
apiVersion: v1
kind: Service
metadata:
  name: NAME-webhook
  namespace: openshift-cluster-api
  annotations: {service.beta.openshift.io/serving-cert-secret-name: NAME-cert}
spec:
  selector: {app: NAME}
  ports: [{port: 443, targetPort: 9443}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME-keeps}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [nothing.example], apiVersions: [v1], operations: [DELETE], resources: [things]}]}
  validations: [{expression: "true"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME-keeps}
spec: {policyName: NAME-keeps, validationActions: [Deny]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME-manager, namespace: openshift-cluster-api}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      serviceAccountName: NAME-manager
      containers:
      - name: manager
        image: registry.invalid/NAME:injected
        resources: {requests: {cpu: 1000m, memory: 64Mi}}
        env: [{name: MODE, value: x}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: NAME-validating
  annotations: {service.beta.openshift.io/inject-cabundle: "true"}
webhooks:
- name: one.NAME.example.com
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: NAME-webhook, namespace: openshift-cluster-api, path: /one}}
  rules: [{apiGroups: [nothing.example], apiVersions: [v1], operations: [CREATE], resources: [ones]}]
- name: two.NAME.example.com
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: NAME-webhook, namespace: openshift-cluster-api, path: /two}}
  rules: [{apiGroups: [nothing.example], apiVersions: [v1], operations: [CREATE], resources: [twos]}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1
kind: NAMEThing
metadata: {name: NAME-default, namespace: openshift-cluster-api}
spec: {a: 1}
`

// provider makes the ConfigMap of a small provider. edit changes its manifests.
func provider(t *testing.T, label, version string, edit ...func(string) string) *corev1.ConfigMap {
	t.Helper()
	return packed(t, bundle.Packing{}, label, version, edit...)[0]
}

// sharded makes the ConfigMaps of one, as if ConfigMaps took next to nothing.
func sharded(t *testing.T, label, version string, edit ...func(string) string) []*corev1.ConfigMap {
	t.Helper()
	const most = 2000
	shards := packed(t, bundle.Packing{Format: bundle.PlainText, Reserved: bundle.MaxConfigMap - most}, label, version, edit...)
	if len(shards) != 3 {
		t.Fatalf("%d shards, want 3", len(shards))
	}
	return shards
}

func packed(t *testing.T, p bundle.Packing, label, version string, edit ...func(string) string) []*corev1.ConfigMap {
	t.Helper()
	kind, name, _ := strings.Cut(label, "-")
	if label == "cluster-api" {
		kind, name = "core", label
	}
	of, err := bundle.Provider{Name: name, Type: bundle.Type(kind), Version: version}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	short := strings.ReplaceAll(name, "-", "")
	text := strings.ReplaceAll(strings.ReplaceAll(manifests, "NAME_MODE", strings.ToUpper(short)+"_MODE"), "NAME", short)
	for _, e := range edit {
		text = e(text)
	}
	documents, err := bundle.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b := bundle.Bundle{Provider: of, Metadata: []byte(metadataYAML), Documents: documents}
	for _, d := range documents {
		if d.IsWorkload() {
			b.Images = append(b.Images, bundle.Image{Kind: d.Kind(), Workload: d.Name(), Container: "manager", Key: short})
		}
	}
	bundle.Sort(b.Documents)
	all, err := b.Pack(p)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// without leaves out the document that has a text in it.
func without(text string) func(string) string {
	return func(all string) string {
		var kept []string
		for _, document := range strings.Split(all, "\n---\n") {
			if !strings.Contains(document, text) {
				kept = append(kept, document)
			}
		}
		return strings.Join(kept, "\n---\n")
	}
}

func replaced(old, now string) func(string) string {
	return func(all string) string {
		if !strings.Contains(all, old) {
			panic(fmt.Sprintf("%q is not in the manifests", old))
		}
		return strings.ReplaceAll(all, old, now)
	}
}

func imageOf(digit string) string { return "quay.io/example/image@sha256:" + strings.Repeat(digit, 64) }
