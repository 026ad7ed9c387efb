// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"maps"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/internal/machineapi"
)

// NodeAnnotation on a Node names its Machine: namespace/name.
const NodeAnnotation = machineapi.NodeAnnotation

// NodeOf returns the Node that belongs to the Machine, nil if none of nodes does.
//
// If the Machine and a Node both have a provider ID, the IDs decide. An address proves less, because another instance may reuse it. So addresses decide only if
// the Machine or the Node has no provider ID, no other Machine claims the Node, and exactly one Node matches.
func NodeOf(m *machinev1beta1.Machine, nodes []corev1.Node) *corev1.Node {
	if own := pick(m, nodes, func(n *corev1.Node) bool { return sameProviderID(m, n) }); len(own) > 0 {
		return own[0]
	}
	if near := pick(m, nodes, func(n *corev1.Node) bool { return sameAddress(m, n) }); len(near) == 1 {
		return near[0]
	}
	return nil
}

// Certain reports whether more than an address shows that a Node is the Machine's: the provider ID, or that the Machine was linked with this very Node before.
func Certain(m *machinev1beta1.Machine, n *corev1.Node) bool {
	return sameProviderID(m, n) || n.Annotations[NodeAnnotation] == Name(m) && m.Status.NodeRef != nil && m.Status.NodeRef.UID == n.UID
}

// pick returns the Nodes that match, each once. The Node that the Machine refers to comes first. The others follow from the youngest to the oldest, because the
// youngest is the one that a kubelet has registered last.
func pick(m *machinev1beta1.Machine, nodes []corev1.Node, match func(*corev1.Node) bool) []*corev1.Node {
	var out []*corev1.Node
	for i := range nodes {
		n := &nodes[i]
		if match(n) && !slices.ContainsFunc(out, func(o *corev1.Node) bool { return o.Name == n.Name }) {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b *corev1.Node) int {
		switch {
		case refers(m, a) != refers(m, b):
			return map[bool]int{true: -1, false: 1}[refers(m, a)]
		case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
			return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
		}
		return 0
	})
	return out
}

func refers(m *machinev1beta1.Machine, n *corev1.Node) bool {
	return m.Status.NodeRef != nil && m.Status.NodeRef.Name == n.Name
}

// sameProviderID reports whether a Node and a Machine have the same provider ID, even if they spell it differently. Otherwise a Machine that Cluster API
// created would be deleted without draining its Node. The Node's ID decides which platform's spelling applies, because the platform's cloud provider wrote it.
func sameProviderID(m *machinev1beta1.Machine, n *corev1.Node) bool {
	key := instanceid.KeyOn(instanceid.Scheme(n.Spec.ProviderID), providerID(m))
	return key != "" && key == instanceid.Key(n.Spec.ProviderID)
}

func sameAddress(m *machinev1beta1.Machine, n *corev1.Node) bool {
	if providerID(m) != "" && n.Spec.ProviderID != "" {
		return false // both have an ID, and the IDs differ
	}
	if of := n.Annotations[NodeAnnotation]; of != "" && of != Name(m) {
		return false
	}
	theirs := Addresses(n.Status.Addresses)
	return refers(m, n) || slices.ContainsFunc(Addresses(m.Status.Addresses), func(a string) bool { return slices.Contains(theirs, a) })
}

// Addresses returns the addresses by which a Machine and its Node are known inside the cluster. It leaves out external addresses, which may be a gateway's.
func Addresses(all []corev1.NodeAddress) []string {
	var out []string
	for _, a := range all {
		switch a.Type {
		case corev1.NodeInternalIP, corev1.NodeInternalDNS, corev1.NodeHostName:
			if a.Address != "" && !slices.Contains(out, a.Address) {
				out = append(out, a.Address)
			}
		}
	}
	return out
}

// Claim returns the name of the Machine in the Node's annotation, if that is another Machine of the same namespace as m; "" otherwise.
func Claim(m *machinev1beta1.Machine, n *corev1.Node) string {
	namespace, name, _ := strings.Cut(n.Annotations[NodeAnnotation], "/")
	if namespace != m.Namespace || name == m.Name {
		return ""
	}
	return name
}

// Name returns the Machine's name in the form of its Node's annotation: namespace/name.
func Name(m *machinev1beta1.Machine) string { return m.Namespace + "/" + m.Name }

// Furnish returns a copy of the Node with what its Machine gives it: labels and annotations of spec.metadata, taints, and the Machine's name. Furnish removes
// nothing, so nothing has to remember what it gave. A taint of the same key and effect stays as it is, because another writer may have set it ("this list will
// not overwrite any other taints", MachineSpec).
func Furnish(m *machinev1beta1.Machine, n *corev1.Node) *corev1.Node {
	n = n.DeepCopy()
	n.Labels = with(n.Labels, m.Spec.Labels)
	n.Annotations = with(with(n.Annotations, m.Spec.Annotations), map[string]string{NodeAnnotation: Name(m)})
	for _, t := range m.Spec.Taints {
		if !slices.ContainsFunc(n.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) }) {
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
	}
	return n
}

func with(have, more map[string]string) map[string]string {
	if have == nil && len(more) > 0 {
		have = map[string]string{}
	}
	maps.Copy(have, more)
	return have
}
