// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	preDrain     = clusterv1.PreDrainDeleteHookAnnotationPrefix + "/"
	preTerminate = clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/"
	// shortest is Machine API's minimum length of a hook's name and owner.
	shortest = 3
)

// isHook reports whether Cluster API treats an annotation as a deletion hook: the annotation's name begins with one of the two prefixes, even if no slash
// follows the prefix.
func isHook(annotation string) bool {
	return strings.HasPrefix(annotation, clusterv1.PreDrainDeleteHookAnnotationPrefix) ||
		strings.HasPrefix(annotation, clusterv1.PreTerminateDeleteHookAnnotationPrefix)
}

func hooksTo(p *pass, m *mapiMachine, c *capiMachine) {
	annotate(p, "spec.lifecycleHooks.preDrain", preDrain, m.Spec.LifecycleHooks.PreDrain, &c.Metadata)
	annotate(p, "spec.lifecycleHooks.preTerminate", preTerminate, m.Spec.LifecycleHooks.PreTerminate, &c.Metadata)
}

func annotate(p *pass, path, prefix string, hooks []machinev1beta1.LifecycleHook, c *metadata) {
	for i, h := range hooks {
		path := fmt.Sprintf("%s[%d]", path, i)
		if _, twice := c.Annotations[prefix+h.Name]; twice {
			p.Invalid(path+".name", h.Name, "the lifecycle hook is listed twice: remove one of the two")
			continue
		}
		if len(h.Owner) < shortest {
			p.Invalid(path+".owner", h.Owner, fmt.Sprintf("must have at least %d characters", shortest))
		}
		switch {
		case len(h.Name) < shortest:
			p.Invalid(path+".name", h.Name, fmt.Sprintf("must have at least %d characters", shortest))
		case !hookName(h.Name):
			p.Unsupported(path+".name", h.Name, "in Cluster API the hook's name becomes part of the name of an annotation: use at most 63 characters, "+
				"which may be letters, digits, dots, dashes and underscores, and no domain")
		}
		put(&c.Annotations, prefix+h.Name, h.Owner)
	}
}

// hookName reports whether a hook's name is valid as the part behind the slash of an annotation's name.
func hookName(name string) bool {
	edge := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
	for i := range len(name) {
		if !edge(name[i]) && name[i] != '-' && name[i] != '_' && name[i] != '.' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= 63 && edge(name[0]) && edge(name[len(name)-1])
}

func hooksFrom(p *pass, c *capiMachine, m *mapiMachine) {
	for _, k := range sorted(c.Metadata.Annotations) {
		if !isHook(k) || stays(k, "") {
			continue
		}
		drain, terminate := strings.CutPrefix(k, preDrain)
		name, list := drain, &m.Spec.LifecycleHooks.PreDrain
		if !terminate {
			name, list = strings.TrimPrefix(k, preTerminate), &m.Spec.LifecycleHooks.PreTerminate
		}
		hook := machinev1beta1.LifecycleHook{Name: name, Owner: c.Metadata.Annotations[k]}
		checkHook(p, k, hook)
		*list = append(*list, hook)
	}
}

func checkHook(p *pass, key string, h machinev1beta1.LifecycleHook) {
	switch {
	case h.Name == key || !strings.HasSuffix(key, "/"+h.Name):
		p.Unsupported(annotation(key), h.Owner, "in Machine API a lifecycle hook needs a name: rename the annotation to this name followed by /NAME")
	case len(h.Name) < shortest:
		p.Unsupported(annotation(key), h.Owner, fmt.Sprintf(
			"in Machine API the name of a lifecycle hook, which is the part after the slash, needs at least %d characters: use a longer name", shortest))
	}
	if len(h.Owner) < shortest {
		p.Unsupported(annotation(key), h.Owner, fmt.Sprintf("the annotation's value is the owner of a lifecycle hook, and in Machine API the owner needs "+
			"at least %d characters: set a longer value", shortest))
	}
}
