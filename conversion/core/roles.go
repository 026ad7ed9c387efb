// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// These are the two names of the control plane's role. OpenShift's Machines have the first one.
const (
	master      = "master"
	masterToday = "control-plane"
)

// halfControlPlane returns the message about a Cluster API Machine, or a set's template, that only one API's labels put into the control plane. The message
// names the missing label. It has a command that sets this label, and a command that takes the Machine out of the control plane.
func halfControlPlane(p *pass, c *capiMachine) string {
	own := c.Metadata.Labels
	_, control := own[clusterv1.MachineControlPlaneLabel]
	var why string
	in, out := map[string]any{}, map[string]any{}
	if control {
		why = fmt.Sprintf("this is a control plane Machine in Cluster API, but not in Machine API, because it lacks the label %s=%s", roleLabel, master)
		if role, has := own[roleLabel]; has {
			why += fmt.Sprintf(" (its value is %q)", role)
		}
		in[roleLabel] = master
		if _, has := own[typeLabel]; !has {
			in[typeLabel] = master // once the Machine has a role label, the conversion does not derive the type from the node role
		}
		out[clusterv1.MachineControlPlaneLabel] = nil
	} else {
		why = fmt.Sprintf("this is a control plane Machine in Machine API, but not in Cluster API, because it lacks the label %s",
			clusterv1.MachineControlPlaneLabel)
		in[clusterv1.MachineControlPlaneLabel] = ""
		for _, k := range sorted(own) {
			name, ofNode := strings.CutPrefix(k, nodeRole)
			if (k == roleLabel || k == typeLabel) && isControlPlane(own[k]) || ofNode && isControlPlane(name) {
				out[k] = nil
			}
		}
	}
	return fmt.Sprintf("%s. If it should be a control plane Machine: %s. If it should not: %s", why, relabel(p, c, in), relabel(p, c, out))
}

// isControlPlane reports whether a role is one of the two names of the control plane's role.
func isControlPlane(role string) bool { return role == master || role == masterToday }

// relabel returns the command that sets labels of a Machine or of a set's template. A nil value in labels removes the label.
func relabel(p *pass, c *capiMachine, labels map[string]any) string {
	if c.set != "" {
		raw, _ := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": labels}}}})
		return fmt.Sprintf("kubectl -n %s patch machinesets.%s %s --type merge -p '%s'", p.Env.ClusterAPINamespace, clusterv1.GroupVersion.Group, c.set, raw)
	}
	var args []string
	for k, v := range labels {
		if v == nil {
			args = append(args, k+"-")
		} else {
			args = append(args, fmt.Sprintf("%s=%s", k, v))
		}
	}
	slices.Sort(args)
	return fmt.Sprintf("kubectl -n %s label --overwrite machines.%s %s %s", p.Env.ClusterAPINamespace, clusterv1.GroupVersion.Group, c.Metadata.Name,
		strings.Join(args, " "))
}
