// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/internal/spelling"
	"github.com/poundlock/poundlock/policies/authority"
)

// List has the objects that the arguments name.
type List []Target

// Target is one argument. Name is "" for all objects of the kind.
type Target struct {
	Kind authority.Kind
	Name string
}

// Parse parses KIND, KIND,KIND, KIND/NAME and KIND NAME NAME, as kubectl does. A kind may be plural or short, and may have either group.
func Parse(args []string) (List, error) {
	if len(args) > 1 && !strings.Contains(args[0], "/") && !slices.ContainsFunc(args[1:], func(a string) bool { return strings.Contains(a, "/") || isKind(a) }) {
		kind, err := parseKind(args[0])
		if err != nil {
			return nil, err
		}
		var out List
		for _, name := range args[1:] {
			out = append(out, Target{kind, name})
		}
		return out, nil
	}
	var out List
	for _, arg := range strings.Split(strings.Join(args, ","), ",") {
		if arg == "" {
			continue
		}
		word, name, named := strings.Cut(arg, "/")
		kind, err := parseKind(word)
		if err != nil && !named && bare(word) {
			return nil, cli.Usagef("%q is a name without a kind, or a kind that does not move: give KIND/NAME, such as machineset/%[1]s or machine/%[1]s", word)
		}
		if err != nil {
			return nil, err
		}
		if named && name == "" {
			return nil, cli.Usagef("%q: the name is missing: %s/NAME", arg, word)
		}
		out = append(out, Target{kind, name})
	}
	return out, nil
}

func isKind(word string) bool {
	_, err := parseKind(word)
	return err == nil
}

func parseKind(word string) (authority.Kind, error) {
	short, _, _ := strings.Cut(strings.ToLower(word), ".")
	for _, k := range authority.Kinds() {
		if slices.Contains([]string{strings.ToLower(k.Name), k.Resource, abbreviations[k.Name]}, short) {
			return k, nil
		}
	}
	if alone(short) {
		return authority.Kind{}, cli.Usagef("the ControlPlaneMachineSet has commands of its own: kubectl poundlock controlplane status shows it. " +
			"This command does not move the set. To move it, change its spec.authoritativeAPI: " +
			`kubectl -n openshift-machine-api patch controlplanemachinesets.machine.openshift.io cluster --type merge ` +
			`-p '{"spec":{"authoritativeAPI":"ClusterAPI"}}'`)
	}
	return authority.Kind{}, cli.Usagef("%q is a kind that does not move: give machine, machineset or machinehealthcheck%s", word, instead(short))
}

// instead returns how the error about a word that is no kind that moves goes on: with a remark, or a similar kind; "" for none.
func instead(word string) string {
	switch {
	case strings.HasPrefix(word, "machinedeployment"):
		return ". A MachineDeployment and its MachineSets stay in Cluster API: Machine API has no such kind"
	case strings.HasSuffix(word, "machinetemplate"), strings.HasSuffix(word, "machinetemplates"):
		return ". The template of an infrastructure machine moves with its MachineSet"
	case slices.ContainsFunc(platforms.List(), func(p conversion.Platform) bool {
		return strings.EqualFold(p.InfraMachine.Kind, word) || strings.EqualFold(p.InfraMachine.Plural, word)
	}):
		return ". An infrastructure machine moves with its Machine"
	}
	var known []string
	for _, k := range authority.Kinds() {
		known = append(known, strings.ToLower(k.Name), k.Resource)
	}
	if near := spelling.Nearest(word, known); near != "" {
		return fmt.Sprintf(". Did you mean %s?", near)
	}
	return ""
}

// bare reports whether a word may be an object's name: it is no kind, and not like one.
func bare(word string) bool {
	short, _, _ := strings.Cut(strings.ToLower(word), ".")
	return !isKind(word) && !alone(short) && instead(short) == ""
}

// alone reports whether a word names the kind ControlPlaneMachineSet, which moves without other objects, and has its own commands.
func alone(word string) bool {
	return slices.Contains([]string{"controlplanemachineset", "controlplanemachinesets", "cpms"}, word)
}

var abbreviations = map[string]string{"Machine": "ma", "MachineSet": "ms", "MachineHealthCheck": "mhc"}

// Mean reports whether the pair is a target. If there are no targets, each pair is one.
func (t List) Mean(p inventory.Pair) bool {
	return len(t) == 0 || slices.ContainsFunc(t, func(one Target) bool {
		return one.Kind.Name == p.Kind.Name && (one.Name == "" || one.Name == p.Name)
	})
}

// Pick narrows the fleet to the targets' pairs. A name that does not exist is an error.
func (t List) Pick(f *inventory.Fleet, pairs authority.Pairs) error {
	f.Narrow(t.Mean)
	return t.Named(f, pairs)
}

// Named returns an error if one of the named objects does not exist.
func (t List) Named(f *inventory.Fleet, pairs authority.Pairs) error {
	for _, one := range t {
		if one.Name != "" && !slices.ContainsFunc(f.Pairs, func(p inventory.Pair) bool { return p.Name == one.Name && p.Kind.Name == one.Kind.Name }) {
			return one.Absent(pairs)
		}
	}
	return nil
}

// Absent returns the error of a missing object, with the namespaces where it was looked for.
func (t Target) Absent(pairs authority.Pairs) error {
	var where []string
	for _, pair := range pairs {
		where = append(where, pair.MachineAPI+" and "+pair.ClusterAPI)
	}
	return fmt.Errorf("there is no %s %q in either API (namespaces %s; for other namespaces, give --namespaces)",
		t.Kind.Name, t.Name, strings.Join(where, ", "))
}

// Nothing returns the sentence that no requested object exists, as kubectl prints it. aside continues the sentence if no selector was given.
func (t List) Nothing(selector, aside string) string {
	kinds := t.kinds()
	if len(kinds) == 0 {
		kinds = authority.Kinds()
	}
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	what := names[len(names)-1]
	if rest := names[:len(names)-1]; len(rest) > 0 {
		what = strings.Join(rest, ", ") + " or " + what
	}
	if selector != "" {
		return fmt.Sprintf("The selector %s matches no %s.", selector, what)
	}
	return fmt.Sprintf("No %s was found%s.", what, aside)
}

// InOrder sorts the pairs by their targets, and keeps the order within one target, because a user names a canary first to move it first. A Machine that is no
// target itself has the place of its MachineSet.
func (t List) InOrder(pairs []inventory.Pair) {
	place := func(p inventory.Pair) int {
		return slices.IndexFunc(t, func(one Target) bool { return List{one}.Mean(p) })
	}
	sets := map[string]int{}
	for _, p := range pairs {
		if p.Kind.Scales {
			sets[p.Namespaces.MachineAPI+"/"+p.Name] = place(p)
		}
	}
	places := map[string]int{}
	for _, p := range pairs {
		at := place(p)
		if set, has := sets[p.Namespaces.MachineAPI+"/"+p.Set()]; at < 0 && has && p.Kind.Parent != "" {
			at = set
		}
		places[p.Namespaces.MachineAPI+"/"+p.Ref()] = at
	}
	slices.SortStableFunc(pairs, func(a, b inventory.Pair) int {
		return places[a.Namespaces.MachineAPI+"/"+a.Ref()] - places[b.Namespaces.MachineAPI+"/"+b.Ref()]
	})
}

// WithMachines returns a function that reports whether a pair is a target that matches, or a Machine of such a MachineSet. These Machines need not match.
func (t List) WithMachines(pairs []inventory.Pair, matches func(inventory.Pair) bool) func(inventory.Pair) bool {
	sets := map[string]bool{}
	for _, p := range pairs {
		if p.Kind.Scales && t.Mean(p) && matches(p) {
			sets[p.Namespaces.MachineAPI+"/"+p.Name] = true
		}
	}
	return func(p inventory.Pair) bool {
		return t.Mean(p) && matches(p) || p.Kind.Parent != "" && sets[p.Namespaces.MachineAPI+"/"+p.Set()]
	}
}
