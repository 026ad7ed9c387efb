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

// The ClusterRoles of people who use the plugin. Each has the rights of the previous one, and is aggregated to a ClusterRole that every cluster has.
const (
	Viewer        = Name + "-viewer"
	Migrator      = Name + "-migrator"
	Administrator = Name + "-administrator"
)

// userRoles returns the roles for the commands of the plugin. The viewer may run status, check, diff, convert and controlplane plan. The migrator may also run
// migrate and controlplane activate. The administrator may also run cleanup. admission are the names of Poundlock's policies and webhook configurations.
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
		return nil // cannot happen: clusterRole returns a ClusterRole
	}
	role.Labels["rbac.authorization.k8s.io/aggregate-to-"+to] = "true"
	return role
}

// kindsOf returns the groups of the two APIs, and the names of the resources that are mirrored.
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
		// To see whether a manager holds the Lease.
		named(rule("coordination.k8s.io", []string{"get"}, "leases"), Name),
		rule("", []string{"get", "list"}, "nodes"),
		named(rule("", []string{"get"}, "configmaps"), "cloud-provider-config"),
		named(rule(admissionregistrationv1.GroupName, []string{"get"}, "validatingadmissionpolicies"), authority.RivalPolicies()...),
		// The command status first reports a webhook configuration that does not exist, a feature gate that is off, and a namespace that is being deleted.
		named(rule(admissionregistrationv1.GroupName, []string{"get"}, "mutatingwebhookconfigurations", "validatingwebhookconfigurations"), Name),
		named(rule(configv1.GroupName, []string{"get"}, "featuregates"), "cluster"),
		named(rule("", []string{"get"}, "namespaces"), MachineAPINamespace, ClusterAPINamespace),
	}
}

// provided returns a rule for the resources of Cluster API's providers on all platforms. One rule is enough, because the contract gives them one group.
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

// migratorRules returns the rules for a migration. A migration is a change of spec.authoritativeAPI. Before it, a dry run creates a Lease, which is never
// stored, to find out whether Poundlock answers.
func migratorRules() []rbacv1.PolicyRule {
	machineAPI, _, core := kindsOf()
	return []rbacv1.PolicyRule{
		rule(machineAPI, []string{"patch", "update"}, append(slices.Clone(core), controlplane.Resource)...),
		rule("coordination.k8s.io", []string{"create"}, "leases"),
	}
}

// administratorRules returns the rules for cleanup. They let it remove Poundlock's finalizers and annotations from the mirrored objects and the objects that
// mirrors depend on, and delete the policies and webhook configurations named in admission.
func administratorRules(admission []string) []rbacv1.PolicyRule {
	machineAPI, clusterAPI, core := kindsOf()
	var statuses []string
	for _, resource := range append(slices.Clone(core), controlplane.Resource) {
		statuses = append(statuses, resource+"/status")
	}
	amendable := []string{"patch", "update"}
	return []rbacv1.PolicyRule{
		rule(machineAPI, []string{"patch"}, statuses...), // to take back a move that cannot end
		rule(clusterAPI, amendable, append(slices.Clone(core), "clusters")...),
		provided(amendable),
		rule("coordination.k8s.io", []string{"get"}, "leases"),
		rule("", []string{"get", "patch"}, "namespaces"),
		named(rule(apiextensionsv1.GroupName, []string{"get", "patch"}, "customresourcedefinitions"), definitions()...),
		rule(admissionregistrationv1.GroupName, []string{"get", "list"}, admissionResources...),
		named(rule(admissionregistrationv1.GroupName, []string{"delete"}, admissionResources...), admission...),
	}
}

// admissionResources are the resources for admission whose objects cleanup deletes.
var admissionResources = []string{
	"mutatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
}
