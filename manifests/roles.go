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

// roles grant what the reconcilers write and the webhooks read, and nothing beside.
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
		// Nodes: their conditions decide a health check's verdict, and whether a control plane's Machine is ready.
		clusterRole(Name, rule(configv1.GroupName, read, "featuregates", "infrastructures"), rule("", read, "nodes"),
			// The cluster's TLS profile.
			named(rule(configv1.GroupName, []string{"get"}, "apiservers"), "cluster"),
			// The cloud provider's configuration, which has the cluster's subscription on Azure, and no credentials.
			named(rule("", []string{"get"}, "configmaps"), "cloud-provider-config"),
			// Whether OpenShift's own migration would refuse what Poundlock writes.
			named(rule(admissionregistrationv1.GroupName, []string{"get"}, "validatingadmissionpolicies"), authority.RivalPolicies()...),
			// By their metadata alone: whether Cluster API and its provider are installed.
			rule(apiextensionsv1.GroupName, []string{"list", "watch"}, "customresourcedefinitions"),
			// Whether what mirrors live in is being deleted, and its mark.
			named(rule(apiextensionsv1.GroupName, []string{"get", "patch"}, "customresourcedefinitions"), definitions()...)),
		clusterBinding(Name),
	}
}

// controlPlaneRoles are what the operator of ControlPlaneMachineSets needs beside: to report in its ClusterOperator, and to see whether OpenShift's own runs.
func controlPlaneRoles() []any {
	group := configv1.GroupName
	return []any{
		clusterRole(Name+"-control-plane",
			rule(group, append([]string{"create"}, read...), "clusteroperators"), // a name cannot limit create
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
	// The control plane's set has no twin. It is read as an owner, generated, and rolled out.
	return slices.Concat(objectRules(group, append(plural, controlplane.Resource)), namespaceRules(MachineAPINamespace), eventRules())
}

func clusterAPIRules() []rbacv1.PolicyRule {
	var core []string
	group := ""
	for _, k := range authority.Kinds() {
		group, core = k.ClusterAPI.Group, append(core, k.Resource)
	}
	rules := append(objectRules(group, core), infraRules()...)
	// An owner reference that blocks its owner's deletion asks for update of the owner's finalizers.
	rules = append(rules, rule(group, append([]string{"patch"}, read...), "clusters"), rule(group, []string{"update"}, "clusters/finalizers"))
	// Whether OpenShift's own migration runs.
	rules = append(rules, rule("apps", []string{"list"}, "deployments"))
	// A set that a MachineDeployment owns: whether that is being deleted. One that moves: which would make it its own.
	rules = append(rules, rule(group, []string{"get", "list"}, "machinedeployments"))
	// Whether the template of a check that moves is there. Of another remediator's the request's warning has to leave that open.
	for _, template := range remediationTemplates {
		rules = append(rules, rule(template.Group, []string{"get"}, template.Resource))
	}
	// The Lease that is never stored: a dry run asks whether Poundlock answers for this pair.
	rules = append(rules, rule("coordination.k8s.io", []string{"create"}, "leases"))
	return slices.Concat(rules, namespaceRules(ClusterAPINamespace), eventRules())
}

// remediationTemplates are those of the remediators that OpenShift's documentation names.
var remediationTemplates = []metav1.GroupResource{
	{Group: "fence-agents-remediation.medik8s.io", Resource: "fenceagentsremediationtemplates"},
	{Group: clusterv1.GroupVersionInfrastructure.Group, Resource: "metal3remediationtemplates"},
	{Group: "machine-deletion-remediation.medik8s.io", Resource: "machinedeletionremediationtemplates"},
	{Group: "self-node-remediation.medik8s.io", Resource: "selfnoderemediationtemplates"},
}

// definitions are the CRDs that mirrors live in, on every platform.
func definitions() []string {
	out := authority.Definitions()
	for _, p := range platforms.List() {
		out = append(out, p.Definitions()...)
	}
	return out
}

// namespaceRules let a Role's namespace itself be read and marked: to an API server it lies in itself.
func namespaceRules(name string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{named(rule("", []string{"get", "patch"}, "namespaces"), name)}
}

// infraRules name every platform's resources: one manifest for all clusters, and what a cluster does not have nobody can be let into.
func infraRules() []rbacv1.PolicyRule {
	var objects, clusters, instances []string
	group := ""
	for _, p := range platforms.List() {
		group = p.InfraMachine.Group // Cluster API's contract has providers share it
		objects, clusters = append(objects, p.InfraMachine.Plural, p.InfraMachineTemplate.Plural), append(clusters, p.InfraCluster.Plural)
		if i := p.InfraInstance; !i.Empty() {
			instances = append(instances, i.Plural)
		}
	}
	// What a provider keeps for an instance is made where it could not find that one otherwise, paused, and with its machine deleted.
	rules := append(objectRules(group, objects), rule(group, append([]string{"create", "delete", "patch"}, read...), instances...))
	// A control plane's failure domains are reflected into the status of an infrastructure cluster that is managed by somebody else.
	return append(rules, rule(group, append([]string{"patch"}, read...), clusters...), rule(group, amend, suffixed(clusters, "/status")...))
}

// objectRules are for resources that Poundlock mirrors: all of them, their status, and their finalizers as an owner's.
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
