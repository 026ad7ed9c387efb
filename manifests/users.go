// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// The ClusterRoles of people who use the plugin. Each has the rights of the one before, and is aggregated to a role that every cluster has.
const (
	Viewer        = Name + "-viewer"
	Migrator      = Name + "-migrator"
	Administrator = Name + "-administrator"
)

// userRoles grant what each command of the plugin needs: the viewer's status, check, diff, convert and controlplane plan; the migrator's
// migrate and controlplane activate; the administrator's cleanup.
func userRoles(admission []string) []any {
	views, moves := viewerRules(), migratorRules()
	return []any{
		aggregated("view", Viewer, views...),
		aggregated("edit", Migrator, slices.Concat(views, moves)...),
		aggregated("admin", Administrator, slices.Concat(views, moves, administratorRules(admission))...),
	}
}

func aggregated(to, name string, rules ...rbacv1.PolicyRule) any {
	role, is := clusterRole(name, rules...).(rbacv1.ClusterRole)
	if !is {
		return nil // it is one
	}
	role.Labels["rbac.authorization.k8s.io/aggregate-to-"+to] = "true"
	return role
}

// kindsOf are the groups of the two APIs, and the resources that are mirrored.
func kindsOf() (machineAPI, clusterAPI string, core []string) {
	for _, k := range authority.Kinds() {
		machineAPI, clusterAPI, core = k.MachineAPI.Group, k.ClusterAPI.Group, append(core, k.Resource)
	}
	return machineAPI, clusterAPI, core
}

func viewerRules() []rbacv1.PolicyRule {
	machineAPI, clusterAPI, core := kindsOf()
	return []rbacv1.PolicyRule{
		rule(machineAPI, read, append(slices.Clone(core), controlplane.Resource)...),
		rule(clusterAPI, read, append(slices.Clone(core), "clusters")...),
		provided(read),
		rule(configv1.GroupName, []string{"get", "list"}, "infrastructures", "clusteroperators"),
		rule("apps", []string{"get", "list"}, "deployments"),
		// Whether a manager leads.
		named(rule("coordination.k8s.io", []string{"get"}, "leases"), Name),
		rule("", []string{"get", "list"}, "nodes"),
		named(rule("", []string{"get"}, "configmaps"), "cloud-provider-config"),
		named(rule(admissionregistrationv1.GroupName, []string{"get"}, "validatingadmissionpolicies"), authority.RivalPolicies()...),
		// What status begins with: that a webhook configuration does not exist, that the feature gate is off, that a namespace is being deleted.
		named(rule(admissionregistrationv1.GroupName, []string{"get"}, "mutatingwebhookconfigurations", "validatingwebhookconfigurations"), Name),
		named(rule(configv1.GroupName, []string{"get"}, "featuregates"), "cluster"),
		named(rule("", []string{"get"}, "namespaces"), MachineAPINamespace, ClusterAPINamespace),
	}
}

// provided is a rule for what Cluster API's providers have on all platforms: the contract gives them one group.
func provided(verbs []string) rbacv1.PolicyRule {
	var plural []string
	group := ""
	for _, p := range platforms.List() {
		group = p.InfraCluster.Group
		for _, r := range p.Resources() {
			plural = append(plural, r.Plural)
		}
	}
	return rule(group, verbs, plural...)
}

// migratorRules: a migration is a change of spec.authoritativeAPI. The Lease is never stored: a dry run asks whether Poundlock answers.
func migratorRules() []rbacv1.PolicyRule {
	machineAPI, _, core := kindsOf()
	return []rbacv1.PolicyRule{
		rule(machineAPI, []string{"patch", "update"}, append(slices.Clone(core), controlplane.Resource)...),
		rule("coordination.k8s.io", []string{"create"}, "leases"),
	}
}

// administratorRules let finalizers and marks be taken off all that is mirrored or that mirrors live in, and the admission of these names be deleted.
func administratorRules(admission []string) []rbacv1.PolicyRule {
	machineAPI, clusterAPI, core := kindsOf()
	var statuses []string
	for _, resource := range append(slices.Clone(core), controlplane.Resource) {
		statuses = append(statuses, resource+"/status")
	}
	amendable := []string{"patch", "update"}
	return []rbacv1.PolicyRule{
		rule(machineAPI, []string{"patch"}, statuses...), // a move that cannot end is taken back
		rule(clusterAPI, amendable, append(slices.Clone(core), "clusters")...),
		provided(amendable),
		rule("coordination.k8s.io", []string{"get"}, "leases"),
		rule("", []string{"get", "patch"}, "namespaces"),
		named(rule(apiextensionsv1.GroupName, []string{"get", "patch"}, "customresourcedefinitions"), definitions()...),
		rule(admissionregistrationv1.GroupName, []string{"get", "list"}, admissionResources...),
		named(rule(admissionregistrationv1.GroupName, []string{"delete"}, admissionResources...), admission...),
	}
}

// admissionResources are what cleanup takes down.
var admissionResources = []string{
	"mutatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
}
