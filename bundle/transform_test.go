// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/internal/issuers"
)

// transformed is one case of a transformation: documents before and after, or a part of the problem.
type transformed struct {
	in, want string
	err      string
	// note is a part of an entry of the summary.
	note    string
	options Options
}

var aws = Provider{Name: "aws", Type: Infrastructure, Version: "v2.13.0"}

// doc is a document in few words: KIND/NAME, members of metadata, and the rest.
func doc(kind, metadata, rest string) string {
	group := map[string]string{
		"Deployment": "apps/v1", "DaemonSet": "apps/v1", "StatefulSet": "apps/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1",
		"Certificate": "cert-manager.io/v1", "Issuer": "cert-manager.io/v1", "ClusterIssuer": "cert-manager.io/v1", "Job": "batch/v1", "CronJob": "batch/v1", "APIService": "apiregistration.k8s.io/v1",
		"ClusterRole": rbacGroup + "/v1", "ClusterRoleBinding": rbacGroup + "/v1", "Role": rbacGroup + "/v1", "RoleBinding": rbacGroup + "/v1",
		"ValidatingWebhookConfiguration": admissionGroup + "/v1", "ValidatingAdmissionPolicy": admissionGroup + "/v1", "MutatingWebhookConfiguration": admissionGroup + "/v1",
		"PodDisruptionBudget": "policy/v1", "Thing": "example.com/v1", "PriorityClass": "scheduling.k8s.io/v1", "NetworkPolicy": "networking.k8s.io/v1",
		"HorizontalPodAutoscaler": "autoscaling/v2", "ValidatingAdmissionPolicyBinding": admissionGroup + "/v1",
		"ServiceMonitor": "monitoring.coreos.com/v1", "PodMonitor": "monitoring.coreos.com/v1",
	}[kind]
	if group == "" {
		group = "v1"
	}
	if rest != "" {
		rest = ", " + rest
	}
	return "---\n{apiVersion: " + group + ", kind: " + kind + ", metadata: {" + metadata + "}" + rest + "}\n"
}

// pods is a workload with a pod spec.
func pods(kind, template string) string {
	return doc(kind, "name: m", "spec: {template: {spec: {"+template+"}}}")
}

const (
	webhookService = "clientConfig: {service: {name: hook, namespace: own}}"
	mounting       = `spec: {selector: {matchLabels: {app: m}}, template: {metadata: {labels: {app: m}}, spec: {containers: [{name: manager, volumeMounts: [{name: cert, mountPath: /tmp/serving-certs}]}], volumes: [{name: cert, secret: {secretName: hook-cert}}]}}}`
	certificate    = `spec: {secretName: hook-cert, dnsNames: [hook.own.svc, hook.own.svc.cluster.local]}`
)

var crdSpec = "spec: {group: infrastructure.cluster.x-k8s.io, scope: Namespaced, names: {plural: awsclusters, kind: AWSCluster}}"

// ofOwn has manifests be written for namespace own.
var ofOwn = doc("Deployment", "name: m, namespace: own", "")

func policyOf(expression string) string {
	return doc("ValidatingAdmissionPolicy", "name: p", `spec: {validations: [{expression: "`+expression+`"}]}`)
}

// tables has the cases of each transformation.
var tables = map[string]map[string]transformed{
	"exclusions": {
		"nothing excluded":  {in: doc("ConfigMap", "name: a", ""), want: doc("ConfigMap", "name: a", "")},
		"by name":           {in: doc("ConfigMap", "name: a", "") + doc("ConfigMap", "name: b", ""), want: doc("ConfigMap", "name: b", ""), options: Options{Exclude: []string{"ConfigMap/a"}}},
		"by pattern":        {in: doc("ConfigMap", "name: a1", "") + doc("ConfigMap", "name: b", ""), want: doc("ConfigMap", "name: b", ""), options: Options{Exclude: []string{"configmap/a*"}}},
		"what is not there": {in: doc("ConfigMap", "name: a", ""), err: "no object matches", options: Options{Exclude: []string{"ConfigMap/b"}}},
		"a definition takes policies along that are about it": {
			in: doc("CustomResourceDefinition", "name: things", "spec: {group: example.com, names: {plural: things, kind: Thing}}") +
				doc("ValidatingAdmissionPolicy", "name: about", "spec: {matchConstraints: {resourceRules: [{apiGroups: [example.com], resources: [things]}]}}") +
				doc("ValidatingAdmissionPolicy", "name: by", "spec: {paramKind: {apiVersion: example.com/v1, kind: Thing}}") +
				doc("ValidatingAdmissionPolicy", "name: kept",
					"spec: {paramKind: {apiVersion: example.com/v1, kind: Other}, matchConstraints: {resourceRules: [{apiGroups: [example.com], resources: [things, others]}]}}") +
				doc("ValidatingAdmissionPolicyBinding", "name: b", "spec: {policyName: by}"),
			want: doc("ValidatingAdmissionPolicy", "name: kept",
				"spec: {paramKind: {apiVersion: example.com/v1, kind: Other}, matchConstraints: {resourceRules: [{apiGroups: [example.com], resources: [things, others]}]}}"),
			options: Options{Exclude: []string{"CustomResourceDefinition/things"}},
		},
		"a workload takes its monitors along": {
			in: doc("Deployment", "name: m", "spec: {template: {metadata: {labels: {app: m}}}}") + doc("Service", "name: s, labels: {a: s}",
				"spec: {selector: {app: m}}") +
				doc("Service", "name: t, labels: {a: t}", "spec: {selector: {app: x}}") + doc("ServiceMonitor", "name: s", "spec: {selector: {matchLabels: {a: s}}}") +
				doc("ServiceMonitor", "name: t", "spec: {selector: {matchLabels: {a: t}}}") + doc("PodMonitor", "name: m", "spec: {selector: {matchLabels: {app: m}}}"),
			want: doc("Service", "name: t, labels: {a: t}", "spec: {selector: {app: x}}") +
				doc("ServiceMonitor", "name: t", "spec: {selector: {matchLabels: {a: t}}}"),
			options: Options{Exclude: []string{"Deployment/m"}},
		},
		"a definition takes its objects, webhooks and rules along": {
			in: doc("CustomResourceDefinition", "name: things", "spec: {group: example.com, names: {plural: things, kind: Thing}}") + doc("Thing", "name: a", "") +
				doc("ValidatingWebhookConfiguration", "name: all",
					"webhooks: [{name: a, rules: [{apiGroups: [example.com], resources: [things]}]}, {name: b, rules: [{apiGroups: [example.com], resources: [things/status, others]}]}]") +
				doc("MutatingWebhookConfiguration", "name: gone", "webhooks: [{name: a, rules: [{apiGroups: [example.com], resources: [things]}]}]") +
				doc("ClusterRole", "name: r",
					"rules: [{apiGroups: [example.com], resources: [things], verbs: [get]}, {apiGroups: [''], resources: [secrets], verbs: [get]}]"),
			want: doc("ValidatingWebhookConfiguration", "name: all", "webhooks: [{name: b, rules: [{apiGroups: [example.com], resources: [others]}]}]") +
				doc("ClusterRole", "name: r", "rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]"),
			options: Options{Exclude: []string{"CustomResourceDefinition/things"}},
		},
		"a workload takes its Service, account, roles and webhooks along": {
			in: doc("Deployment", "name: m", "spec: {template: {metadata: {labels: {app: m}}, spec: {serviceAccountName: acc}}}") +
				doc("Service", "name: hook", "spec: {selector: {app: m}}") +
				doc("ServiceAccount", "name: acc", "") + doc("ServiceAccount", "name: other", "") +
				doc("RoleBinding", "name: b", "roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: acc}]") + doc("Role", "name: r", "") +
				doc("ClusterRoleBinding", "name: shared",
					"roleRef: {kind: ClusterRole, name: s}, subjects: [{kind: ServiceAccount, name: acc}, {kind: ServiceAccount, name: other}]") +
				doc("ClusterRole", "name: s", "") +
				doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}]") +
				doc("PodDisruptionBudget", "name: p", "spec: {selector: {matchLabels: {app: m}}}") +
				doc("HorizontalPodAutoscaler", "name: h", "spec: {scaleTargetRef: {kind: Deployment, name: m}}"),
			want: doc("ServiceAccount", "name: other", "") +
				doc("ClusterRoleBinding", "name: shared", "roleRef: {kind: ClusterRole, name: s}, subjects: [{kind: ServiceAccount, name: other}]") +
				doc("ClusterRole", "name: s", ""),
			options: Options{Exclude: []string{"Deployment/m"}},
		},
		"a Service that another workload serves stays": {
			in: doc("Deployment", "name: m", "spec: {template: {metadata: {labels: {app: m}}}}") +
				doc("DaemonSet", "name: d", "spec: {template: {metadata: {labels: {app: m}}}}") +
				doc("Service", "name: hook", "spec: {selector: {app: m}}"),
			want:    doc("DaemonSet", "name: d", "spec: {template: {metadata: {labels: {app: m}}}}") + doc("Service", "name: hook", "spec: {selector: {app: m}}"),
			options: Options{Exclude: []string{"Deployment/m"}},
		},
		"a Service that a conversion needs": {
			in:  doc("Service", "name: hook", "") + doc("CustomResourceDefinition", "name: c", "spec: {conversion: {strategy: Webhook, webhook: {"+webhookService+"}}}"),
			err: "calls Service hook, which is excluded", options: Options{Exclude: []string{"Service/hook"}},
		},
		"an account that a workload needs": {
			in:  doc("ServiceAccount", "name: acc", "") + doc("Deployment", "name: m", "spec: {template: {spec: {serviceAccountName: acc}}}"),
			err: "runs as ServiceAccount acc", options: Options{Exclude: []string{"ServiceAccount/acc"}},
		},
	},
	"refused-kinds": {
		"a Pod":                   {in: doc("Pod", "name: a", ""), err: "use a Deployment"},
		"a Job":                   {in: doc("Job", "name: a", ""), err: "use a Deployment"},
		"a CronJob":               {in: doc("CronJob", "name: a", ""), err: "use a Deployment"},
		"a Node":                  {in: doc("Node", "name: a", ""), err: "kubelets"},
		"a PersistentVolume":      {in: doc("PersistentVolume", "name: a", ""), err: "storage"},
		"an APIService":           {in: doc("APIService", "name: a", ""), err: "discovery"},
		"a kind of another group": {in: doc("Thing", "name: a", ""), want: doc("Thing", "name: a", "")},
		"a PodDisruptionBudget":   {in: doc("PodDisruptionBudget", "name: a", ""), want: doc("PodDisruptionBudget", "name: a", "")},
	},
	"server-fields": {
		"what the server writes": {in: doc("ConfigMap", "name: a, uid: x, resourceVersion: '1', creationTimestamp: null, labels: {a: b}", "status: {}"), want: doc("ConfigMap", "name: a, labels: {a: b}", "")},
		"of a pod template":      {in: doc("Deployment", "name: a", "spec: {template: {metadata: {creationTimestamp: null}}}"), want: doc("Deployment", "name: a", "spec: {template: {metadata: {}}}")},
	},
	"templated-keys": {
		"an annotation": {in: doc("ServiceAccount", `name: a, annotations: {"${ROLE/#arn": x}`, ""), want: doc("ServiceAccount", "name: a", ""), note: "removed"},
		"beside others": {in: doc("ServiceAccount", `name: a, labels: {"${L}": x, b: c}`, ""), want: doc("ServiceAccount", "name: a, labels: {b: c}", "")},
		"a value stays": {in: doc("ServiceAccount", `name: a, annotations: {b: "${ROLE}"}`, ""), want: doc("ServiceAccount", `name: a, annotations: {b: "${ROLE}"}`, "")},
	},
	"serving-certificates": {
		"the Service of a webhook gets the Secret that its pods mount": {
			in: doc("Deployment", "name: m", mounting) + doc("Service", "name: hook", "spec: {selector: {app: m}}") + doc("Certificate", "name: c", certificate) +
				doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}]"),
			want: doc("Deployment", "name: m", mounting) + doc("Service", "name: hook, annotations: {"+issuers.ServingCert+": hook-cert}", "spec: {selector: {app: m}}") +
				doc("Certificate", "name: c", certificate) +
				doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}]"),
		},
		"the mounted Secret counts, not the Certificate's": {
			in: doc("Deployment", "name: m", mounting) + doc("Service", "name: hook", "spec: {selector: {app: m}}") +
				doc("Certificate", "name: c", "spec: {secretName: another, dnsNames: [hook.own.svc]}") +
				doc("MutatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}]"),
			want: doc("Deployment", "name: m", mounting) + doc("Service", "name: hook, annotations: {"+issuers.ServingCert+": hook-cert}", "spec: {selector: {app: m}}") +
				doc("Certificate", "name: c", "spec: {secretName: another, dnsNames: [hook.own.svc]}") + doc("MutatingWebhookConfiguration", "name: v",
				"webhooks: [{name: a, "+webhookService+"}]"),
		},
		"the Service of a conversion": {
			in: doc("Deployment", "name: m", mounting) + doc("Service", "name: hook", "spec: {selector: {app: m}}") + doc("CustomResourceDefinition", "name: c",
				"spec: {conversion: {strategy: Webhook, webhook: {"+webhookService+"}}}"),
			want: doc("Deployment", "name: m", mounting) + doc("Service", "name: hook, annotations: {"+issuers.ServingCert+": hook-cert}", "spec: {selector: {app: m}}") +
				doc("CustomResourceDefinition", "name: c", "spec: {conversion: {strategy: Webhook, webhook: {"+webhookService+"}}}"),
		},
		"the second webhook's Service, too": {
			in: doc("Deployment", "name: m", mounting) +
				doc("DaemonSet", "name: n", strings.NewReplacer("app: m", "app: n", "hook-cert", "two-cert").Replace(mounting)) +
				doc("Service", "name: hook", "spec: {selector: {app: m}}") + doc("Service", "name: two", "spec: {selector: {app: n}}") +
				doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}, {name: b, clientConfig: {service: {name: two}}}]"),
			want: doc("Deployment", "name: m", mounting) +
				doc("DaemonSet", "name: n", strings.NewReplacer("app: m", "app: n", "hook-cert", "two-cert").Replace(mounting)) +
				doc("Service", "name: hook, annotations: {"+issuers.ServingCert+": hook-cert}", "spec: {selector: {app: m}}") +
				doc("Service", "name: two, annotations: {"+issuers.ServingCert+": two-cert}", "spec: {selector: {app: n}}") +
				doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}, {name: b, clientConfig: {service: {name: two}}}]"),
		},
		"two Services and one Secret": {
			in: doc("Deployment", "name: m", mounting) + doc("Service", "name: hook", "spec: {selector: {app: m}}") +
				doc("Service", "name: two", "spec: {selector: {app: m}}") +
				doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}, {name: b, clientConfig: {service: {name: two}}}]"),
			err: "a Secret of its own",
		},
		"a Service of metrics that shares the Secret has none": {
			in: doc("Deployment", "name: m", mounting) + doc("Service", "name: metrics", "spec: {selector: {app: m}}") +
				doc("Service", "name: hook", "spec: {selector: {app: m}}") +
				doc("Certificate", "name: c", "spec: {secretName: hook-cert, dnsNames: [hook.own.svc, metrics.own.svc]}") + doc("ValidatingWebhookConfiguration", "name: v",
				"webhooks: [{name: a, "+webhookService+"}]"),
			want: doc("Deployment", "name: m", mounting) + doc("Service", "name: metrics", "spec: {selector: {app: m}}") +
				doc("Service", "name: hook, annotations: {"+issuers.ServingCert+": hook-cert}", "spec: {selector: {app: m}}") +
				doc("Certificate", "name: c", "spec: {secretName: hook-cert, dnsNames: [hook.own.svc, metrics.own.svc]}") + doc("ValidatingWebhookConfiguration", "name: v",
				"webhooks: [{name: a, "+webhookService+"}]"),
			note: "belongs to Service hook",
		},
		"no pods mount anything": {
			in: doc("Deployment", "name: m", "spec: {template: {metadata: {labels: {app: m}}}}") + doc("Service", "name: hook", "spec: {selector: {app: m}}") +
				doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}]"),
			err: "serving certificate is unclear",
		},
		"no Service":                            {in: doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+"}]"), err: "not in the manifests"},
		"a Certificate that nobody else writes": {in: doc("Deployment", "name: m", mounting) + doc("Certificate", "name: c", certificate), err: "only cert-manager writes"},
		"no webhooks and no Certificate":        {in: doc("Deployment", "name: m", mounting), want: doc("Deployment", "name: m", mounting)},
	},
	"ca-bundles": {
		"webhooks": {
			in: doc("ValidatingWebhookConfiguration", "name: v, annotations: {cert-manager.io/inject-ca-from: own/c}",
				"webhooks: [{name: a, clientConfig: {caBundle: Cg==, service: {name: hook}}}, {name: b, clientConfig: {caBundle: Cg==, service: {name: hook}}}]"),
			want: doc("ValidatingWebhookConfiguration", "name: v, annotations: {"+issuers.InjectCABundle+": 'true'}",
				"webhooks: [{name: a, clientConfig: {service: {name: hook}}}, {name: b, clientConfig: {service: {name: hook}}}]"),
		},
		"a conversion": {
			in: doc("CustomResourceDefinition", "name: c, annotations: {cert-manager.io/inject-ca-from: own/c, x: y}",
				"spec: {conversion: {strategy: Webhook, webhook: {"+webhookService+"}}}"),
			want: doc("CustomResourceDefinition", "name: c, annotations: {"+issuers.InjectCABundle+": 'true', x: y}",
				"spec: {conversion: {strategy: Webhook, webhook: {"+webhookService+"}}}"),
		},
		"a definition without webhook": {
			in:   doc("CustomResourceDefinition", "name: c, annotations: {cert-manager.io/inject-ca-from: own/c}", "spec: {conversion: {strategy: None}}"),
			want: doc("CustomResourceDefinition", "name: c", "spec: {conversion: {strategy: None}}"),
		},
		"a URL":               {in: doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, clientConfig: {url: 'https://a', caBundle: x}}]"), want: doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, clientConfig: {url: 'https://a', caBundle: x}}]")},
		"a URL and a Service": {in: doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, clientConfig: {url: 'https://a'}}, {name: b, "+webhookService+"}]"), err: "two configurations"},
	},
	"dropped-kinds": {
		"what OpenShift provides": {
			in: doc("Namespace", "name: a", "") + doc("Secret", "name: b", "") + doc("Issuer", "name: c", "") + doc("Certificate", "name: d", "") +
				doc("ClusterIssuer", "name: e", "") + doc("ServiceAccount", "name: f", ""),
			want: doc("ServiceAccount", "name: f", ""), note: "credentials",
		},
		"nothing else": {in: doc("PriorityClass", "name: a", "") + doc("NetworkPolicy", "name: b", "") + doc("Thing", "name: c", ""), want: doc("PriorityClass", "name: a", "") + doc("NetworkPolicy", "name: b", "") + doc("Thing", "name: c", "")},
	},
	"namespaces": {
		"everything moves": {
			in: doc("Namespace", "name: own", "") + doc("Deployment", "name: m, namespace: own",
				"spec: {template: {spec: {containers: [{name: manager, args: [--namespace=own, --host=hook.own.svc, /own/path, ownership], env: [{name: N, value: own}]}]}}}") +
				doc("ClusterRoleBinding", "name: b",
					"subjects: [{kind: ServiceAccount, name: a, namespace: own}, {kind: ServiceAccount, name: a, namespace: openshift-monitoring}]") +
				doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, "+webhookService+
					", namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [own]}]}}]") +
				doc("CustomResourceDefinition", "name: c", "spec: {conversion: {webhook: {"+webhookService+"}}, description: own}"),
			want: doc("Namespace", "name: own", "") + doc("Deployment", "name: m, namespace: openshift-cluster-api",
				"spec: {template: {spec: {containers: [{name: manager, args: [--namespace=openshift-cluster-api, --host=hook.openshift-cluster-api.svc, /own/path, ownership], env: [{name: N, value: openshift-cluster-api}]}]}}}") +
				doc("ClusterRoleBinding", "name: b",
					"subjects: [{kind: ServiceAccount, name: a, namespace: openshift-cluster-api}, {kind: ServiceAccount, name: a, namespace: openshift-monitoring}]") +
				doc("ValidatingWebhookConfiguration", "name: v",
					"webhooks: [{name: a, clientConfig: {service: {name: hook, namespace: openshift-cluster-api}}, namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [openshift-cluster-api]}]}}]") +
				doc("CustomResourceDefinition", "name: c",
					"spec: {conversion: {webhook: {clientConfig: {service: {name: hook, namespace: openshift-cluster-api}}}}, description: own}"),
		},
		"accounts by their names as users": {
			in: doc("Namespace", "name: own", "") + doc("ClusterRoleBinding", "name: b",
				"subjects: [{kind: User, name: 'system:serviceaccount:own:own'}, {kind: Group, name: 'system:serviceaccounts:own'}, {kind: Group, name: own}]"),
			want: doc("Namespace", "name: own", "") + doc("ClusterRoleBinding", "name: b",
				"subjects: [{kind: User, name: 'system:serviceaccount:openshift-cluster-api:own'}, {kind: Group, name: 'system:serviceaccounts:openshift-cluster-api'}, {kind: Group, name: own}]"),
		},
		"the namespace itself in a rule": {
			in: doc("Namespace", "name: own", "") + doc("ClusterRole", "name: r",
				"rules: [{apiGroups: [''], resources: [namespaces], resourceNames: [own, other]}, {apiGroups: [''], resources: [secrets], resourceNames: [own]}]"),
			want: doc("Namespace", "name: own", "") + doc("ClusterRole", "name: r",
				"rules: [{apiGroups: [''], resources: [namespaces], resourceNames: [openshift-cluster-api, other]}, {apiGroups: [''], resources: [secrets], resourceNames: [own]}]"),
		},
		"names of hosts": {
			in: doc("Namespace", "name: own", "") + doc("Service", "name: s, namespace: own", "spec: {type: ExternalName, externalName: hook.own.svc.cluster.local}") +
				doc("Deployment", "name: m, namespace: own", "spec: {template: {spec: {dnsConfig: {searches: [own.svc.cluster.local, other.svc]}, hostAliases: [{ip: 10.0.0.1, hostnames: [hook.own.svc, own-er]}], containers: [{name: manager, readinessProbe: {httpGet: {host: hook.own.svc, port: 80, path: /own}}}]}}}"),
			want: doc("Namespace", "name: own", "") + doc("Service", "name: s, namespace: openshift-cluster-api", "spec: {type: ExternalName, externalName: hook.openshift-cluster-api.svc.cluster.local}") +
				doc("Deployment", "name: m, namespace: openshift-cluster-api", "spec: {template: {spec: {dnsConfig: {searches: [openshift-cluster-api.svc.cluster.local, other.svc]}, hostAliases: [{ip: 10.0.0.1, hostnames: [hook.openshift-cluster-api.svc, own-er]}], containers: [{name: manager, readinessProbe: {httpGet: {host: hook.openshift-cluster-api.svc, port: 80, path: /own}}}]}}}"),
		},
		"a kind that is defined elsewhere": {in: "---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}\n", want: "---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}\n",
			note: "no definition in the manifests says whether Thing.example.com has a namespace: set it to openshift-cluster-api if it has one"},
		"two namespaces in one text": {
			in: doc("Namespace", "name: a", "") + doc("Namespace", "name: b", "") + doc("ConfigMap", "name: c, namespace: b", "data: {k: 'a,b', l: a}"),
			want: doc("Namespace", "name: a", "") + doc("Namespace", "name: b", "") + doc("ConfigMap", "name: c, namespace: openshift-cluster-api",
				"data: {k: 'openshift-cluster-api,openshift-cluster-api', l: openshift-cluster-api}"),
			note: "namespaces a, b changed to",
		},
		"without a Namespace, that of the workload counts": {
			in:   doc("Deployment", "name: m, namespace: own", "") + doc("Role", "name: r, namespace: own", ""),
			want: doc("Deployment", "name: m, namespace: openshift-cluster-api", "") + doc("Role", "name: r, namespace: openshift-cluster-api", ""),
		},
		"no namespace":           {in: doc("ConfigMap", "name: a", ""), want: doc("ConfigMap", "name: a, namespace: openshift-cluster-api", "")},
		"a cluster's object":     {in: doc("ClusterRole", "name: a, namespace: own", ""), want: doc("ClusterRole", "name: a", "")},
		"a foreign namespace":    {in: doc("Namespace", "name: own", "") + doc("Role", "name: a, namespace: kube-system", ""), err: "kube-system"},
		"a system's is nobody's": {in: doc("Namespace", "name: kube-system", "") + doc("Role", "name: a, namespace: kube-system", ""), err: "kube-system"},
		"a custom resource": {
			in: doc("Namespace", "name: own", "") + doc("CustomResourceDefinition", "name: things",
				"spec: {group: example.com, scope: Namespaced, names: {kind: Thing}}") + doc("Thing", "name: a", ""),
			want: doc("Namespace", "name: own", "") + doc("CustomResourceDefinition", "name: things",
				"spec: {group: example.com, scope: Namespaced, names: {kind: Thing}}") + doc("Thing", "name: a, namespace: openshift-cluster-api", ""),
		},
	},
	"unmoved-namespaces": {
		"an expression stays as it is": {in: ofOwn + policyOf("object.metadata.namespace == 'own'"), want: ofOwn + policyOf("object.metadata.namespace == 'own'"), note: "namespace own"},
	},
	"labels": {
		"an object":     {in: doc("ConfigMap", "name: a", ""), want: doc("ConfigMap", "name: a, labels: {cluster.x-k8s.io/provider: infrastructure-aws}", "")},
		"a wrong label": {in: doc("ConfigMap", "name: a, labels: {cluster.x-k8s.io/provider: aws}", ""), want: doc("ConfigMap", "name: a, labels: {cluster.x-k8s.io/provider: infrastructure-aws}", "")},
		"selectors that match another provider's pods": {
			in: doc("Deployment", "name: m", "spec: {selector: {matchLabels: {app: m}}, template: {metadata: {labels: {app: m}}}}") +
				doc("Service", "name: s", "spec: {selector: {app: m}}") + doc("Service", "name: other", "spec: {selector: {app: x}}"),
			want: doc("Deployment", "name: m, labels: {cluster.x-k8s.io/provider: infrastructure-aws}",
				"spec: {selector: {matchLabels: {app: m, cluster.x-k8s.io/provider: infrastructure-aws}}, template: {metadata: {labels: {app: m, cluster.x-k8s.io/provider: infrastructure-aws}}, spec: {}}}") +
				doc("Service", "name: s, labels: {cluster.x-k8s.io/provider: infrastructure-aws}",
					"spec: {selector: {app: m, cluster.x-k8s.io/provider: infrastructure-aws}}") +
				doc("Service", "name: other, labels: {cluster.x-k8s.io/provider: infrastructure-aws}", "spec: {selector: {app: x}}"),
		},
		"selectors that name a provider stay": {
			in: doc("Deployment", "name: m, labels: {cluster.x-k8s.io/provider: infrastructure-aws}",
				"spec: {selector: {matchLabels: {cluster.x-k8s.io/provider: aws}}, template: {metadata: {labels: {cluster.x-k8s.io/provider: aws}}, spec: {}}}"),
			want: doc("Deployment", "name: m, labels: {cluster.x-k8s.io/provider: infrastructure-aws}",
				"spec: {selector: {matchLabels: {cluster.x-k8s.io/provider: aws}}, template: {metadata: {labels: {cluster.x-k8s.io/provider: aws}}, spec: {}}}"),
		},
	},
	"priority": {
		"none":        {in: pods("Deployment", "x: y"), want: pods("Deployment", "x: y, priorityClassName: system-cluster-critical")},
		"another":     {in: pods("DaemonSet", "priorityClassName: low, priority: 1"), want: pods("DaemonSet", "priorityClassName: system-cluster-critical")},
		"no workload": {in: doc("ConfigMap", "name: a", ""), want: doc("ConfigMap", "name: a", "")},
	},
	"requests": {
		"none":                    {in: pods("Deployment", "containers: [{name: a}]"), want: pods("Deployment", "containers: [{name: a, resources: {requests: {cpu: 10m, memory: 50Mi}}}]")},
		"smaller ones are raised": {in: pods("StatefulSet", "containers: [{name: a, resources: {requests: {cpu: 5m, memory: 20Mi}}}]"), want: pods("StatefulSet", "containers: [{name: a, resources: {requests: {cpu: 10m, memory: 50Mi}}}]")},
		"larger ones stay":        {in: pods("Deployment", "containers: [{name: a, resources: {requests: {cpu: 1, memory: 100M}}}]"), want: pods("Deployment", "containers: [{name: a, resources: {requests: {cpu: 1, memory: 100M}}}]")},
		"equal ones stay":         {in: pods("Deployment", "containers: [{name: a, resources: {requests: {cpu: '0.01', memory: 52428800}}}]"), want: pods("Deployment", "containers: [{name: a, resources: {requests: {cpu: '0.01', memory: 52428800}}}]")},
		"of init containers":      {in: pods("Deployment", "initContainers: [{name: a}]"), want: pods("Deployment", "initContainers: [{name: a, resources: {requests: {cpu: 10m, memory: 50Mi}}}]")},
		"a variable stays":        {in: pods("Deployment", `containers: [{name: a, resources: {requests: {cpu: "${CPU:=5m}", memory: 50Mi}}}]`), want: pods("Deployment", `containers: [{name: a, resources: {requests: {cpu: "${CPU:=5m}", memory: 50Mi}}}]`), note: "has a variable"},
		"not a quantity":          {in: pods("Deployment", "containers: [{name: a, resources: {requests: {cpu: much}}}]"), err: "not a quantity"},
	},
	"no-limits": {
		"limits go, requests stay": {in: pods("Deployment", "containers: [{name: a, resources: {limits: {cpu: 1}, requests: {cpu: 1}}}], initContainers: [{name: b, resources: {limits: {cpu: 1}}}]"), want: pods("Deployment", "containers: [{name: a, resources: {requests: {cpu: 1}}}], initContainers: [{name: b, resources: {}}]")},
	},
	"termination-messages": {
		"of each container": {in: pods("Deployment", "containers: [{name: a, terminationMessagePolicy: File}], initContainers: [{name: b}]"), want: pods("Deployment", "containers: [{name: a, terminationMessagePolicy: FallbackToLogsOnError}], initContainers: [{name: b, terminationMessagePolicy: FallbackToLogsOnError}]")},
	},
	"pull-policy": {
		"of each container": {in: pods("DaemonSet", "containers: [{name: a, imagePullPolicy: Always}], initContainers: [{name: b}]"), want: pods("DaemonSet", "containers: [{name: a, imagePullPolicy: IfNotPresent}], initContainers: [{name: b, imagePullPolicy: IfNotPresent}]")},
	},
	"management-workload": {
		"of the pods": {in: doc("Deployment", "name: m", "spec: {template: {metadata: {annotations: {a: b}}, spec: {}}}"), want: doc("Deployment", "name: m", `spec: {template: {metadata: {annotations: {a: b, target.workload.openshift.io/management: '{"effect": "PreferredDuringScheduling"}'}}, spec: {}}}`)},
	},
	"required-scc": {
		"IDs go with it": {
			in: doc("Deployment", "name: m",
				"spec: {template: {metadata: {annotations: {}}, spec: {securityContext: {runAsNonRoot: true, fsGroup: 1000}, containers: [{name: a, securityContext: {runAsUser: 65532, runAsGroup: 65532}}]}}}"),
			want: doc("Deployment", "name: m",
				"spec: {template: {metadata: {annotations: {openshift.io/required-scc: restricted-v2}}, spec: {securityContext: {runAsNonRoot: true}, containers: [{name: a, securityContext: {runAsGroup: 65532}}]}}}"),
		},
		"another SCC stays": {
			in: doc("Deployment", "name: m",
				"spec: {template: {metadata: {annotations: {openshift.io/required-scc: hostnetwork-v2}}, spec: {securityContext: {runAsUser: 1}}}}"),
			want: doc("Deployment", "name: m",
				"spec: {template: {metadata: {annotations: {openshift.io/required-scc: hostnetwork-v2}}, spec: {securityContext: {runAsUser: 1}}}}"),
			note: "keeps its own SCC",
		},
		"what it refuses is noted": {
			in:   doc("Deployment", "name: m", "spec: {template: {metadata: {annotations: {openshift.io/required-scc: restricted-v2}}, spec: {hostNetwork: true}}}"),
			want: doc("Deployment", "name: m", "spec: {template: {metadata: {annotations: {openshift.io/required-scc: restricted-v2}}, spec: {hostNetwork: true}}}"),
			note: "hostNetwork is true",
		},
	},
	"feature-gates": {
		"one that was asked for":     {in: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=A=${X:={a,b}},B=false"]}]`), want: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=A=${X:={a,b}},B=true"]}]`), options: Options{FeatureGates: map[string]bool{"B": true}}},
		"a variable is replaced":     {in: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=A=${X:=false},B=false"]}]`), want: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=A=true,B=false"]}]`), options: Options{FeatureGates: map[string]bool{"A": true}}},
		"one that is missing":        {in: pods("Deployment", "containers: [{name: a, args: [--feature-gates, A=true]}]"), want: pods("Deployment", `containers: [{name: a, args: [--feature-gates, "A=true,B=true"]}]`), options: Options{FeatureGates: map[string]bool{"B": true}}},
		"in the command":             {in: pods("Deployment", `containers: [{name: manager, command: [/manager, "--feature-gates=A=false"], args: [--x]}]`), want: pods("Deployment", `containers: [{name: manager, command: [/manager, "--feature-gates=A=true,B=true"], args: [--x]}]`), options: Options{FeatureGates: map[string]bool{"A": true, "B": true}}},
		"the flag is there twice":    {in: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=A=false", --feature-gates, A=false]}]`), want: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=A=true", --feature-gates, "A=true,B=true"]}]`), options: Options{FeatureGates: map[string]bool{"A": true, "B": true}}},
		"without the argument":       {in: pods("Deployment", "containers: [{name: a}, {name: manager, args: [--x]}]"), want: pods("Deployment", "containers: [{name: a}, {name: manager, args: [--x, --feature-gates=B=true]}]"), options: Options{FeatureGates: map[string]bool{"B": true}}},
		"without a manager":          {in: pods("Deployment", "containers: [{name: a}]"), err: "no container has", options: Options{FeatureGates: map[string]bool{"B": true}}},
		"Ignition":                   {in: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=BootstrapFormatIgnition=${X:=false}"]}]`), want: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=BootstrapFormatIgnition=true"]}]`)},
		"Ignition where it is known": {in: pods("Deployment", "containers: [{name: a, args: [--feature-gates=A=true]}]"), want: pods("Deployment", "containers: [{name: a, args: [--feature-gates=A=true]}]")},
		"Ignition against the usual": {in: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=BootstrapFormatIgnition=true"]}]`), want: pods("Deployment", `containers: [{name: a, args: ["--feature-gates=BootstrapFormatIgnition=false"]}]`), options: Options{FeatureGates: map[string]bool{"BootstrapFormatIgnition": false}}},
	},
	"images": {
		"no key":                        {in: pods("Deployment", "containers: [{name: manager, image: a}, {name: side, image: b}]"), err: "m/side=KEY"},
		"no key of an init one":         {in: pods("Deployment", "containers: [{name: manager, image: a}], initContainers: [{name: side, image: b}]"), err: "initContainers[side]"},
		"an init one of the same image": {in: pods("Deployment", "initContainers: [{name: side, image: a}], containers: [{name: manager, image: a}]"), want: pods("Deployment", "initContainers: [{name: side, image: 'registry.invalid/aws-cluster-api-controllers:injected'}], containers: [{name: manager, image: 'registry.invalid/aws-cluster-api-controllers:injected'}]")},
		"a sidecar of the same image":   {in: pods("Deployment", "containers: [{name: manager, image: a}, {name: side, image: a}]"), want: pods("Deployment", "containers: [{name: manager, image: 'registry.invalid/k:injected'}, {name: side, image: 'registry.invalid/k:injected'}]"), options: Options{Images: map[string]string{"m/manager": "k"}}},
		"the only one":                  {in: pods("Deployment", "containers: [{name: controller, image: a}]"), want: pods("Deployment", "containers: [{name: controller, image: 'registry.invalid/aws-cluster-api-controllers:injected'}]")},
		"a key by image":                {in: pods("Deployment", "containers: [{name: manager, image: a}, {name: side, image: 'quay.io:5000/b:v1'}]"), want: pods("Deployment", "containers: [{name: manager, image: 'registry.invalid/aws-cluster-api-controllers:injected'}, {name: side, image: 'registry.invalid/k:injected'}]"), options: Options{Images: map[string]string{"quay.io:5000/b": "k"}}},
		"the manager":                   {in: pods("Deployment", "containers: [{name: manager, image: a}]"), want: pods("Deployment", "containers: [{name: manager, image: 'registry.invalid/aws-cluster-api-controllers:injected'}]")},
		"a key by container":            {in: pods("Deployment", "containers: [{name: side, image: a}]"), want: pods("Deployment", "containers: [{name: side, image: 'registry.invalid/k:injected'}]"), options: Options{Images: map[string]string{"side": "k"}}},
		"a key by workload":             {in: pods("Deployment", "initContainers: [{name: manager, image: a}]"), want: pods("Deployment", "initContainers: [{name: manager, image: 'registry.invalid/k:injected'}]"), options: Options{Images: map[string]string{"m/manager": "k"}}},
		"two managers of one image":     {in: pods("Deployment", "containers: [{name: manager, image: a}]") + pods("DaemonSet", "containers: [{name: manager, image: a}]"), want: pods("Deployment", "containers: [{name: manager, image: 'registry.invalid/aws-cluster-api-controllers:injected'}]") + pods("DaemonSet", "containers: [{name: manager, image: 'registry.invalid/aws-cluster-api-controllers:injected'}]")},
		"two managers of two images":    {in: pods("Deployment", "containers: [{name: manager, image: a}]") + pods("DaemonSet", "containers: [{name: manager, image: b}]"), err: "several containers named manager"},
		"a placeholder stays":           {in: pods("Deployment", "containers: [{name: side, image: 'registry.invalid/k:injected'}]"), want: pods("Deployment", "containers: [{name: side, image: 'registry.invalid/k:injected'}]")},
		"a key that nobody needs":       {in: pods("Deployment", "containers: [{name: manager, image: a}]"), err: "no container, workload or image has this name", options: Options{Images: map[string]string{"x": "k"}}},
	},
	"cluster-protection": {
		"a cluster":            {in: doc("CustomResourceDefinition", "name: c", crdSpec), note: "refuses to delete the AWSCluster", want: "SKIP"},
		"another plural":       {in: doc("CustomResourceDefinition", "name: c", strings.Replace(crdSpec, "awsclusters", "awsmachines", 1)), want: doc("CustomResourceDefinition", "name: c", strings.Replace(crdSpec, "awsclusters", "awsmachines", 1))},
		"a group below":        {in: doc("CustomResourceDefinition", "name: c", strings.Replace(crdSpec, "infrastructure.", "vmware.infrastructure.", 1)), note: "refuses to delete the AWSCluster", want: "SKIP"},
		"another group":        {in: doc("CustomResourceDefinition", "name: c", strings.Replace(crdSpec, "infrastructure.", "", 1)), want: doc("CustomResourceDefinition", "name: c", strings.Replace(crdSpec, "infrastructure.", "", 1))},
		"of the core provider": {in: doc("CustomResourceDefinition", "name: c", crdSpec), want: doc("CustomResourceDefinition", "name: c", crdSpec), options: Options{Provider: Provider{Name: coreName, Type: Core}}},
	},
	"contract-labels": {
		"no label":             {in: doc("CustomResourceDefinition", "name: c, labels: {cluster.x-k8s.io/provider: a}", crdSpec), want: doc("CustomResourceDefinition", "name: c, labels: {cluster.x-k8s.io/provider: a}", crdSpec), note: "has no label"},
		"a label":              {in: doc("CustomResourceDefinition", "name: c, labels: {cluster.x-k8s.io/v1beta1: v1beta2}", crdSpec), want: doc("CustomResourceDefinition", "name: c, labels: {cluster.x-k8s.io/v1beta1: v1beta2}", crdSpec)},
		"of the core provider": {in: doc("CustomResourceDefinition", "name: c", crdSpec), want: doc("CustomResourceDefinition", "name: c", crdSpec), options: Options{Provider: Provider{Name: coreName, Type: Core}}},
	},
	"needed-secrets": {
		"a volume":       {in: doc("Deployment", "name: m", mounting), want: doc("Deployment", "name: m", mounting), note: "need Secret hook-cert"},
		"an environment": {in: pods("Deployment", "containers: [{name: a, env: [{name: X, valueFrom: {secretKeyRef: {name: s}}}]}]"), want: pods("Deployment", "containers: [{name: a, env: [{name: X, valueFrom: {secretKeyRef: {name: s}}}]}]"), note: "need Secret s"},
	},
}

func TestTransformations(t *testing.T) {
	for _, transformation := range Transformations {
		table := tables[transformation.Name]
		if len(table) == 0 {
			t.Errorf("%s has no table", transformation.Name)
		}
		for name, c := range table {
			t.Run(transformation.Name+"/"+name, func(t *testing.T) {
				if c.options.Provider.Name == "" {
					c.options.Provider = aws
				}
				d := newDraft(decoded(t, c.in), c.options)
				d.apply(transformation)
				if err := errors.Join(d.problems...); !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
					t.Fatalf("%v, want %q", err, c.err)
				}
				if !c.noted(d) {
					t.Errorf("no entry with %q: %v", c.note, d.entries)
				}
				if c.err != "" || c.want == "SKIP" {
					return
				}
				if diff := cmp.Diff(decoded(t, c.want), d.Documents); diff != "" {
					t.Error(diff)
				}
				entries := len(d.entries)
				if transformation.Name == "exclusions" || transformation.Name == "needed-secrets" || c.note != "" {
					return
				}
				again := newDraft(decoded(t, encoded(t, d.Documents)), c.options)
				again.apply(transformation)
				if diff := cmp.Diff(d.Documents, again.Documents); diff != "" || (len(again.entries) > 0 && entries == 0) {
					t.Error("applied twice:", diff, again.entries)
				}
			})
		}
	}
}

func (c transformed) noted(d *Draft) bool {
	for _, entry := range d.entries {
		if strings.Contains(entry.What, c.note) {
			return true
		}
	}
	return c.note == ""
}

func TestUnmovedNamespaces(t *testing.T) {
	hook := func(url string) string {
		return doc("ValidatingWebhookConfiguration", "name: v", "webhooks: [{name: a, clientConfig: {url: '"+url+"'}}]")
	}
	schema := func(text string) string {
		return doc("CustomResourceDefinition", "name: c", "spec: {versions: [{schema: {openAPIV3Schema: {"+text+"}}}]}")
	}
	const resolves = "by a DNS name, which API servers do not resolve: use clientConfig.service"
	for name, c := range map[string]struct{ in, note, err string }{
		"a literal of a policy":     {in: policyOf("object.metadata.namespace == 'own'"), note: "spec.validations[0].expression may name namespace own, and is not changed: if it does, write openshift-cluster-api instead"},
		"an account in a literal":   {in: policyOf("request.userInfo.username == 'system:serviceaccount:own:m'"), note: "spec.validations[0].expression may name namespace own"},
		"a member of that name":     {in: policyOf("object.own == 'other-own'")},
		"the namespace it moves to": {in: policyOf("object.metadata.namespace == 'openshift-cluster-api'")},
		"a match condition": {
			in:   doc("MutatingWebhookConfiguration", "name: v", `webhooks: [{name: a, matchConditions: [{name: own, expression: 'request.namespace != "own"'}]}]`),
			note: "webhooks[0].matchConditions[0].expression may name namespace own",
		},
		"a rule of a definition": {
			in:   schema(`x-kubernetes-validations: [{rule: "self.namespace == 'own'"}]`),
			note: "spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule may name namespace own",
		},
		"prose and defaults of a definition": {in: schema(`description: "of 'own'", properties: {rule: {default: "'own'"}, p: {default: {expression: "'own'"}}}`)},
		"a URL with the namespace in it":     {in: hook("https://own.example.com/a"), note: "webhooks[0].clientConfig.url may name namespace own"},
		"a URL with a path of that name":     {in: hook("https://example.com/own")},
		"the URL of a Service":               {in: hook("https://hook.own.svc:443/a"), err: "webhooks[0].clientConfig.url calls Service hook of namespace own " + resolves},
		"of a Service of others":             {in: hook("https://hook.others.svc.cluster.local/a"), err: resolves},
		"of a conversion": {
			in:  doc("CustomResourceDefinition", "name: c", "spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {url: 'https://hook.own.svc'}}}}"),
			err: "spec.conversion.webhook.clientConfig.url calls Service hook of namespace own",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDraft(decoded(t, ofOwn+c.in), Options{Provider: aws})
			UnmovedNamespaces(d)
			if err := errors.Join(d.problems...); !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Errorf("%v, want %q", err, c.err)
			}
			if (c.note == "") != (len(d.entries) == 0) || !(transformed{note: c.note}).noted(d) {
				t.Errorf("%v, want %q", d.entries, c.note)
			}
		})
	}
}

func TestClusterProtection(t *testing.T) {
	d := newDraft(decoded(t, doc("CustomResourceDefinition", "name: c", crdSpec)), Options{Provider: aws})
	ClusterProtection(d)
	ClusterProtection(d)
	if len(d.Documents) != 3 {
		t.Fatal(len(d.Documents), "documents, want the definition, a policy and a binding")
	}
	policy, binding := at(d.Documents[1].Object, "spec"), at(d.Documents[2].Object, "spec")
	if diff := cmp.Diff([]any{"DELETE"}, objects(at(policy, "matchConstraints"), "resourceRules")[0]["operations"]); diff != "" {
		t.Error(diff)
	}
	if text(binding, "policyName") != d.Documents[1].Name() || text(at(binding, "paramRef"), "name") != "cluster" {
		t.Error(binding)
	}
}

func TestSetImages(t *testing.T) {
	const sum = "quay.io/a@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	rows := []Image{{Kind: "Deployment", Workload: "m", Container: "manager", Key: "k"}, {Kind: "Deployment", Workload: "m", Container: "i", Init: true, Key: "j"}}
	both := pods("Deployment",
		"containers: [{name: manager, image: 'registry.invalid/k:injected'}], initContainers: [{name: i, image: 'registry.invalid/j:injected'}]")
	for name, c := range map[string]struct {
		in         string
		references References
		tags       bool
		err        string
	}{
		"both":                      {in: both, references: References{"k": sum, "j": sum}},
		"one is missing":            {in: both, references: References{"k": sum}, err: "the release has no image with the key j"},
		"a tag":                     {in: both, references: References{"k": sum, "j": "quay.io/a:v1"}, err: "by its digest"},
		"a tag where it is allowed": {in: both, references: References{"k": sum, "j": "quay.io/a:v1"}, tags: true},
		"a container without row":   {in: pods("Deployment", "containers: [{name: x, image: 'registry.invalid/k:injected'}]"), references: References{"k": sum}, err: "has no image for this container"},
		"no image":                  {in: pods("Deployment", "containers: [{name: x}]"), err: "has no image for this container"},
	} {
		t.Run(name, func(t *testing.T) {
			all := decoded(t, c.in)
			err := errors.Join(SetImages(all, rows, c.references, c.tags)...)
			if !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			if c.err == "" && strings.Contains(encoded(t, all), "registry.invalid") {
				t.Error("a placeholder is left")
			}
		})
	}
}
