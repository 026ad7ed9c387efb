// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// UnmovedNamespaces adds a note for each text that contains a namespace that Namespaces moves, but cannot be changed: string literals of CEL, and URLs that an
// API server calls. Only the author of such a text can decide which of its words is a namespace. UnmovedNamespaces refuses the URL of a Service, because an API
// server does not use the cluster's DNS.
func UnmovedNamespaces(d *Draft) {
	for _, doc := range d.Documents {
		switch {
		case doc.isDefinition():
			d.unmoved(doc, "spec", at(doc.Object, "spec"), false)
		case doc.Group() == admissionGroup:
			d.unmoved(doc, "", doc.Object, true)
		}
	}
}

var (
	celMembers = []string{"expression", "messageExpression", "valueExpression", "rule"}
	celLiteral = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
)

// unmoved looks for such texts in a value and below it. cel means that members named like celMembers are CEL there. Elsewhere in a definition, they may be
// properties of a schema.
func (d *Draft) unmoved(doc Document, path string, value any, cel bool) {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			d.unmoved(doc, fmt.Sprintf("%s[%d]", path, i), item, cel)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			field := strings.TrimPrefix(path+"."+key, ".")
			member, isText := asText(value[key])
			switch {
			case isText && cel && slices.Contains(celMembers, key):
				d.noteUnmoved(doc, field, strings.Join(celLiteral.FindAllString(member, -1), " "))
			case isText && key == "url" && strings.HasSuffix(path, "clientConfig"):
				if service, namespace := serviceOf(member); service != "" {
					d.refuse(doc, "%s calls Service %s of namespace %s by a DNS name, which API servers do not resolve: use clientConfig.service "+
						"instead of clientConfig.url", field, service, namespace)
					continue
				}
				d.noteUnmoved(doc, field, member)
			default:
				d.unmoved(doc, field, value[key], cel || key == "x-kubernetes-validations")
			}
		}
	}
}

func (d *Draft) noteUnmoved(doc Document, field, words string) {
	for _, own := range d.own {
		if replaceWord(words, own, Namespace) != words {
			d.note(doc, "%s may name namespace %s, and is not changed: if it does, write %s instead, with a patch in the kustomization", field, own, Namespace)
		}
	}
}

// serviceOf returns the Service of a URL such as https://SERVICE.NAMESPACE.svc:443/path, "" if the URL is not that of a Service.
func serviceOf(text string) (name, namespace string) {
	u, err := url.Parse(text)
	if err != nil {
		return "", ""
	}
	const named = 3
	if labels := strings.Split(u.Hostname(), "."); len(labels) >= named && labels[2] == "svc" {
		return labels[0], labels[1]
	}
	return "", ""
}
