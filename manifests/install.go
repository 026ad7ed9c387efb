// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/reconcilers/install"
)

// Installer is the name of `poundlock install`: its ServiceAccount, Deployment, roles and Lease.
const Installer = installation.Manager

// ProviderGroups are the API groups of Cluster API and its providers. A bundle may have objects of these groups, and the installer rewrites such objects when a
// storage version changes. For a provider with another group, the installer needs one more role.
var ProviderGroups = []string{
	"addons.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "cluster.x-k8s.io", "clusterctl.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io",
	"infrastructure.cluster.x-k8s.io", "ipam.cluster.x-k8s.io", "ipam.metal3.io", "metal3.io", "runtime.cluster.x-k8s.io",
	"vmware.infrastructure.cluster.x-k8s.io",
}

// own are the verbs that the installer needs for a kind that it applies.
var own = []string{"create", "delete", "get", "list", "patch", "watch"}

// installRoles returns the roles for what the installer reads and applies. The verbs escalate and bind let the installer create the providers' roles without
// having all rights of these roles itself.
func installRoles() []any {
	return installer([]any{
		role(ClusterAPINamespace, Installer, installerRules()...),
		binding(ClusterAPINamespace, Installer),
		clusterRole(Installer, installerClusterRules()...),
		clusterBinding(Installer),
	})
}

// installer makes bindings name the installer's ServiceAccount, and gives all objects the installer's labels.
func installer(all []any) []any {
	for i := range all {
		switch o := all[i].(type) {
		case rbacv1.RoleBinding:
			o.Subjects[0].Name, o.Labels = Installer, InstallerLabels()
			all[i] = o
		case rbacv1.ClusterRoleBinding:
			o.Subjects[0].Name, o.Labels = Installer, InstallerLabels()
			all[i] = o
		case rbacv1.Role:
			o.Labels = InstallerLabels()
			all[i] = o
		case rbacv1.ClusterRole:
			o.Labels = InstallerLabels()
			all[i] = o
		}
	}
	return all
}

// InstallerLabels returns the labels of all objects of the installer.
func InstallerLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": Installer, "app.kubernetes.io/part-of": Name}
}

func installerRules() []rbacv1.PolicyRule {
	rules := appliedRules(bundle.Namespaced)
	return append(rules,
		// For its inventories, and for the content that became ready last.
		rule("", []string{"update"}, "configmaps"),
		// To see whether the service CA has written a certificate.
		rule("", []string{"list"}, "secrets"),
		rule("discovery.k8s.io", []string{"list"}, "endpointslices"),
		rule("coordination.k8s.io", []string{"create"}, "leases"),
		named(rule("coordination.k8s.io", []string{"get", "update"}, "leases"), Installer),
		rule("", []string{"create", "patch"}, "events"),
		rule("events.k8s.io", []string{"create", "patch"}, "events"),
	)
}

func installerClusterRules() []rbacv1.PolicyRule {
	var rivals []string
	for _, r := range install.Rivals {
		rivals = append(rivals, r.Name)
	}
	rules := appliedRules(bundle.Cluster)
	return append(rules,
		// A definition is never deleted, but its list of stored versions is trimmed.
		rule("apiextensions.k8s.io", slices.DeleteFunc(slices.Clone(own), func(verb string) bool { return verb == "delete" }), "customresourcedefinitions"),
		rule("apiextensions.k8s.io", []string{"get", "patch"}, "customresourcedefinitions/status"),
		rule("config.openshift.io", read, "infrastructures"),
		rule("config.openshift.io", append([]string{"create"}, read...), "clusteroperators"), // resourceNames cannot limit create
		named(rule("config.openshift.io", amend, "clusteroperators/status"), installation.OperatorName),
		// To see whether the namespace is being deleted. A Role in the namespace would be deleted with it, so this is a ClusterRole.
		named(rule("", []string{"get"}, "namespaces"), ClusterAPINamespace),
		// To see whether OpenShift's own installer runs, in either of its namespaces.
		named(rule("apps", []string{"get"}, "deployments"), rivals...),
		rbacv1.PolicyRule{APIGroups: ProviderGroups, Resources: []string{"*"}, Verbs: own},
	)
}

// appliedRules returns the rules for the kinds that bundles may have (bundle.Kinds), of one scope.
func appliedRules(scope bundle.Scope) []rbacv1.PolicyRule {
	resources := map[string][]string{}
	var groups []string
	for _, row := range bundle.Kinds {
		if row.Fate != bundle.Kept || row.Scope != scope || row.Kind == "CustomResourceDefinition" {
			continue
		}
		name := "*"
		if row.Kind != "*" {
			plural, _ := apimeta.UnsafeGuessKindToResource(runtimeschema.GroupVersionKind{Group: row.Group, Kind: row.Kind})
			name = strings.ToLower(plural.Resource)
		}
		if row.Kind == "Endpoints" {
			name = "endpoints"
		}
		if resources[row.Group] == nil {
			groups = append(groups, row.Group)
		}
		resources[row.Group] = append(resources[row.Group], name)
	}
	var out []rbacv1.PolicyRule
	for _, group := range groups {
		out = append(out, rule(group, own, resources[group]...))
		if group == rbacv1.GroupName {
			out = append(out, rule(group, []string{"bind", "escalate"}, rolesOf(resources[group])...))
		}
	}
	return out
}

func rolesOf(resources []string) []string {
	return slices.DeleteFunc(slices.Clone(resources), func(name string) bool { return strings.HasSuffix(name, "bindings") })
}
