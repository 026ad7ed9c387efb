// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"strings"
)

// Amend reports what the infrastructure cluster object must say before the machines of the cluster, or its control plane, can move. It is one
// sentence for all of them, whichever Machine it is said of, and ends with the commands. The patches are JSON merge patches of the object, and of its
// status; either may be empty. A merge patch replaces a list: one that is not empty has what is there, too.
func (p *Pass) Amend(path string, value any, why, spec, status string) {
	var commands []string
	for _, patch := range []struct{ flags, content string }{{"", spec}, {"--subresource=status ", status}} {
		if patch.content != "" {
			commands = append(commands, fmt.Sprintf("kubectl patch %s %s--type=merge -p %s", p.InfraCluster(), patch.flags, quoted(patch.content)))
		}
	}
	p.amend(path, value, why, strings.Join(commands, " && "))
}

// quoted is a text as a shell reads it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Replace is Amend for a field that the provider's webhook takes at the object's creation only.
func (p *Pass) Replace(path string, value any, why, patch string) {
	object := p.InfraCluster()
	p.amend(path, value, why+". The provider takes this at the object's creation only, so replace it",
		fmt.Sprintf("kubectl get %s -o json | kubectl patch --local -f - --type=merge -p %s -o json | kubectl replace --force -f -", object, quoted(patch)))
}

func (p *Pass) amend(path string, value any, why, command string) {
	p.Under(p.Env.Platform.InfraCluster.Kind).Unsupported(path, value, why+": "+command)
}

// InfraCluster is the infrastructure cluster object's name as an argument of kubectl.
func (p *Pass) InfraCluster() string {
	kind := p.Env.Platform.InfraCluster
	return fmt.Sprintf("%s.%s %s -n %s", strings.ToLower(kind.Kind), kind.Group, p.Env.ClusterName, p.Env.ClusterAPINamespace)
}
