// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// surroundings returns the kinds of the objects that mirrors live in or depend on.
func surroundings(o Options) []kind {
	machine, _ := authority.KindNamed("Machine")
	out := []kind{
		{authority.Namespace, "namespaces", schema.GroupVersion{Version: "v1"}, true},
		{authority.Definition, "customresourcedefinitions", schema.GroupVersion{Group: apiextensionsv1.GroupName, Version: "v1"}, true},
		{authority.Cluster, "clusters", machine.ClusterAPI, false},
	}
	for _, r := range o.InfraClusters {
		out = append(out, kind{authority.InfraCluster, r.Resource, r.GroupVersion(), false})
	}
	return out
}

// infraClusters is an expression that is true if a request about surroundings is about a provider's cluster. Each provider has its own kind of cluster, so the
// expression checks the API group. No other surroundings are of this group.
const infraClusters = `request.kind.group == "infrastructure.cluster.x-k8s.io"`

// Kept returns an expression that is true if the rule authority/surroundings or authority/delete-unknown-instance may refuse a request. They may if the request
// deletes an object with HoldsMirrorsAnnotation, or if it changes or removes that annotation although nobody has allowed the deletion.
func Kept() string {
	return fmt.Sprintf(`%[1]s != '' && (request.operation == "DELETE" || !(%[2]s in %[4]s) && %[3]s != %[1]s)`,
		annotation("dyn(oldObject)", authority.HoldsMirrorsAnnotation), annotation("dyn(oldObject)", authority.AllowDeletionAnnotation),
		annotation("dyn(object)", authority.HoldsMirrorsAnnotation), quoteAll(authority.Allows()))
}

// LosesMark returns an expression that is true if an update removes HoldsMirrorsAnnotation from an object whose deletion nobody has allowed.
func LosesMark() string {
	return fmt.Sprintf(`%s != '' && %s == '' && !(%s in %s)`, annotation("dyn(oldObject)", authority.HoldsMirrorsAnnotation),
		annotation("dyn(object)", authority.HoldsMirrorsAnnotation), annotation("dyn(oldObject)", authority.AllowDeletionAnnotation), quoteAll(authority.Allows()))
}

// annotation returns an expression for the value of an annotation. Its value is an empty string if there is no such annotation.
func annotation(of, name string) string {
	return fmt.Sprintf(`%s.metadata.?annotations[?%q].orValue('')`, of, name)
}

// surroundingsVariables returns the variables that only the twin of authority/surroundings uses.
func surroundingsVariables(o Options) []admissionregistrationv1.Variable {
	return []admissionregistrationv1.Variable{
		variable("mark", annotation("variables.was", authority.HoldsMirrorsAnnotation)),
		variable("follows", fmt.Sprintf(
			`(request.kind.kind == %[1]q || %[2]s) && request.userInfo.username in %[3]s && namespaceObject != null && `+
				`namespaceObject.?status.phase.orValue('') == "Terminating" || %[2]s && request.userInfo.username in %[4]s`,
			authority.Cluster, infraClusters, quoteAll(o.Identities[policies.NamespaceController]),
			quoteAll(slices.Concat(o.Identities[policies.ClusterAPIController], o.Identities[policies.GarbageCollector])))),
		variable("allows", annotation(`(request.operation == "DELETE" ? variables.was : variables.is)`, authority.AllowDeletionAnnotation)),
		variable("notAllowed", fmt.Sprintf(`variables.allows == '' ? '' : " (%s allows its deletion only with the value %s)"`,
			authority.AllowDeletionAnnotation, authority.AllowsDeletion)),
		variable("allow", fmt.Sprintf(`"kubectl " + (request.kind.kind in %s ? '' : "-n " + request.namespace + " ") + "annotate --overwrite " + `+
			`request.resource.resource + (request.resource.group == '' ? '' : "." + request.resource.group) + " " + variables.was.metadata.name + " %s=%s"`,
			quoteAll([]string{authority.Namespace, authority.Definition}), authority.AllowDeletionAnnotation, authority.AllowsDeletion)),
	}
}
