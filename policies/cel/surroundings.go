// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// surroundings are the kinds in which mirrors live.
func surroundings() []kind {
	machine, _ := authority.KindNamed("Machine")
	return []kind{
		{authority.Namespace, "namespaces", schema.GroupVersion{Version: "v1"}, true},
		{authority.Definition, "customresourcedefinitions", schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}, true},
		{authority.Cluster, "clusters", machine.ClusterAPI, false},
	}
}

// Kept reports whether a request may be one that the rule authority/surroundings refuses: it is about a marked object, whose deletion nobody has
// allowed, and it deletes the object or removes the mark.
func Kept() string {
	return fmt.Sprintf(`%[1]s != '' && %[2]s == '' && (request.operation == "DELETE" || %[3]s != %[1]s)`,
		annotation("dyn(oldObject)", authority.HoldsMirrorsAnnotation), annotation("dyn(oldObject)", authority.AllowDeletionAnnotation),
		annotation("dyn(object)", authority.HoldsMirrorsAnnotation))
}

// annotation is the value of an annotation, ” where there is none.
func annotation(of, name string) string {
	return fmt.Sprintf(`%s.metadata.?annotations[?%q].orValue('')`, of, name)
}

// surroundingsVariables are what the twin of authority/surroundings is made from, beside what is shared.
func surroundingsVariables(o Options) []admissionregistrationv1.Variable {
	return []admissionregistrationv1.Variable{
		variable("mark", annotation("variables.was", authority.HoldsMirrorsAnnotation)),
		variable("byNamespaceController", "request.userInfo.username in "+quoteAll(o.Identities[policies.NamespaceController])),
		variable("allow", fmt.Sprintf(`"kubectl " + (request.kind.kind == %q ? "-n " + request.namespace + " " : '') + "annotate " + request.resource.resource + `+
			`(request.resource.group == '' ? '' : "." + request.resource.group) + " " + variables.was.metadata.name + " %s=true"`, authority.Cluster, authority.AllowDeletionAnnotation)),
	}
}
