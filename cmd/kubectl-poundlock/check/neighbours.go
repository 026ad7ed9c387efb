// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/policies/authority"
)

// Neighbour is another writer of the objects, and what changes for it.
type Neighbour struct {
	authority.Neighbour
	Objects []string
}

// Neighbours returns the other writers of all objects, each once, in the order of the objects.
func Neighbours(findings []readiness.Finding) []Neighbour {
	var out []Neighbour
	all, objects := gather(findings, func(f readiness.Finding) []authority.Neighbour { return f.Neighbours })
	for _, n := range all {
		out = append(out, Neighbour{n, objects[n]})
	}
	return out
}

// Preparation is a text about several objects, such as what a person must do before they move, with these objects.
type Preparation struct {
	Text    string
	Objects []string
}

// Preparations returns what a person must do before the objects move, each once, in the order of the objects. An object that has moved needs none.
func Preparations(findings []readiness.Finding) []Preparation {
	var out []Preparation
	all, objects := gather(findings, func(f readiness.Finding) []string {
		if f.Readiness == readiness.There {
			return nil
		}
		return f.Preparations
	})
	for _, text := range all {
		out = append(out, Preparation{text, objects[text]})
	}
	return out
}

// LeftOut returns the fields that moves to Cluster API leave out, each once, in the order of the objects: as the field's short path and the reason.
func LeftOut(findings []readiness.Finding) []Preparation {
	var out []Preparation
	all, objects := gather(findings, func(f readiness.Finding) []string {
		var texts []string
		for _, field := range f.LeftOut {
			if text := readiness.Short(field.Path) + ": " + field.Reason; !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		return texts
	})
	for _, text := range all {
		out = append(out, Preparation{text, objects[text]})
	}
	return out
}

// gather returns the values that `of` has for the findings, each value once and in the findings' order, and the objects that have each value.
func gather[T comparable](findings []readiness.Finding, of func(readiness.Finding) []T) (all []T, objects map[T][]string) {
	objects = map[T][]string{}
	for _, f := range findings {
		for _, item := range of(f) {
			if objects[item] == nil {
				all = append(all, item)
			}
			objects[item] = append(objects[item], f.Ref())
		}
	}
	return all, objects
}
