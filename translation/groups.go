// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import "bytes"

// The three names of Cluster API's group. The groups beneath it, such as infrastructure.cluster.x-k8s.io, have three names in the same way.
const (
	// Standard is the group that clients use.
	Standard = "cluster.x-k8s.io"
	// Private is the group that the API server stores.
	Private = "cluster.hypershift.openshift.io"
	// Foreign is the group that a client sees in a reference to a Standard object of the platform. Such an object is none of the client's. Without a third
	// name, a client that reads an owner reference to it and writes that back would turn it into a reference to a Private owner. That owner does not exist, and
	// the garbage collector deletes the dependents of an owner that does not exist.
	Foreign = "cluster.platform.poundlock.openshift.io"
)

// Excluded are the labels directly before cluster.x-k8s.io in groups that have no private counterpart, such as operator.cluster.x-k8s.io. The programs that own
// these groups never run behind a proxy.
var Excluded = []string{"clusterctl", "operator"}

// Direction is the direction in which a document passes.
type Direction uint8

// ToPrivate is the direction from a client, or from the shim, to the API server. ToStandard is the direction back.
const (
	ToPrivate Direction = iota
	ToStandard
)

// base is which of the three names (Standard, Private, Foreign) a group equals or lies beneath.
type base uint8

const (
	noBase base = iota
	standard
	private
	foreign
)

var baseNames = [...]string{standard: Standard, private: Private, foreign: Foreign}

// split returns the base of a group, and how many bytes of the group come before the base. The base is noBase for a group that is not translated.
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

// own returns the base that replaces b in text that is about the client's own objects. Each direction replaces one base, and keeps the others.
func (d Direction) own(b base) base {
	switch {
	case d == ToPrivate && b == standard:
		return private
	case d == ToStandard && b == private:
		return standard
	}
	return b
}

// Group returns the translation of the name of a group.
func (d Direction) Group(group string) string { return d.text(Group, group) }

// APIVersion returns the translation of an apiVersion (GROUP/VERSION).
func (d Direction) APIVersion(apiVersion string) string { return d.text(APIVersion, apiVersion) }

// Definition returns the translation of the name of a CustomResourceDefinition (PLURAL.GROUP).
func (d Direction) Definition(name string) string { return d.text(DefinitionName, name) }

// Path returns the path of a request with its group translated.
func (d Direction) Path(path string) string { return d.text(Path, path) }

// Prose returns a sentence with the names of groups translated. It is for text that people read.
func (d Direction) Prose(sentence string) string { return d.text(Prose, sentence) }

func (d Direction) text(v Value, s string) string {
	if out, changed := d.value(nil, []byte(s), v); changed {
		return string(out)
	}
	return s
}
