// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/internal/spelling"
	"github.com/poundlock/poundlock/policies/authority"
)

// plugin is what all commands share.
type plugin struct{ *cli.Plugin }

// New is the whole command line.
func New(o cli.Options) *cobra.Command {
	p := &plugin{&cli.Plugin{Options: o}}
	root := &cobra.Command{
		Use:   "kubectl-poundlock",
		Short: "See, check and move the authority over machines between Machine API and Cluster API",
		Long: `See, check and move the authority over machines between OpenShift's Machine API and Cluster API.

The plugin asks the same rules and the same conversion as Poundlock's webhook, so that it cannot say otherwise. check -f,
convert -f and explain need no cluster.

Exit codes:
  0    done; where a question was asked, the answer is yes
  1    an error: the question could not be answered, or the cluster refused
  2    the command line is wrong
  3    the answer is no: check found what --fail-on names, convert met a field that cannot go, diff or providers --diff found a
       difference, migrate stopped at a failure, cleanup refused, controlplane plan and activate met what has to be fixed first
  4    what was waited for did not happen in time
  5    providers --diff and --render: something holds the release back, so that what they show is not the release's content
  130  interrupted`,
		Example: `  # What could move to Cluster API today?
  kubectl poundlock check

  # Would this manifest convert? No cluster is asked.
  kubectl poundlock check -f machineset.yaml

  # Which API is authoritative for what?
  kubectl poundlock status

  # Hand a set over, and then its Machines, three at a time.
  kubectl poundlock migrate machineset/worker-a --to clusterapi --with-machines --max-in-flight 3`,
		SilenceUsage: true, SilenceErrors: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl poundlock"},
	}
	root.SetIn(o.In)
	root.SetOut(o.Out)
	root.SetErr(o.ErrOut)
	p.AddFlags(root)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.AsUsage(err) })
	for _, command := range []func(*plugin) *cobra.Command{
		statusCommand, checkCommand, convertCommand, diffCommand, migrateCommand, explainCommand, controlPlaneCommand, providersCommand, privateTypesCommand,
		cleanupCommand, versionCommand,
	} {
		root.AddCommand(command(p))
	}
	typeArguments(root)
	return root
}

// Execute runs what was typed. cli.Code is the exit code that its error stands for.
func Execute(ctx context.Context, o cli.Options, args []string) error {
	root := New(o)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if _, _, unknown := root.Find(args); unknown != nil { // then nothing ran, and cobra asks nobody about this error
		return cli.AsUsage(unknown)
	}
	return err
}

// typeArguments makes an error of usage of what a command, or one beneath it, finds wrong with its arguments.
func typeArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			return cli.AsUsage(check(cmd, args))
		}
	}
	for _, child := range cmd.Commands() {
		typeArguments(child)
	}
}

// selection is which objects are meant.
type selection struct {
	selector string
	all      bool
}

func (s *selection) bind(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "", "only objects whose labels match, such as machine.openshift.io/cluster-api-machine-role=worker")
	cmd.Flags().BoolVarP(&s.all, "all-namespaces", "A", false, "all pairs of --namespaces, whatever -n says")
}

// query is what of the cluster is meant by the flags; kinds nil is all.
func (p *plugin) query(s selection, t targets) (inventory.Query, error) {
	if s.all {
		*p.Config.Namespace = ""
	}
	pairs, err := p.Pairs()
	if err != nil {
		return inventory.Query{}, err
	}
	selector, err := labels.Parse(s.selector)
	if err != nil {
		return inventory.Query{}, cli.Usagef("--selector %q: %v", s.selector, err)
	}
	if i := slices.IndexFunc(t, func(one target) bool { return one.name != "" }); i >= 0 && !selector.Empty() {
		return inventory.Query{}, cli.Usagef("-l selects among all objects of a kind, so %s cannot be named beside it", t[i].name)
	}
	return inventory.Query{Pairs: pairs, Selector: selector, Kinds: t.kinds()}, nil
}

// targets are the objects that arguments name.
type targets []target

// target is one argument; name is "" for all of the kind.
type target struct {
	kind authority.Kind
	name string
}

// parseTargets reads KIND, KIND,KIND, KIND/NAME and KIND NAME NAME, as kubectl does. A kind may be plural, short, or bear either
// group.
func parseTargets(args []string) (targets, error) {
	if len(args) > 1 && !strings.Contains(args[0], "/") && !slices.ContainsFunc(args[1:], func(a string) bool { return strings.Contains(a, "/") || isKind(a) }) {
		kind, err := parseKind(args[0])
		if err != nil {
			return nil, err
		}
		var out targets
		for _, name := range args[1:] {
			out = append(out, target{kind, name})
		}
		return out, nil
	}
	var out targets
	for _, arg := range strings.Split(strings.Join(args, ","), ",") {
		if arg == "" {
			continue
		}
		word, name, named := strings.Cut(arg, "/")
		kind, err := parseKind(word)
		if err != nil {
			return nil, err
		}
		if named && name == "" {
			return nil, cli.Usagef("%q: the name is missing: %s/NAME", arg, word)
		}
		out = append(out, target{kind, name})
	}
	return out, nil
}

// targets are the objects that the arguments and files name.
func (p *plugin) targets(from named, args []string) (targets, error) {
	if len(from.paths) == 0 {
		return parseTargets(args)
	}
	pairs, err := p.Pairs()
	if err != nil {
		return nil, err
	}
	t, err := parseTargets(args)
	if err != nil {
		return nil, err
	}
	names, err := from.names(p.In, pairs)
	if err != nil {
		return nil, err
	}
	more, err := parseTargets(names)
	return append(t, more...), err
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
	if slices.Contains([]string{"controlplanemachineset", "controlplanemachinesets", "cpms"}, short) {
		return authority.Kind{}, cli.Usagef("a ControlPlaneMachineSet moves alone, by its spec.authoritativeAPI: " +
			`kubectl -n openshift-machine-api patch controlplanemachinesets.machine.openshift.io cluster --type merge -p '{"spec":{"authoritativeAPI":"ClusterAPI"}}'. ` +
			"Where it is: kubectl poundlock controlplane status")
	}
	return authority.Kind{}, cli.Usagef("%q is no kind that moves: want machine, machineset or machinehealthcheck%s", word, instead(short))
}

// instead is what somebody may have meant by a word that is no kind that moves.
func instead(word string) string {
	switch {
	case strings.HasPrefix(word, "machinedeployment"):
		return ". A MachineDeployment stays in Cluster API, and so do its MachineSets: Machine API has nothing like it"
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
	return ", as in machineset/" + word
}

var abbreviations = map[string]string{"Machine": "ma", "MachineSet": "ms", "MachineHealthCheck": "mhc"}

func (t targets) kinds() []authority.Kind {
	var out []authority.Kind
	for _, one := range t {
		if !slices.ContainsFunc(out, func(k authority.Kind) bool { return k.Name == one.kind.Name }) {
			out = append(out, one.kind)
		}
	}
	return out
}

// name reports whether the pair is meant; no targets mean all.
func (t targets) mean(p inventory.Pair) bool {
	return len(t) == 0 || slices.ContainsFunc(t, func(one target) bool {
		return one.kind.Name == p.Kind.Name && (one.name == "" || one.name == p.Name)
	})
}

// pick keeps what the targets name; a name that is not there is an error.
func (t targets) pick(f *inventory.Fleet, pairs authority.Pairs) error {
	f.Narrow(t.mean)
	for _, one := range t {
		if one.name != "" && !slices.ContainsFunc(f.Pairs, func(p inventory.Pair) bool { return p.Name == one.name && p.Kind.Name == one.kind.Name }) {
			return one.absent(pairs)
		}
	}
	return nil
}

// absent says where an object was looked for that is not there.
func (t target) absent(pairs authority.Pairs) error {
	var where []string
	for _, pair := range pairs {
		where = append(where, pair.MachineAPI+" and "+pair.ClusterAPI)
	}
	return fmt.Errorf("there is no %s %q in either API (namespaces %s; --namespaces names others)", t.kind.Name, t.name, strings.Join(where, ", "))
}

// inOrder puts the pairs in the order of the targets, and keeps the order of those that one target means. A user who names a canary first wants it first.
func (t targets) inOrder(pairs []inventory.Pair) {
	place := func(p inventory.Pair) int {
		return slices.IndexFunc(t, func(one target) bool { return targets{one}.mean(p) })
	}
	slices.SortStableFunc(pairs, func(a, b inventory.Pair) int { return place(a) - place(b) })
}

// parseAPI reads --to.
func parseAPI(text string) (authority.API, error) {
	switch strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(text, "-", ""), " ", "")) {
	case "clusterapi", "capi":
		return authority.ClusterAPI, nil
	case "machineapi", "mapi":
		return authority.MachineAPI, nil
	}
	return authority.Unset, cli.Usagef("--to %q: want clusterapi or machineapi", text)
}

func completeAPI(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"clusterapi\tmove to Cluster API", "machineapi\tmove to Machine API"}, cobra.ShellCompDirectiveNoFileComp
}
