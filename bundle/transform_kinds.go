// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// RefusedKinds refuses the documents of kinds whose Fate in Kinds is Refused.
func RefusedKinds(d *Draft) {
	for _, doc := range d.Documents {
		if fate, why := FateOf(doc.GroupKind()); fate == Refused {
			d.refuse(doc, "this kind cannot be in a bundle: %s", why)
		}
	}
}

// DroppedKinds removes the documents of kinds whose Fate in Kinds is Dropped.
func DroppedKinds(d *Draft) {
	d.remove(func(doc Document) string {
		if fate, why := FateOf(doc.GroupKind()); fate == Dropped {
			return why
		}
		return ""
	})
}

// remove removes the documents for which the function reason returns a reason, and records each.
func (d *Draft) remove(reason func(Document) string) {
	var kept []Document
	for _, doc := range d.Documents {
		if why := reason(doc); why != "" {
			d.record(Removed, doc, why)
			continue
		}
		kept = append(kept, doc)
	}
	d.Documents = kept
}

// ServerFields removes the fields that the API server writes.
func ServerFields(d *Draft) {
	for _, doc := range d.Documents {
		metadata := at(doc.Object, "metadata")
		for _, key := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
			d.unset(doc, metadata, "metadata.", key)
		}
		d.unset(doc, at(doc.Object, "spec", "template", "metadata"), "spec.template.metadata.", "creationTimestamp")
		d.unset(doc, doc.Object, "", "status")
	}
}

func (d *Draft) unset(doc Document, o map[string]any, path, key string) {
	value, has := o[key]
	if !has {
		return
	}
	delete(o, key)
	if value != nil { // empty fields, which controller-gen and kustomize leave, are removed without a record
		d.changed(doc, "%s%s removed", path, key)
	}
}

// TemplatedKeys removes labels and annotations whose key contains a variable.
func TemplatedKeys(d *Draft) {
	for _, doc := range d.Documents {
		for _, at := range []map[string]any{at(doc.Object, "metadata"), at(doc.Object, "spec", "template", "metadata")} {
			for _, member := range []string{"labels", "annotations"} {
				d.dropTemplated(doc, at, member)
			}
		}
	}
}

func (d *Draft) dropTemplated(doc Document, metadata map[string]any, member string) {
	values, _ := metadata[member].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if strings.Contains(key, "${") {
			delete(values, key)
			d.changed(doc, "%s %q removed", strings.TrimSuffix(member, "s"), key)
		}
	}
	if values != nil && len(values) == 0 {
		delete(metadata, member)
	}
}

// Namespaces moves all objects, and the references to their namespaces, to the namespace of Cluster API. It refuses objects of namespaces that are not the
// provider's own.
func Namespaces(d *Draft) {
	for _, doc := range d.Documents {
		d.move(doc)
		m := mover{own: d.own, moved: map[string]bool{}}
		if doc.isDefinition() {
			m.walk(at(doc.Object, "spec", "conversion"), false)
		} else {
			m.walk(doc.Object, false)
		}
		switch moved := slices.Sorted(maps.Keys(m.moved)); len(moved) {
		case 0:
		case 1:
			d.changed(doc, "references to namespace %s changed to %s", moved[0], Namespace)
		default:
			d.changed(doc, "references to namespaces %s changed to %s", strings.Join(moved, ", "), Namespace)
		}
	}
}

func (d *Draft) move(doc Document) {
	metadata := at(doc.Object, "metadata")
	scope := ScopeOf(doc, d.Documents)
	switch namespace := doc.Namespace(); {
	case namespace == "" && scope == UnknownScope:
		if fate, _ := FateOf(doc.GroupKind()); fate == Kept {
			d.note(doc, "metadata.namespace is missing, and no definition in the manifests says whether %s has a namespace: "+
				"set it to %s if it has one, or the installer refuses the object",
				doc.GroupKind(), Namespace)
		}
	case namespace == "" && scope != Namespaced, namespace == Namespace && scope != Cluster:
	case scope == Cluster:
		delete(metadata, "namespace")
		d.changed(doc, "metadata.namespace removed")
	case namespace == "" || slices.Contains(d.own, namespace):
		metadata["namespace"] = Namespace
		d.changed(doc, "metadata.namespace is %s", Namespace)
	default:
		d.problems = append(d.problems, foreign(doc, Namespace))
	}
}

// mover replaces references to the provider's own namespaces by the namespace of Cluster API.
type mover struct {
	own   []string
	moved map[string]bool
}

const nameOfNamespace = corev1.LabelMetadataName

// walk replaces the namespaces in a value and below it. They occur in members whose name ends in "namespace", in selectors by a namespace's name, and as words
// in what a container is started with and in names of hosts. words means that value is of the last kind.
func (m *mover) walk(value any, words bool) {
	switch value := value.(type) {
	case map[string]any:
		_, named := value["name"]
		_, probed := value["port"]
		for key, member := range value {
			inWords := words || slices.Contains([]string{"args", "command", "data", "externalName", "hostnames", "searches"}, key) ||
				named && key == "value" || probed && key == "host"
			switch whole := strings.HasSuffix(strings.ToLower(key), "namespace") || key == nameOfNamespace; {
			case whole || inWords:
				value[key] = m.replaced(member, whole)
			case key == "values" && text(value, "key") == nameOfNamespace, key == "matchNames",
				key == "resourceNames" && slices.Contains(texts(value, "resources"), "namespaces"):
				m.each(member)
			case key == "name":
				value[key] = m.account(value)
			}
			m.walk(value[key], inWords)
		}
	case []any:
		for i, item := range value {
			if words {
				value[i] = m.replaced(item, false)
			}
			m.walk(value[i], words)
		}
	}
}

func (m *mover) each(list any) {
	items, _ := list.([]any)
	for i, item := range items {
		items[i] = m.replaced(item, true)
	}
}

// account returns the name of a subject in the new namespace. A subject may name a ServiceAccount as a user, and all ServiceAccounts of a namespace as a group.
// Any other name stays.
func (m *mover) account(subject map[string]any) any {
	kind, name := text(subject, "kind"), text(subject, "name")
	user, isUser := strings.CutPrefix(name, "system:serviceaccount:")
	namespace, account, _ := strings.Cut(user, ":")
	group, isGroup := strings.CutPrefix(name, "system:serviceaccounts:")
	switch {
	case kind == "User" && isUser && m.is(namespace):
		return "system:serviceaccount:" + Namespace + ":" + account
	case kind == "Group" && isGroup && m.is(group):
		return "system:serviceaccounts:" + Namespace
	}
	return subject["name"]
}

// is reports whether a namespace is one of the provider's own. If so, it records that references to it have changed.
func (m *mover) is(namespace string) bool {
	if !slices.Contains(m.own, namespace) {
		return false
	}
	m.moved[namespace] = true
	return true
}

func (m *mover) replaced(value any, whole bool) any {
	before, isText := asText(value)
	if !isText {
		return value
	}
	if whole {
		if m.is(before) {
			return retype(value, Namespace)
		}
		return value
	}
	after := before
	for _, own := range m.own {
		if next := replaceWord(after, own, Namespace); next != after {
			m.moved[own], after = true, next
		}
	}
	return retype(value, after)
}

// replaceWord replaces a word in a text where the word is a whole DNS label. After a single slash it is part of a path, and stays.
func replaceWord(text, word, by string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return out.String() + text
		}
		before, after := out.String()+text[:i], text[i+len(word):]
		out.WriteString(text[:i])
		path := strings.HasSuffix(before, "/") && !strings.HasSuffix(before, "//")
		if path || endsInLabel(before) || beginsInLabel(after) {
			out.WriteString(word)
		} else {
			out.WriteString(by)
		}
		text = after
	}
}

func inLabel(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func endsInLabel(s string) bool   { return s != "" && inLabel(s[len(s)-1]) }
func beginsInLabel(s string) bool { return s != "" && inLabel(s[0]) }

// Labels writes the provider's label to each object. It also adds the label to pod templates without it, and to the selectors that match such a template. This
// is necessary because all providers share one namespace: a selector such as control-plane=controller-manager would match the pods of every provider.
func Labels(d *Draft) {
	label := d.Provider.Label()
	for _, doc := range d.Documents {
		d.set(doc, ensure(doc.Object, "metadata", "labels"), "label "+ProviderLabel, ProviderLabel, label)
	}
	for _, p := range d.pods() {
		before, _ := deepCopy(p.labels()).(map[string]any)
		value := text(before, ProviderLabel)
		if value == "" {
			value = label
			d.set(p.Document, ensure(p.template, "metadata", "labels"), "the pods' label "+ProviderLabel, ProviderLabel, value)
		}
		for _, doc := range d.Documents {
			selector := selectorOf(doc)
			if (doc.ID() == p.ID() || !doc.IsWorkload()) && selects(selector, before) && text(selector, ProviderLabel) == "" {
				d.set(doc, selector, "the selector's label "+ProviderLabel, ProviderLabel, value)
			}
		}
	}
}

// selectorOf returns the labels by which a document selects pods, nil if it selects none.
func selectorOf(doc Document) map[string]any {
	spec := at(doc.Object, "spec")
	switch {
	case doc.is("", "Service"), doc.is("", "ReplicationController"):
		return at(spec, "selector")
	case doc.is("networking.k8s.io", "NetworkPolicy"):
		return at(spec, "podSelector", "matchLabels")
	case doc.IsWorkload(), doc.is(policyGroup, "PodDisruptionBudget"):
		return at(spec, "selector", "matchLabels")
	}
	return nil
}

// NeededSecrets adds a note for each Secret that a pod needs and that neither the bundle nor the service CA creates.
func NeededSecrets(d *Draft) {
	for _, p := range d.pods() {
		needed := map[string]bool{}
		for secret := range p.mountedSecrets() {
			needed[secret] = true
		}
		for _, c := range p.containers() {
			for _, env := range objects(c.object, "env") {
				needed[text(at(env, "valueFrom", "secretKeyRef"), "name")] = true
			}
			for _, from := range objects(c.object, "envFrom") {
				needed[text(at(from, "secretRef"), "name")] = true
			}
		}
		delete(needed, "")
		for _, secret := range slices.Sorted(maps.Keys(needed)) {
			if !d.issued[secret] {
				d.note(p.Document, "the pods need Secret %s, which the bundle does not create: have the Secret created, for example by a "+
					"CredentialsRequest", secret)
			}
		}
	}
}
