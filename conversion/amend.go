// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/eventnote"
)

// Amend adds an error about something that the infrastructure cluster object must have before the machines of the cluster, or its control plane, can move.
// The message is one sentence that is the same for all of these machines, and it ends with the commands. spec is a JSON merge patch of the object, and status
// one of the object's status; either may be empty. A merge patch replaces a list, so a list in a patch must also have the existing items.
func (p *Pass) Amend(path string, value any, why, spec, status string) {
	var commands []string
	for _, patch := range []struct{ flags, content string }{{"", spec}, {"--subresource=status ", status}} {
		if patch.content != "" {
			commands = append(commands, fmt.Sprintf("kubectl patch %s %s--type=merge -p %s", p.InfraCluster(), patch.flags, Quoted(patch.content)))
		}
	}
	p.amend(path, value, why, strings.Join(commands, " && "))
}

// Quoted returns a text in single quotes for a shell.
func Quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Argument returns a text as one argument of a shell command: Quoted if necessary, otherwise unchanged.
func Argument(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,:/@=+%", r)
	}
	if text != "" && strings.TrimFunc(text, plain) == "" {
		return text
	}
	return Quoted(text)
}

// Replace adds an error like Amend's, for a field that the provider's webhook accepts only at the creation of the infrastructure cluster object. So the
// command in the message replaces the object (see Replacement). patch is a JSON merge patch.
func (p *Pass) Replace(path string, value any, why, patch string) {
	p.amend(path, value, why+". The provider accepts this field only when the infrastructure cluster object is created, so replace the "+
		"object", p.Replacement(patch))
}

// allowDeletion is the annotation with which a user lets Poundlock accept the deletion of an object that mirrors depend on, such as the infrastructure
// cluster object.
const allowDeletion = "poundlock.openshift.io/allow-deletion"

// Replacement returns the command that replaces the infrastructure cluster object with a copy to which a JSON merge patch has been applied. The command first
// sets the annotation that allows the deletion, because Poundlock refuses the deletion while mirrors need the object. The copy does not have this annotation.
// If the object has finalizers, the command also pauses the object, removes the finalizers before the replacement, and deletes with --cascade=orphan.
// Otherwise the provider's controller, or the garbage collector, would delete the cluster's network.
func (p *Pass) Replacement(patch string) string {
	object, content := &unstructured.Unstructured{Object: p.Env.InfraCluster}, map[string]any{}
	if err := json.Unmarshal([]byte(patch), &content); err != nil {
		return "kubectl edit " + p.InfraCluster()
	}
	annotate, gone := []string{allowDeletion + "=true"}, map[string]any{allowDeletion: nil}
	held := len(object.GetFinalizers()) > 0
	if _, paused := object.GetAnnotations()[clusterv1.PausedAnnotation]; held && !paused {
		annotate, gone[clusterv1.PausedAnnotation] = append(annotate, clusterv1.PausedAnnotation+"="), nil
	}
	content["metadata"] = map[string]any{"annotations": gone}
	raw, err := json.Marshal(content)
	if err != nil {
		return "kubectl edit " + p.InfraCluster()
	}
	allow := fmt.Sprintf("kubectl annotate %s --overwrite %s", p.InfraCluster(), strings.Join(annotate, " "))
	patched := fmt.Sprintf("kubectl get %s -o json | kubectl patch --local -f - --type=merge -p %s -o json", p.InfraCluster(), Quoted(string(raw)))
	if !held {
		return allow + " && " + patched + " | kubectl replace --force -f -"
	}
	return fmt.Sprintf(`%s && %s > infracluster.json && kubectl patch %s --type=merge -p '{"metadata":{"finalizers":null}}' && `+
		`kubectl replace --force --cascade=orphan -f infracluster.json`,
		allow, patched, p.InfraCluster())
}

// Apply adds an error like Amend's, for one item of a list that has keys. The command in the message is a server-side apply, so the message is only as long
// as the item, and not as long as the whole list. If there are several items, each one is applied with its own field manager (the parameter manager). With a
// common field manager, applying one item would remove the others.
func (p *Pass) Apply(path string, value any, manager, why string, spec map[string]any) {
	kind := p.Env.Platform.InfraCluster
	manifest, err := json.Marshal(map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind,
		"metadata": map[string]any{"name": p.Env.ClusterName, "namespace": p.Env.ClusterAPINamespace}, "spec": spec})
	if err != nil {
		p.Add(field.InternalError(field.NewPath(path), err))
		return
	}
	p.amend(path, value, why, fmt.Sprintf("echo %s | kubectl apply --server-side --field-manager=%s -f -", Quoted(string(manifest)), Quoted(manager)))
}

func (p *Pass) amend(path string, value any, why, command string) {
	p.Under(p.Env.Platform.InfraCluster.Kind).Command(path, value, why, command, "Make the change by hand: kubectl edit "+p.InfraCluster())
}

// Inherits adds an error about a tag or label that Cluster API copies from a list of the infrastructure cluster object to each machine, while Machine API
// would not. name and value are those of the tag or label. own says what to do about it in the machine itself, "" for nothing. patch is a JSON merge patch of
// the infrastructure cluster object that removes it there.
func (p *Pass) Inherits(path, list, name, value, own string, patch map[string]any) {
	content, err := json.Marshal(patch)
	if err != nil {
		p.Add(field.InternalError(field.NewPath(path), err))
		return
	}
	kind := p.Env.Platform.InfraCluster.Kind
	p.Command(path+"["+name+"]", value, fmt.Sprintf("Cluster API copies this entry from %s of the %s to each machine, but Machine API does not: %sremove "+
		"the entry from the %[2]s, for all Machines of the cluster", list, kind, own),
		fmt.Sprintf("kubectl patch %s --type=merge -p %s", p.InfraCluster(), Quoted(string(content))),
		"Make the change by hand: kubectl edit "+p.InfraCluster())
}

// Command adds an error about a value that is valid, but that the other API cannot express, like Unsupported. The message is why, followed by command.
// Command may shorten why, but never the command. If the command is too long for a message, the message has the text otherwise in its place.
func (p *Pass) Command(path string, value any, why, command, otherwise string) {
	if p.Unsupported(path, value, eventnote.Cut(why, longestWhy)); len(command) > longestCommand {
		command = "the command that makes this change is too long for a message. " + otherwise
	}
	last := (*p.errs)[len(*p.errs)-1]
	last.Detail += ": " + command
}

// InfraCluster returns the infrastructure cluster object as arguments of kubectl: resource, name and namespace.
func (p *Pass) InfraCluster() string {
	kind := p.Env.Platform.InfraCluster
	return fmt.Sprintf("%s.%s %s -n %s", strings.ToLower(kind.Kind), kind.Group, p.Env.ClusterName, p.Env.ClusterAPINamespace)
}
