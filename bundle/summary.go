// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Action is what a transformation did to an object.
type Action string

// The actions, in the order in which a summary has them.
const (
	Removed Action = "Dropped"
	Changed Action = "Changed"
	Added   Action = "Added"
	Noted   Action = "To note"
)

// Entry is one thing that happened to an object, with the transformation that did it.
type Entry struct {
	Action         Action
	Transformation string
	Object         string
	What           string
}

// Summary describes what Build did to the manifests.
type Summary struct {
	Provider  Provider
	Contract  string
	Objects   int
	Kinds     []string
	Entries   []Entry
	Variables []Variable
	Images    []Image
}

func summarize(b Bundle, entries []Entry) Summary {
	s := Summary{Provider: b.Provider, Contract: b.Contract, Objects: len(b.Documents), Entries: entries, Variables: b.Variables, Images: b.Images}
	for i := 0; i < len(b.Documents); {
		n := 1
		for i+n < len(b.Documents) && b.Documents[i+n].GroupKind() == b.Documents[i].GroupKind() {
			n++
		}
		s.Kinds = append(s.Kinds, fmt.Sprintf("%d %s", n, b.Documents[i].Kind()))
		i += n
	}
	return s
}

// Warnings returns the notes about things that do not work unless somebody changes them.
func (s Summary) Warnings() []string {
	var out []string
	for _, entry := range s.Entries {
		if entry.Transformation == "unmoved-namespaces" {
			out = append(out, entry.Object+": "+entry.What)
		}
	}
	return out
}

// String returns the summary as text for a person.
func (s Summary) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s, contract %s: %d objects\n", s.Provider.Label(), s.Provider.Version, s.Contract, s.Objects)
	fmt.Fprintf(&out, "  in this order: %s\n", strings.Join(s.Kinds, ", "))
	for _, action := range []Action{Removed, Changed, Added, Noted} {
		s.section(&out, action)
	}
	if len(s.Images) > 0 {
		out.WriteString("\nImages\n")
		for _, image := range s.Images {
			fmt.Fprintf(&out, "  %s/%s %s: %s\n", image.Kind, image.Workload, image.Container, image.Key)
		}
	}
	if len(s.Variables) > 0 {
		out.WriteString("\nVariables\n")
		for _, v := range s.Variables {
			fmt.Fprintf(&out, "  %s: %s\n", v.Name, v.describe())
		}
	}
	return out.String()
}

func (v Variable) describe() string {
	switch {
	case v.Required:
		return "required: set a value in ConfigMap " + VariablesConfigMap
	case v.Default == "":
		return "empty by default"
	}
	return v.Default + " by default"
}

// section writes the entries of one action. Objects with the same change are on one line.
func (s Summary) section(out *strings.Builder, action Action) {
	title := "\n" + string(action) + "\n"
	for _, t := range Transformations {
		var changes []string
		objects := map[string][]string{}
		for _, entry := range s.Entries {
			if entry.Action != action || entry.Transformation != t.Name {
				continue
			}
			if !slices.Contains(changes, entry.What) {
				changes = append(changes, entry.What)
			}
			objects[entry.What] = append(objects[entry.What], entry.Object)
		}
		if len(changes) == 0 {
			continue
		}
		fmt.Fprintf(out, "%s  %s: %s\n", title, t.Name, t.Why)
		title = ""
		for _, change := range changes {
			fmt.Fprintf(out, "    %s: %s\n", shorten(objects[change], action), change)
		}
	}
}

// shorten returns the list of objects on one line. If there are many of one kind, it counts them. Objects that were dropped are always named.
func shorten(ids []string, action Action) string {
	const many = 4
	byKind := map[string]int{}
	for _, id := range ids {
		kind, _ := splitOnce(id)
		byKind[kind]++
	}
	var out []string
	for _, id := range ids {
		kind, _ := splitOnce(id)
		if action == Removed || byKind[kind] < many {
			out = append(out, id)
		} else if counted := fmt.Sprintf("%d %s", byKind[kind], kind); !slices.Contains(out, counted) {
			out = append(out, counted)
		}
	}
	return strings.Join(out, ", ")
}
