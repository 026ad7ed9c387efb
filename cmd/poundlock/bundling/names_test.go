// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/test/embedded"
)

// What a bundle refuses because of a name, a real API server refuses, too; and what that refuses because of a name, a bundle refuses.
func TestNamesAreTheAPIServers(t *testing.T) {
	embedded.LeaveOut(t)
	p := startPlane(t)
	const pods = `{selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: manager, image: a}]}}}`
	const webhooks = `webhooks: [{name: a.b.c, clientConfig: {url: "https://a.example/"}, sideEffects: None, admissionReviewVersions: [v1]}]`
	const role = `{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}`
	for kind, rest := range map[string]string{
		"v1 ConfigMap":                                                     "data: {a: b}",
		"v1 ServiceAccount":                                                "{}",
		"v1 Service":                                                       "spec: {ports: [{port: 443}]}",
		"v1 LimitRange":                                                    "spec: {limits: []}",
		"v1 ResourceQuota":                                                 "spec: {hard: {pods: 1}}",
		"v1 PersistentVolumeClaim":                                         "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
		"scheduling.k8s.io/v1 PriorityClass":                               "value: 1",
		"rbac.authorization.k8s.io/v1 ClusterRole":                         "rules: []",
		"rbac.authorization.k8s.io/v1 Role":                                "rules: []",
		"rbac.authorization.k8s.io/v1 RoleBinding":                         "roleRef: " + role,
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding":                  "roleRef: " + role,
		"networking.k8s.io/v1 NetworkPolicy":                               "spec: {podSelector: {}}",
		"networking.k8s.io/v1 Ingress":                                     "spec: {defaultBackend: {service: {name: a, port: {number: 1}}}}",
		"policy/v1 PodDisruptionBudget":                                    "spec: {minAvailable: 1}",
		"apps/v1 StatefulSet":                                              "spec: " + strings.Replace(pods, "{", "{serviceName: a, ", 1),
		"v1 ReplicationController":                                         "spec: " + strings.Replace(pods, "{matchLabels: {app: a}}", "{app: a}", 1),
		"v1 Endpoints":                                                     "subsets: []",
		"admissionregistration.k8s.io/v1 MutatingAdmissionPolicy":          `spec: {reinvocationPolicy: Never, matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: \"test\", path: \"/a\"}]"}}]}`,
		"admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding":   "spec: {policyName: a}",
		"apps/v1 Deployment":                                               "spec: " + pods,
		"apps/v1 DaemonSet":                                                "spec: " + pods,
		"apps/v1 ReplicaSet":                                               "spec: " + pods,
		"autoscaling/v2 HorizontalPodAutoscaler":                           "spec: {maxReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}",
		"coordination.k8s.io/v1 Lease":                                     "{}",
		"storage.k8s.io/v1 StorageClass":                                   "provisioner: a.b/c",
		"discovery.k8s.io/v1 EndpointSlice":                                "{addressType: IPv4, endpoints: []}",
		"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":     webhooks,
		"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration":   webhooks,
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":        `spec: {matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [{expression: "true"}]}`,
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": "spec: {policyName: a, validationActions: [Deny]}",
	} {
		for name, metadata := range map[string]string{
			"a sound name":                  `name: a-1`,
			"a name with a dot":             `name: a.b`,
			"capital letters":               `name: UPPER`,
			"an underscore":                 `name: a_b`,
			"a colon":                       `name: "system:a"`,
			"a slash":                       `name: a/b`,
			"a percent sign":                `name: a%b`,
			"a dash at the end":             `name: a-`,
			"two dots":                      `name: ".."`,
			"64 characters":                 `name: ` + strings.Repeat("a", 64),
			"254 characters":                `name: ` + strings.Repeat("a", 254),
			"a label value with a space":    `name: a-1, labels: {a: "b c"}`,
			"a label value of 64":           `name: a-1, labels: {a: ` + strings.Repeat("b", 64) + `}`,
			"a label that is a number":      `name: a-1, labels: {a: 1}`,
			"a label's key with a space":    `name: a-1, labels: {"a b": c}`,
			"a label's key with two /":      `name: a-1, labels: {a/b/c: d}`,
			"a label's key in capitals":     `name: a-1, labels: {A.b/c: d}`,
			"sound labels":                  `name: a-1, labels: {a.b/C_D: E_f.G, e: ""}`,
			"an annotation that is true":    `name: a-1, annotations: {a: true}`,
			"an annotation's key with a %":  `name: a-1, annotations: {a%: b}`,
			"capital annotations":           `name: a-1, annotations: {Example.COM/A: "any text %"}`,
			"annotations that are too long": `name: a-1, annotations: {a: ` + strings.Repeat("a", 262_144) + `}`,
		} {
			if kind != "v1 ConfigMap" && kind != "rbac.authorization.k8s.io/v1 ClusterRole" && strings.Contains(metadata, "a-1,") {
				continue // labels and annotations are those of each kind
			}
			t.Run(kind+" "+name, func(t *testing.T) { p.sameAnswer(t, kind, metadata, rest) })
		}
	}
	for name, c := range map[string]struct{ kind, rest string }{
		"a key of data with a space":      {"v1 ConfigMap", `data: {"a b": c}`},
		"a number in data":                {"v1 ConfigMap", `data: {a: 1}`},
		"binaryData that is no base64":    {"v1 ConfigMap", `binaryData: {a: "%"}`},
		"sound binaryData":                {"v1 ConfigMap", `{data: {b: c}, binaryData: {a: YWI=}}`},
		"a full ConfigMap":                {"v1 ConfigMap", "{binaryData: {a: YWI=}, data: {b: " + strings.Repeat("c", bundle.MaxConfigMap-2) + "}}"},
		"one that is too large":           {"v1 ConfigMap", "{binaryData: {a: YWI=}, data: {b: " + strings.Repeat("c", bundle.MaxConfigMap-1) + "}}"},
		"a key of both":                   {"v1 ConfigMap", `{data: {a: c}, binaryData: {a: YWI=}}`},
		"a container's name with a _":     {"apps/v1 Deployment", strings.Replace("spec: "+pods, "manager", "a_b", 1)},
		"a pod's label value":             {"apps/v1 Deployment", strings.Replace("spec: "+pods, "labels: {app: a", `labels: {app: a, b: "c d"`, 1)},
		"a pod's annotation with a space": {"apps/v1 Deployment", strings.Replace("spec: "+pods, "labels: {app: a}", `labels: {app: a}, annotations: {"a b": c}`, 1)},
	} {
		t.Run(name, func(t *testing.T) { p.sameAnswer(t, c.kind, "name: a-1", c.rest) })
	}
}

func (p onPlane) sameAnswer(t *testing.T, kind, metadata, rest string) {
	t.Helper()
	version, kind, _ := strings.Cut(kind, " ")
	text := "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {" + metadata + "}\n"
	if rest = strings.TrimSpace(rest); !strings.HasPrefix(rest, "{") {
		rest = "{" + rest + "}"
	}
	var object, more map[string]any
	for _, part := range []struct {
		text string
		into *map[string]any
	}{{text, &object}, {rest, &more}} {
		if err := yaml.Unmarshal([]byte(part.text), part.into); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range more {
		object[key] = value
	}
	d := bundle.Document{Object: object}
	if bundle.ScopeOf(d, nil) == bundle.Namespaced {
		object["metadata"].(map[string]any)["namespace"] = bundle.Namespace //nolint:forcetypeassert // it is a map, see text
	}
	refused := errors.Join(bundle.Check([]bundle.Document{d}, bundle.Namespace)...)
	answer := p.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: object}),
		client.FieldOwner("test"), client.DryRunAll)
	if (refused == nil) != (answer == nil) {
		t.Errorf("a bundle answers %v, and the API server %v", refused, answer)
	}
}
