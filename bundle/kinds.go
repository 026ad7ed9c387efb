// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stage is a step of an installation. The documents of one stage are applied, and ready, before the next stage begins.
type Stage int

// The stages. Workloads come before webhook configurations, so that a webhook that fails closed always has a server.
const (
	Prerequisites Stage = iota + 1 // PriorityClass
	Definitions                    // CustomResourceDefinition
	Accounts                       // ServiceAccount, ConfigMap
	Roles                          // roles, then their bindings
	Services                       // Service with its serving certificate, NetworkPolicy, PodDisruptionBudget
	Policies                       // admission policies, then their bindings
	Workloads                      // Deployment, StatefulSet, DaemonSet
	Serving                        // no documents: waits until endpoints and CA bundles are ready
	Webhooks                       // webhook configurations
	Rest                           // custom resources, and each kind that no Row of Kinds names
)

// Scope says whether objects of a kind have a namespace.
type Scope int

// The scopes. If no Row of Kinds names a kind, the kind's CustomResourceDefinition among the documents decides. Without one, the API server decides.
const (
	UnknownScope Scope = iota
	Cluster
	Namespaced
)

// Fate says what happens to the documents of a kind.
type Fate int

// The fates.
const (
	Kept Fate = iota
	Dropped
	Refused
)

// Row describes a kind: its scope, what happens to its documents, and when they are applied.
type Row struct {
	Group, Kind string // Kind * means each kind of the group
	Scope       Scope
	Fate        Fate
	Stage       Stage
	// Why explains a Fate other than Kept. It is a sentence that says what to do instead.
	Why string
	// turn is the order of the kinds within a stage.
	turn   int
	naming Naming
}

const (
	rbacGroup      = "rbac.authorization.k8s.io"
	admissionGroup = admissionregistrationv1.GroupName
	crdGroup       = apiextensionsv1.GroupName
	policyGroup    = "policy"
)

const (
	noCredentials = "a ConfigMap must not carry credentials: the cloud credential operator or the service CA creates Secrets"
	noCertManager = "OpenShift's service CA issues serving certificates, not cert-manager"
	noAggregation = "an aggregated API without a server breaks discovery: use a CustomResourceDefinition"
)

// Kinds is the only list that says which kinds are dropped, which are refused, and when the others are applied. The program that builds a bundle and the one
// that installs it both read it.
var Kinds = []Row{
	{Kind: "Namespace", Scope: Cluster, Fate: Dropped, Stage: Prerequisites, Why: "the release creates the namespace openshift-cluster-api"},
	{Kind: "Secret", Scope: Namespaced, Fate: Dropped, Stage: Accounts, Why: noCredentials},
	{Group: "cert-manager.io", Kind: "*", Scope: Namespaced, Fate: Dropped, Stage: Rest, Why: noCertManager},
	{Kind: "Pod", Scope: Namespaced, Fate: Refused, Why: "nothing recreates a Pod: use a Deployment"},
	{Group: "batch", Kind: "Job", Scope: Namespaced, Fate: Refused, Why: "a Job is immutable and does not stay applied: use a Deployment"},
	{Group: "batch", Kind: "CronJob", Scope: Namespaced, Fate: Refused, Why: "the installer cannot tell whether a CronJob works: use a Deployment"},
	{Kind: "Node", Scope: Cluster, Fate: Refused, Why: "Nodes belong to kubelets: remove it from the manifests"},
	{Kind: "PersistentVolume", Scope: Cluster, Fate: Refused, Why: "volumes belong to the cluster's storage: use a PersistentVolumeClaim"},
	{Group: "apiregistration.k8s.io", Kind: "APIService", Scope: Cluster, Fate: Refused, Why: noAggregation},

	{Group: "scheduling.k8s.io", Kind: "PriorityClass", Scope: Cluster, Stage: Prerequisites},
	{Group: crdGroup, Kind: "CustomResourceDefinition", Scope: Cluster, Stage: Definitions},
	{Kind: "ServiceAccount", Scope: Namespaced, Stage: Accounts},
	{Kind: "ConfigMap", Scope: Namespaced, Stage: Accounts},
	{Group: rbacGroup, Kind: "ClusterRole", Scope: Cluster, Stage: Roles, naming: PathSegment},
	{Group: rbacGroup, Kind: "Role", Scope: Namespaced, Stage: Roles, naming: PathSegment},
	{Group: rbacGroup, Kind: "ClusterRoleBinding", Scope: Cluster, Stage: Roles, turn: 1, naming: PathSegment},
	{Group: rbacGroup, Kind: "RoleBinding", Scope: Namespaced, Stage: Roles, turn: 1, naming: PathSegment},
	{Kind: "Service", Scope: Namespaced, Stage: Services, naming: DNSLabel},
	{Group: "networking.k8s.io", Kind: "NetworkPolicy", Scope: Namespaced, Stage: Services},
	{Group: policyGroup, Kind: "PodDisruptionBudget", Scope: Namespaced, Stage: Services, naming: PathSegment},
	{Group: admissionGroup, Kind: "ValidatingAdmissionPolicy", Scope: Cluster, Stage: Policies},
	{Group: admissionGroup, Kind: "MutatingAdmissionPolicy", Scope: Cluster, Stage: Policies},
	{Group: admissionGroup, Kind: "ValidatingAdmissionPolicyBinding", Scope: Cluster, Stage: Policies, turn: 1},
	{Group: admissionGroup, Kind: "MutatingAdmissionPolicyBinding", Scope: Cluster, Stage: Policies, turn: 1},
	{Group: "apps", Kind: "Deployment", Scope: Namespaced, Stage: Workloads},
	{Group: "apps", Kind: "StatefulSet", Scope: Namespaced, Stage: Workloads, naming: DNSLabel},
	{Group: "apps", Kind: "DaemonSet", Scope: Namespaced, Stage: Workloads},
	{Group: "apps", Kind: "ReplicaSet", Scope: Namespaced, Stage: Workloads},
	{Kind: "ReplicationController", Scope: Namespaced, Stage: Workloads},
	{Group: admissionGroup, Kind: "MutatingWebhookConfiguration", Scope: Cluster, Stage: Webhooks},
	{Group: admissionGroup, Kind: "ValidatingWebhookConfiguration", Scope: Cluster, Stage: Webhooks},

	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Scope: Namespaced, Stage: Rest},
	{Kind: "PersistentVolumeClaim", Scope: Namespaced, Stage: Accounts},
	{Kind: "ResourceQuota", Scope: Namespaced, Stage: Accounts},
	{Kind: "LimitRange", Scope: Namespaced, Stage: Accounts},
	{Kind: "Endpoints", Scope: Namespaced, Stage: Services},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice", Scope: Namespaced, Stage: Services},
	{Group: "networking.k8s.io", Kind: "Ingress", Scope: Namespaced, Stage: Services},
	{Group: "coordination.k8s.io", Kind: "Lease", Scope: Namespaced, Stage: Rest},
	{Group: "storage.k8s.io", Kind: "StorageClass", Scope: Cluster, Stage: Rest},
	{Group: "monitoring.coreos.com", Kind: "*", Scope: Namespaced, Stage: Rest},
}

// rowOf returns the Row of a kind. A kind without a Row is kept, and applied in the last stage.
func rowOf(kind schema.GroupKind) Row {
	for _, row := range Kinds {
		if row.Group == kind.Group && (row.Kind == kind.Kind || row.Kind == "*") {
			if kind.Kind == "ClusterIssuer" {
				row.Scope = Cluster
			}
			return row
		}
	}
	return Row{Group: kind.Group, Kind: kind.Kind, Stage: Rest}
}

// StageOf returns the stage in which a kind is applied.
func StageOf(kind schema.GroupKind) Stage { return rowOf(kind).Stage }

// TurnOf returns the order of a kind within its stage. A kind with a later turn, such as a binding, refers to kinds with an earlier one.
func TurnOf(kind schema.GroupKind) int { return rowOf(kind).turn }

// FateOf returns what happens to documents of a kind and, unless the kind is kept, why.
func FateOf(kind schema.GroupKind) (Fate, string) {
	row := rowOf(kind)
	return row.Fate, row.Why
}

// ScopeOf returns the scope of a document: from its Row, or else from its CustomResourceDefinition in all.
func ScopeOf(d Document, all []Document) Scope {
	if row := rowOf(d.GroupKind()); row.Scope != UnknownScope {
		return row.Scope
	}
	for _, other := range all {
		if !other.isDefinition() || definedKind(other) != d.GroupKind() {
			continue
		}
		if text(at(other.Object, "spec"), "scope") == "Cluster" {
			return Cluster
		}
		return Namespaced
	}
	return UnknownScope
}

func (d Document) isDefinition() bool { return d.is(crdGroup, "CustomResourceDefinition") }

func definedKind(crd Document) schema.GroupKind {
	spec := at(crd.Object, "spec")
	return schema.GroupKind{Group: text(spec, "group"), Kind: text(at(spec, "names"), "kind")}
}

// Check returns an error for each thing that an installer must not apply: a kind that Kinds refuses or drops, an object outside the namespace, a name that no
// API server accepts, and an object that occurs twice.
func Check(all []Document, namespace string) []error {
	var problems []error
	seen := map[string]bool{}
	for _, d := range all {
		fate, why := FateOf(d.GroupKind())
		switch {
		case fate != Kept:
			problems = append(problems, fmt.Errorf("%s: the installer does not apply this kind: %s", d.ID(), why))
		case d.Namespace() != "" && d.Namespace() != namespace:
			problems = append(problems, foreign(d, namespace))
		case d.Namespace() == "" && ScopeOf(d, all) == Namespaced:
			problems = append(problems, fmt.Errorf("%s: metadata.namespace is missing: set it to %s", d.ID(), namespace))
		}
		problems = append(problems, checkNames(d, all)...)
		key := d.Group() + "/" + d.ID() + "@" + d.Namespace()
		if seen[key] {
			problems = append(problems, fmt.Errorf("%s: two documents have this kind, namespace and name: remove one", d.ID()))
		}
		seen[key] = true
	}
	return problems
}

func foreign(d Document, namespace string) error {
	return fmt.Errorf("%s: metadata.namespace is %s, which is not the provider's: remove the object, or move it to %s", d.ID(), d.Namespace(), namespace)
}
