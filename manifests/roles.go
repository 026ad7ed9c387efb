// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

var (
	read  = []string{"get", "list", "watch"}
	write = []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	amend = []string{"get", "patch", "update"}
)

// roles returns the roles and bindings for what the reconcilers write and the webhooks read, and nothing else.
func roles() []any {
	return []any{
		role(MachineAPINamespace, Name, machineAPIRules()...),
		binding(MachineAPINamespace, Name),
		role(ClusterAPINamespace, Name, clusterAPIRules()...),
		binding(ClusterAPINamespace, Name),
		role(ClusterAPINamespace, Name+"-leader-election",
			rule("coordination.k8s.io", []string{"create"}, "leases"),
			named(rule("coordination.k8s.io", []string{"get", "update"}, "leases"), Name)),
		binding(ClusterAPINamespace, Name+"-leader-election"),
		// Nodes, because their conditions decide a health check's verdict, and whether a Machine of the control plane is ready.
		clusterRole(Name, rule(configv1.GroupName, read, "featuregates", "infrastructures"), rule("", read, "nodes"),
			// For the cluster's TLS security profile.
			named(rule(configv1.GroupName, []string{"get"}, "apiservers"), "cluster"),
			// For the cloud provider's configuration. On Azure it has the cluster's subscription; it has no credentials.
			named(rule("", []string{"get"}, "configmaps"), "cloud-provider-config"),
			// To see whether OpenShift's own migration would refuse what Poundlock writes.
			named(rule(admissionregistrationv1.GroupName, []string{"get"}, "validatingadmissionpolicies"), authority.RivalPolicies()...),
			// Only their metadata: to see whether Cluster API and its provider are installed.
			rule(apiextensionsv1.GroupName, []string{"list", "watch"}, "customresourcedefinitions"),
			// To see whether a definition that mirrors depend on is being deleted, and to annotate the definition.
			named(rule(apiextensionsv1.GroupName, []string{"get", "patch"}, "customresourcedefinitions"), definitions()...)),
		clusterBinding(Name),
	}
}

// controlPlaneRoles returns the further rights of the operator of ControlPlaneMachineSets: to report in its ClusterOperator, and to see whether OpenShift's own
// operator runs.
func controlPlaneRoles() []any {
	group := configv1.GroupName
	return []any{
		clusterRole(Name+"-control-plane",
			rule(group, append([]string{"create"}, read...), "clusteroperators"), // resourceNames cannot limit create
			named(rule(group, amend, "clusteroperators/status"), controlplane.OperatorName),
			named(rule("apps", []string{"get"}, "deployments"), controlplane.OtherOperator)),
		clusterBinding(Name + "-control-plane"),
	}
}

func machineAPIRules() []rbacv1.PolicyRule {
	var plural []string
	group := ""
	for _, k := range authority.Kinds() {
		group, plural = k.MachineAPI.Group, append(plural, k.Resource)
	}
	// The ControlPlaneMachineSet has no counterpart in Cluster API. Poundlock reads it as an owner, generates it, and rolls it out.
	return slices.Concat(objectRules(group, append(plural, controlplane.Resource)), namespaceRules(MachineAPINamespace), eventRules())
}

func clusterAPIRules() []rbacv1.PolicyRule {
	var core []string
	group := ""
	for _, k := range authority.Kinds() {
		group, core = k.ClusterAPI.Group, append(core, k.Resource)
	}
	rules := append(objectRules(group, core), infraRules()...)
	// To set an owner reference that blocks its owner's deletion, a client needs update of the owner's finalizers.
	rules = append(rules, rule(group, append([]string{"patch"}, read...), "clusters"), rule(group, []string{"update"}, "clusters/finalizers"))
	// To see whether OpenShift's own migration runs.
	rules = append(rules, rule("apps", []string{"list"}, "deployments"))
	// For a MachineSet that a MachineDeployment owns, to see whether the MachineDeployment is being deleted. For a MachineSet that moves, to see which
	// MachineDeployment would adopt it. For a template, to see whether a MachineDeployment refers to it.
	rules = append(rules, rule(group, read, "machinedeployments"))
	// To see whether the template of a MachineHealthCheck that moves exists. For the template of any other remediator, the warning about the request has to
	// leave that open.
	for _, template := range remediationTemplates {
		rules = append(rules, rule(template.Group, []string{"get"}, template.Resource))
	}
	// A dry run creates a Lease to find out whether Poundlock answers for this pair of namespaces. The Lease is never stored.
	rules = append(rules, rule("coordination.k8s.io", []string{"create"}, "leases"))
	return slices.Concat(rules, namespaceRules(ClusterAPINamespace), eventRules())
}

// remediationTemplates are the templates of the remediators that OpenShift's documentation names.
var remediationTemplates = []metav1.GroupResource{
	{Group: "fence-agents-remediation.medik8s.io", Resource: "fenceagentsremediationtemplates"},
	{Group: clusterv1.GroupVersionInfrastructure.Group, Resource: "metal3remediationtemplates"},
	{Group: "machine-deletion-remediation.medik8s.io", Resource: "machinedeletionremediationtemplates"},
	{Group: "self-node-remediation.medik8s.io", Resource: "selfnoderemediationtemplates"},
}

// definitions returns the names of the CRDs that mirrors depend on, on every platform.
func definitions() []string {
	out := authority.Definitions()
	for _, p := range platforms.List() {
		out = append(out, p.Definitions()...)
	}
	return out
}

// namespaceRules lets the Role's own namespace be read and annotated. A Role can grant that, because to an API server a Namespace object is in itself.
func namespaceRules(name string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{named(rule("", []string{"get", "patch"}, "namespaces"), name)}
}

// infraRules returns the rules for the infrastructure resources of every platform, because one manifest serves all clusters. A rule for a resource that a
// cluster does not have grants nothing.
func infraRules() []rbacv1.PolicyRule {
	var objects, clusters, instances []string
	group := ""
	for _, p := range platforms.List() {
		group = p.InfraMachine.Group // all platforms have the same group, by Cluster API's contract
		objects, clusters = append(objects, p.InfraMachine.Plural, p.InfraMachineTemplate.Plural), append(clusters, p.InfraCluster.Plural)
		if i := p.InfraInstance; !i.Empty() {
			instances = append(instances, i.Plural)
		}
	}
	// Some providers keep an object of their own for each instance. Poundlock creates this object, paused, if the provider could not find the instance
	// otherwise. It deletes the object together with the machine.
	rules := append(objectRules(group, objects), rule(group, append([]string{"create", "delete", "patch"}, read...), instances...))
	// Poundlock copies a control plane's failure domains into the status of an infrastructure cluster that somebody else manages.
	return append(rules, rule(group, append([]string{"patch"}, read...), clusters...), rule(group, amend, suffixed(clusters, "/status")...))
}

// objectRules returns the rules for resources that Poundlock mirrors: the objects, their status, and their finalizers, which it needs for owner references to
// them.
func objectRules(group string, plural []string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(group, write, plural...),
		rule(group, amend, suffixed(plural, "/status")...),
		rule(group, []string{"update"}, suffixed(plural, "/finalizers")...),
	}
}

func eventRules() []rbacv1.PolicyRule {
	verbs := []string{"create", "patch"}
	return []rbacv1.PolicyRule{rule("", verbs, "events"), rule("events.k8s.io", verbs, "events")}
}

func suffixed(names []string, suffix string) []string {
	out := slices.Clone(names)
	for i := range out {
		out[i] += suffix
	}
	return out
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

func named(r rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	r.ResourceNames = names
	return r
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: Labels()}
}

func role(namespace, name string, rules ...rbacv1.PolicyRule) any {
	return rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: meta(namespace, name), Rules: rules,
	}
}

func binding(namespace, name string) any {
	return rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: meta(namespace, name), Subjects: subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) any {
	return rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: meta("", name), Rules: rules,
	}
}

func clusterBinding(name string) any {
	return rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: meta("", name), Subjects: subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}
}

func subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ClusterAPINamespace, Name: Name}}
}
