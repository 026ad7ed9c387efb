// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import "bytes"

// The three names of Cluster API's group. Each also has every group beneath it, such as infrastructure.cluster.x-k8s.io.
const (
	// Standard is the group that clients use.
	Standard = "cluster.x-k8s.io"
	// Private is what the API server stores.
	Private = "cluster.hypershift.openshift.io"
	// Foreign is how a client sees a reference to a Standard object of the platform, which is none of the client's objects. Without a third name, a client that
	// reads such an owner and writes it back would turn it into a Private owner. That owner does not exist, and the garbage collector deletes the dependents of
	// such an owner.
	Foreign = "cluster.platform.poundlock.openshift.io"
)

// Excluded are the labels before the base of groups that have no private twin: the programs that own them never run behind a proxy.
var Excluded = []string{"clusterctl", "operator"}

// Direction is where a document goes.
type Direction uint8

// ToPrivate is from a client to the API server (and from the shim to it), ToStandard is back.
const (
	ToPrivate Direction = iota
	ToStandard
)

// base is the group that another one equals or lies beneath.
type base uint8

const (
	noBase base = iota
	standard
	private
	foreign
)

var baseNames = [...]string{standard: Standard, private: Private, foreign: Foreign}

// split finds the base of a group, and how many bytes stand before it. The base of a group that is not translated is noBase.
func split(group []byte) (base, int) {
	if len(group) < len(Standard) || group[len(group)-1] != 'o' {
		return noBase, 0
	}
	for b := standard; b <= foreign; b++ {
		before := len(group) - len(baseNames[b])
		if before < 0 || string(group[before:]) != baseNames[b] {
			continue
		}
		if before == 0 {
			return b, 0
		}
		if group[before-1] == '.' && !excluded(group[:before-1]) {
			return b, before
		}
		return noBase, 0
	}
	return noBase, 0
}

func excluded(labels []byte) bool {
	last := labels[bytes.LastIndexByte(labels, '.')+1:]
	for _, e := range Excluded {
		if string(last) == e {
			return true
		}
	}
	return false
}

// own returns the name that replaces b in the client's own text. Each direction replaces one name, and keeps the others.
func (d Direction) own(b base) base {
	switch {
	case d == ToPrivate && b == standard:
		return private
	case d == ToStandard && b == private:
		return standard
	}
	return b
}

// Group translates the name of a group.
func (d Direction) Group(group string) string { return d.text(Group, group) }

// APIVersion translates an apiVersion: a group, a slash, a version.
func (d Direction) APIVersion(apiVersion string) string { return d.text(APIVersion, apiVersion) }

// Definition translates the name of a CustomResourceDefinition: a plural, a dot, a group.
func (d Direction) Definition(name string) string { return d.text(DefinitionName, name) }

// Path translates the group in the path of a request.
func (d Direction) Path(path string) string { return d.text(Path, path) }

// Prose translates the names of groups in a sentence that a person reads.
func (d Direction) Prose(sentence string) string { return d.text(Prose, sentence) }

func (d Direction) text(v Value, s string) string {
	if out, changed := d.value(nil, []byte(s), v); changed {
		return string(out)
	}
	return s
}
