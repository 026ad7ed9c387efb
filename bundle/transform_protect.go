// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const infrastructureGroup = "infrastructure.cluster.x-k8s.io"

// ClusterProtection adds an admission policy for each kind of infrastructure cluster. The policy refuses to delete the object that stands for this cluster
// itself.
func ClusterProtection(d *Draft) {
	if d.Provider.Type != Infrastructure {
		return
	}
	for _, doc := range slices.Clone(d.Documents) {
		spec := at(doc.Object, "spec")
		plural := text(at(spec, "names"), "plural")
		group := text(spec, "group")
		if !doc.isDefinition() || !isInfrastructure(group) || text(spec, "scope") != "Namespaced" || !strings.HasSuffix(plural, "clusters") {
			continue
		}
		for _, added := range protection(group, plural, definedKind(doc).Kind, d.Provider.Label()) {
			if !slices.ContainsFunc(d.Documents, func(have Document) bool { return have.ID() == added.ID() }) {
				d.Documents = append(d.Documents, added)
				d.record(Added, added, fmt.Sprintf("refuses to delete the %s that status.infrastructureName of Infrastructure/cluster "+
					"names", definedKind(doc).Kind))
			}
		}
	}
}

// isInfrastructure reports whether a group is the group of infrastructure providers, or a subdomain of it, such as vmware.infrastructure.cluster.x-k8s.io.
func isInfrastructure(group string) bool {
	return group == infrastructureGroup || strings.HasSuffix(group, "."+infrastructureGroup)
}

func protection(group, plural, kind, label string) []Document {
	name := Namespace + "-protect-" + plural
	if group != infrastructureGroup {
		name += "." + group // both groups may have a kind with this plural
	}
	metadata := func() map[string]any {
		return map[string]any{"name": name, "labels": map[string]any{ProviderLabel: label}}
	}
	own := "params.status.infrastructureName"
	policy := map[string]any{
		"apiVersion": admissionGroup + "/v1", "kind": "ValidatingAdmissionPolicy", "metadata": metadata(),
		"spec": map[string]any{
			"failurePolicy": "Fail",
			"paramKind":     map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure"},
			"matchConstraints": map[string]any{
				"resourceRules": []any{map[string]any{
					"apiGroups": []any{group}, "apiVersions": []any{"*"}, "operations": []any{"DELETE"}, "resources": []any{plural},
				}},
			},
			"validations": []any{map[string]any{
				"expression": fmt.Sprintf("!has(params.status) || !has(%[1]s) || oldObject.metadata.name != %[1]s", own),
				"messageExpression": fmt.Sprintf(
					"'%s ' + oldObject.metadata.name + ' represents the infrastructure of this cluster, and all machines of the cluster depend on "+
						"this object. Do not delete it.'", kind),
				"reason": "Forbidden",
			}},
		},
	}
	binding := map[string]any{
		"apiVersion": admissionGroup + "/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata(),
		"spec": map[string]any{
			"policyName":        name,
			"paramRef":          map[string]any{"name": "cluster", "parameterNotFoundAction": "Deny"},
			"validationActions": []any{"Deny"},
			"matchResources": map[string]any{
				"namespaceSelector": map[string]any{"matchLabels": map[string]any{nameOfNamespace: Namespace}},
			},
		},
	}
	return []Document{{policy}, {binding}}
}

var contractLabel = regexp.MustCompile(`^cluster\.x-k8s\.io/v[0-9][a-z0-9]*$`)

// ContractLabels adds a note for each definition that has no label with its versions for a contract. The core provider does not find such a definition.
func ContractLabels(d *Draft) {
	if d.Provider.Type == Core {
		return
	}
	for _, doc := range d.Documents {
		if !doc.isDefinition() || !strings.HasSuffix(text(at(doc.Object, "spec"), "group"), ".cluster.x-k8s.io") {
			continue
		}
		labels := at(doc.Object, "metadata", "labels")
		if !slices.ContainsFunc(slices.Collect(maps.Keys(labels)), contractLabel.MatchString) {
			d.note(doc, "this CustomResourceDefinition has no label that tells Cluster API which of its versions support a contract: add the label in "+
				"the kustomization, such as cluster.x-k8s.io/v1beta1=v1beta1")
		}
	}
}
