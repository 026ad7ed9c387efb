// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/migrate"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
)

type migrateOptions struct {
	targets.Selection
	targets.Names
	to           string
	wait         bool
	withMachines bool
	maxInFlight  int
	cancel       bool
	yes          bool
	skipBlocked  bool
	controlPlane bool
	dryRun       string
	timeout      time.Duration
	format       string
}

func migrateCommand(p *plugin) *cobra.Command {
	o := &migrateOptions{}
	cmd := &cobra.Command{
		Use:   "migrate KIND[/NAME]… --to clusterapi|machineapi",
		Short: "Hand objects to the other API, one step after the other, or cancel that",
		Long: `Hand objects to the other API, or cancel that. The plan is shown and confirmed first; an object that could not move keeps the whole plan
from starting (--skip-blocked leaves it out).

A request is a change of spec.authoritativeAPI. Poundlock's manager does the rest, so a move goes on when this command is interrupted, and
the same command again goes on where it stopped. With --wait, --with-machines or --max-in-flight each step is told with its time; after the
first failure nothing more is asked for.`,
		Example: `  # One set: new Machines are Cluster API's from then on
  kubectl poundlock migrate machineset/worker-a --to clusterapi --wait

  # The set, and then its Machines, three at a time
  kubectl poundlock migrate machineset/worker-a --to clusterapi --with-machines --max-in-flight 3

  # What would the webhook say?
  kubectl poundlock migrate machineset/worker-a --to clusterapi --dry-run=server

  # All workers back
  kubectl poundlock migrate machines -l machine.openshift.io/cluster-api-machine-role=worker --to machineapi --wait --yes

  # What check says could move, in its order
  kubectl poundlock check machinesets -o name | kubectl poundlock migrate -f - --to clusterapi --yes

  # Never mind
  kubectl poundlock migrate machineset/worker-a --cancel`,
		ValidArgsFunction: targets.Complete(p.Plugin),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.migrate(cmd.Context(), *o, args) },
	}
	flags := cmd.Flags()
	o.Selection.AddFlags(cmd)
	o.Names.AddFlags(cmd)
	flags.StringVar(&o.to, "to", "", "where to: clusterapi or machineapi")
	flags.BoolVar(&o.wait, "wait", false, "follow the moves until they are over")
	flags.BoolVar(&o.withMachines, "with-machines", false, "of a MachineSet, its Machines too, after it; waits")
	flags.IntVar(&o.maxInFlight, "max-in-flight", 0, "how many objects are on the way at a time, 0 for all; waits")
	flags.BoolVar(&o.cancel, "cancel", false, "take requests back that are not fulfilled yet: what is on its way goes back")
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&o.skipBlocked, "skip-blocked", false, "leave out what cannot move")
	flags.BoolVar(&o.controlPlane, "include-control-plane", false, "Also migrate Machines of the control plane, without a second question. With --yes they move only if this is given, too")
	cli.AddDryRunFlag(cmd, &o.dryRun, "client: show the plan; server: have the webhook say what it thinks of each request; none")
	flags.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long one object may be on its way while this waits, 0 for ever")
	flags.StringVarP(&o.format, "output", "o", "text", "write it as text, or as json: a document a line")
	cli.CompleteFlag(cmd, "output", "text", "json")
	_ = cmd.RegisterFlagCompletionFunc("to", targets.CompleteAPI) // the flag is there
	return cmd
}

func (o *migrateOptions) check(t targets.List) (authority.API, error) {
	o.wait = o.wait || o.withMachines || o.maxInFlight > 0
	switch {
	case len(t) == 0:
		return "", cli.Usagef("migrate wants KIND or KIND/NAME, or -f with names")
	case o.cancel && o.to != "":
		return "", cli.Usagef("--cancel goes back to where authority is, so --to has no meaning with it")
	case !o.cancel && o.to == "":
		return "", cli.Usagef("migrate wants --to clusterapi or --to machineapi, or --cancel")
	case cli.CheckDryRun(o.dryRun) != nil:
		return "", cli.CheckDryRun(o.dryRun)
	case o.format != "text" && o.format != "json":
		return "", cli.Usagef("--output %q: want text or json", o.format)
	case o.format == "json" && !o.yes && o.dryRun == "none":
		return "", cli.Usagef("-o json is for programs, which answer no question: say --yes")
	case o.maxInFlight < 0:
		return "", cli.Usagef("--max-in-flight %d: want a number of objects, or 0 for all", o.maxInFlight)
	case o.cancel:
		return authority.Unset, nil
	}
	return targets.ParseAPI(o.to)
}

func (p *plugin) migrate(ctx context.Context, o migrateOptions, args []string) error {
	t, err := o.Names.Targets(p.Plugin, args)
	if err != nil {
		return err
	}
	to, err := o.check(t)
	if err != nil {
		return err
	}
	q, err := o.Query(p.Plugin, t)
	if err != nil {
		return err
	}
	if o.withMachines {
		q.Kinds, q.Selector = nil, nil // the Machines of a set are found by the set, whatever their labels
	}
	m := &mover{plugin: p, Output: p.Printer(), migrateOptions: o, to: to, query: q}
	if o.format == "json" {
		m.Output = printers.Output{Writer: io.Discard}
	}
	if m.client, err = p.Client(m); err != nil {
		return err
	}
	f, err := inventory.FromCluster(ctx, m.client, q)
	if err != nil {
		return err
	}
	if err := m.choose(f, t, o.Selector); err != nil {
		return err
	}
	if !o.withMachines { // else a set goes before its Machines, which no target need name
		t.InOrder(f.Pairs)
	}
	if o.dryRun == "none" {
		if err := m.carriedOut(ctx, q.Pairs[0].ClusterAPI); err != nil {
			return err
		}
	}
	if o.cancel {
		return m.back(ctx, f)
	}
	return m.forth(ctx, f)
}

// carriedOut refuses a request that nobody would carry out.
func (p *plugin) carriedOut(ctx context.Context, namespace string) error {
	is, err := presence.Of(ctx, p.Plugin, namespace)
	if err != nil || is != presence.Silent {
		return err
	}
	return cli.Exit(cli.CodeNo,
		"Poundlock does not answer: it is not installed, its manager is down, or the API server does not reach its webhooks. Nobody would carry a request out, so nothing was asked for")
}

// mover carries out one command.
type mover struct {
	*plugin
	printers.Output
	migrateOptions
	to     authority.API
	query  inventory.Query
	client dynamic.Interface
	// warned are the webhook's warnings to the last request.
	warned []string
}

// HandleWarningHeader keeps what the API server warns of.
func (m *mover) HandleWarningHeader(_ int, _, text string) { m.warned = append(m.warned, text) }

// choose narrows the fleet to what is meant, with the Machines of the sets where those are to go too.
func (m *mover) choose(f *inventory.Fleet, t targets.List, selector string) error {
	sets := map[string]bool{}
	if m.withMachines {
		matches, err := targets.Selection{Selector: selector, All: m.All}.Query(m.Plugin, nil)
		if err != nil {
			return err
		}
		for _, pair := range f.Pairs {
			if pair.Kind.Scales && t.Mean(pair) && matches.Matches(pair) {
				sets[pair.Namespaces.MachineAPI+"/"+pair.Name] = true
			}
		}
		all := *f
		if err := t.Pick(&all, m.query.Pairs); err != nil { // names that are not there
			return err
		}
		f.Narrow(func(pair inventory.Pair) bool {
			return t.Mean(pair) && matches.Matches(pair) || pair.Kind.Parent != "" && sets[pair.Namespaces.MachineAPI+"/"+pair.Set()]
		})
		return nil
	}
	return t.Pick(f, m.query.Pairs)
}

// forth plans, asks and moves.
func (m *mover) forth(ctx context.Context, f *inventory.Fleet) error {
	plan := m.plan(f)
	m.show(plan)
	blocked := migrate.Of(plan, migrate.Leave)
	switch {
	case len(plan) == 0:
		return cli.Exit(cli.CodeError, "nothing of that name or with these labels is there")
	case len(blocked) > 0 && !m.skipBlocked:
		return cli.Exit(cli.CodeNo, fmt.Sprintf("%s cannot move: fix that, or leave out what cannot with --skip-blocked", amount.Of(len(blocked), "object")))
	case len(blocked) == len(plan):
		return cli.Exit(cli.CodeNo, "nothing is left that can move")
	case len(migrate.Of(plan, migrate.Ask))+len(migrate.Of(plan, migrate.Follow)) == 0:
		return nil
	case m.dryRun == "client":
		m.Linef("\nNothing was asked for (--dry-run=client).")
		return nil
	case m.dryRun == "server":
		return m.rehearse(ctx, migrate.Of(plan, migrate.Ask))
	}
	if err := m.mayMoveControlPlane(ctx, migrate.Of(plan, migrate.Ask)); err != nil {
		return err
	}
	if n := len(migrate.Of(plan, migrate.Ask)); n > 0 {
		if err := m.Confirm(ctx, m.yes, fmt.Sprintf("Move %s to %s?", amount.Of(n, "object"), m.to.Text())); err != nil {
			return err
		}
	}
	if !m.wait {
		return m.ask(ctx, migrate.Of(plan, migrate.Ask))
	}
	return m.follow(ctx, plan)
}

// mayMoveControlPlane asks about Machines of the control plane by name: they are seldom meant by a selector, and etcd runs on them.
func (m *mover) mayMoveControlPlane(ctx context.Context, steps []migrate.PlannedMove) error {
	var names []string
	for _, s := range steps {
		if role(s.Pair) == controlPlaneRole {
			names = append(names, s.Pair.Ref())
		}
	}
	if len(names) == 0 || m.controlPlane {
		return nil
	}
	if m.yes {
		return cli.Exit(cli.CodeNo, fmt.Sprintf("%s: of the control plane, which moves with --yes only where --include-control-plane is given too",
			strings.Join(names, ", ")))
	}
	return m.Confirm(ctx, false, fmt.Sprintf("The control plane runs on %s. Move %s too?", strings.Join(names, ", "), itThem(len(names))))
}

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

const controlPlaneRole = "control plane"

// role is what a Machine is for; "" for what is none, or does not say.
func role(p inventory.Pair) string {
	if p.MachineAPI == nil || p.Kind.Infra != authority.InfraMachine {
		return ""
	}
	label, masters := authority.ControlPlaneRole()
	if is := p.MachineAPI.Metadata.Labels[label]; !slices.Contains(masters, is) {
		return is
	}
	return controlPlaneRole
}

func (m *mover) plan(f *inventory.Fleet) []migrate.PlannedMove {
	cluster := f.Describe(inventory.Cluster{})
	var findings []readiness.Finding
	for _, pair := range f.Pairs {
		env, unknown := f.Env(cluster, pair)
		findings = append(findings, readiness.Judge(pair, m.to, env, unknown, f.Lacks(cluster, env)))
	}
	return migrate.Plan(f.Pairs, findings)
}

func (m *mover) show(plan []migrate.PlannedMove) {
	if len(plan) == 0 {
		return
	}
	rows := [][]string{{"OBJECT", "ROLE", "FROM", "TO", "PLAN", "WHY"}}
	for _, s := range plan {
		rows = append(rows, []string{s.Pair.Ref(), printers.Dash(role(s.Pair)), s.Pair.Authoritative().Text(), m.to.Text(), m.action(s.Action), firstReason(s.Finding)})
	}
	if !slices.ContainsFunc(plan, func(s migrate.PlannedMove) bool { return role(s.Pair) != "" }) {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 1, 2)
		}
	}
	m.Table(rows)
	for _, s := range plan {
		m.record(event{Object: s.Pair.Ref(), Event: "plan: " + string(s.Action), Message: firstReason(s.Finding), Failed: s.Action == migrate.Leave})
		if s.Action != migrate.Leave {
			continue
		}
		m.Linef("\n%s cannot move:", m.Bold(s.Pair.Ref()))
		for _, field := range s.Finding.Fields {
			m.Linef("%s", printers.Wrap(field.Path+": "+field.Reason, "    ", m.Width))
		}
		if s.Finding.Message != "" {
			m.Linef("%s", printers.Wrap(s.Finding.Message, "    ", m.Width))
		}
	}
}

func (m *mover) action(a migrate.Action) string {
	switch a {
	case migrate.Leave:
		return m.Red(string(a))
	case migrate.Skip:
		return m.Dim(string(a))
	case migrate.Follow:
		return m.Yellow(string(a))
	}
	return m.Green(string(a))
}

func firstReason(f readiness.Finding) string {
	if f.Readiness == readiness.Waiting {
		return "will wait: " + f.Reason
	}
	return f.Reason
}

// rehearse has the server say what it thinks of each request.
func (m *mover) rehearse(ctx context.Context, steps []migrate.PlannedMove) error {
	var failed error
	m.Linef("")
	for _, s := range steps {
		err := m.request(ctx, s.Pair, m.to, metav1.DryRunAll)
		m.report(s.Pair.Ref(), "would be asked for (server dry run)", err)
		if err != nil {
			failed = cli.Exit(cli.CodeNo, "")
		}
	}
	return failed
}

// ask sends the requests and leaves the rest to Poundlock.
func (m *mover) ask(ctx context.Context, steps []migrate.PlannedMove) error {
	m.Linef("")
	for _, s := range steps {
		err := m.request(ctx, s.Pair, m.to, "")
		m.report(s.Pair.Ref(), "asked for", err)
		if err != nil {
			return cli.Exit(cli.CodeNo, "stopped at the first failure; the same command goes on from here")
		}
	}
	m.Linef("\nPoundlock's manager carries them out: kubectl poundlock status --watch")
	return nil
}

// event is a line of -o json.
type event struct {
	Time time.Time `json:"time"`
	// Object is empty of the last line, which is about all.
	Object string `json:"object,omitempty"`
	// Event is what happened, in words.
	Event string `json:"event"`
	// Message says more; of a refusal it is the API server's.
	Message  string   `json:"message,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Seconds is how long the object has been on the way.
	Seconds float64 `json:"seconds,omitempty"`
	// Arrived of Total are there; LeftSeconds is an estimate.
	Arrived     int     `json:"arrived,omitempty"`
	Total       int     `json:"total,omitempty"`
	LeftSeconds float64 `json:"leftSeconds,omitempty"`
	Failed      bool    `json:"failed,omitempty"`
}

// record writes a line for programs.
func (m *mover) record(e event) {
	if m.format != "json" {
		return
	}
	e.Time = m.Now().UTC()
	if err := m.Stream("MigrationEvent", e); err != nil {
		fmt.Fprintln(m.ErrOut, "writing:", err)
	}
}

// report prints what came of a request: the webhook's warnings, and its refusal.
func (m *mover) report(ref, what string, err error) {
	e := event{Object: ref, Event: what, Warnings: m.warned}
	if err != nil {
		e.Event, e.Message, e.Failed = "refused", err.Error(), true
	}
	m.record(e)
	if err != nil {
		m.Linef("%s  %s  %s", m.clock(), ref, m.Red("refused: "+err.Error()))
	} else {
		m.Linef("%s  %s  %s", m.clock(), ref, what)
	}
	for _, text := range m.warned {
		m.Linef("%s", printers.Wrap(m.Yellow("warning:")+" "+text, "            ", m.Width))
	}
}

func (m *mover) clock() string { return m.Dim(m.Now().Format(time.TimeOnly)) }

// request changes spec.authoritativeAPI of the object as it was read.
func (m *mover) request(ctx context.Context, pair inventory.Pair, to authority.API, dryRun string) error {
	m.warned = nil
	if m.withMachines {
		defer func() { m.warned = slices.DeleteFunc(m.warned, authority.LeavesMachines) }() // they follow
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": pair.MachineAPI.Metadata.ResourceVersion},
		"spec":     map[string]any{"authoritativeAPI": to},
	})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: cli.FieldManager}
	if dryRun != "" {
		options.DryRun = []string{dryRun}
	}
	resource := pair.Kind.MachineAPI.WithResource(pair.Kind.Resource)
	_, err = m.client.Resource(resource).Namespace(pair.Namespaces.MachineAPI).Patch(ctx, pair.Name, types.MergePatchType, body, options)
	return err
}

// follow requests as many as may be on the way, and prints each step until all are there.
func (m *mover) follow(ctx context.Context, plan []migrate.PlannedMove) error {
	m.Linef("")
	began := m.Now()
	run := migrate.NewRun(plan, m.to, m.maxInFlight, m.timeout, began)
	var end error
	err := inventory.Follow(ctx, m.client, m.query, time.Second, func(f *inventory.Fleet) (bool, error) {
		done, err := m.look(ctx, run, f)
		end = err
		return done || err != nil, nil
	})
	arrived, onTheWay, left := run.Counts()
	m.record(event{
		Event: "over", Arrived: arrived, Total: arrived + onTheWay + left, Seconds: m.Now().Sub(began).Seconds(),
		Failed: ctx.Err() != nil || err != nil || end != nil,
	})
	switch {
	case ctx.Err() != nil:
		m.Linef("\ninterrupted: %d there, %d on the way (Poundlock's manager goes on with those), %d not asked for. The same command goes on from here.",
			arrived, onTheWay, left)
		return cli.Exit(cli.CodeInterrupted, "")
	case err != nil:
		return err
	case end != nil:
		m.Linef("\nstopped: %d there, %d on the way, %d not asked for. The same command goes on from here; --cancel takes back what is on the way.",
			arrived, onTheWay, left)
		return end
	}
	m.Linef("\n%s %s with %s after %s.", amount.Of(arrived, "object"), isAre(arrived), m.to.Text(), duration.HumanDuration(m.Now().Sub(began)))
	return nil
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// look is one look at the fleet. Its error says why the run ends before everything is there.
func (m *mover) look(ctx context.Context, run *migrate.Run, f *inventory.Fleet) (bool, error) {
	out := run.Look(f, m.Now())
	for _, l := range out.Lines {
		m.line(l)
	}
	switch {
	case out.Failed:
		return false, cli.Exit(cli.CodeNo, "")
	case out.TimedOut:
		return false, cli.Exit(cli.CodeTimeout, "")
	}
	for _, pair := range out.Ask {
		err := m.request(ctx, pair, m.to, "")
		switch {
		case apierrors.IsConflict(err):
			run.Stale(pair)
			continue
		case errors.Is(err, context.Canceled):
			return false, nil
		}
		m.report(pair.Ref(), "asked for", err)
		if err != nil {
			return false, cli.Exit(cli.CodeNo, "")
		}
		run.Asked(pair, m.Now())
	}
	return out.Done, nil
}

func (m *mover) line(l migrate.Line) {
	what := l.What
	switch {
	case l.Good:
		what = m.Green(what)
	case l.Bad:
		what = m.Red(what)
	}
	m.record(event{
		Object: l.Ref, Event: l.What, Message: l.Detail, Seconds: l.After.Seconds(),
		Arrived: l.Arrived, Total: l.Total, LeftSeconds: l.Left.Seconds(), Failed: l.Bad,
	})
	m.Linef("%s  %s  %s  %s", m.clock(), l.Ref, what, m.Dim("after "+duration.HumanDuration(l.After)+counter(l)))
	if l.Detail != "" {
		m.Linef("%s", printers.Wrap(l.Detail, "            ", m.Width))
	}
}

// counter says how far a move of several objects is.
func counter(l migrate.Line) string {
	switch {
	case l.Total < 2:
		return ""
	case l.Left == 0:
		return fmt.Sprintf(", %d of %d", l.Arrived, l.Total)
	}
	return fmt.Sprintf(", %d of %d, about %s left", l.Arrived, l.Total, duration.HumanDuration(l.Left))
}

// back takes requests back.
func (m *mover) back(ctx context.Context, f *inventory.Fleet) error {
	f.Narrow(func(p inventory.Pair) bool { return p.MachineAPI != nil && p.Moving() })
	if len(f.Pairs) == 0 {
		m.Linef("Nothing of that is asked to move: there is nothing to cancel.")
		return nil
	}
	for _, pair := range f.Pairs {
		m.Linef("%s: back to %s", pair.Ref(), pair.Authoritative().Text())
	}
	if m.dryRun == "client" {
		m.Linef("\nNothing was asked for (--dry-run=client).")
		return nil
	}
	dryRun, done := "", "cancellation asked for: authority goes back"
	if m.dryRun == "server" {
		dryRun, done = metav1.DryRunAll, "would be cancelled (server dry run)"
	} else if err := m.Confirm(ctx, m.yes, fmt.Sprintf("Cancel the moves of %s?", amount.Of(len(f.Pairs), "object"))); err != nil {
		return err
	}
	m.Linef("")
	for _, pair := range f.Pairs {
		if pair.Authoritative().Other() == authority.Unset {
			return cli.Exit(cli.CodeNo, pair.Ref()+": status does not say where authority came from (status.synchronizedAPI)")
		}
		err := m.request(ctx, pair, pair.Authoritative(), dryRun)
		m.report(pair.Ref(), done, err)
		if err != nil {
			return cli.Exit(cli.CodeNo, "stopped at the first failure")
		}
	}
	if !m.wait || dryRun != "" {
		return nil
	}
	return m.settled(ctx, f.Pairs)
}

// settled waits until authority over each of the pairs is back.
func (m *mover) settled(ctx context.Context, cancelled []inventory.Pair) error {
	began, left := m.Now(), map[string]bool{}
	for _, p := range cancelled {
		left[p.Namespaces.MachineAPI+"/"+p.Ref()] = true
	}
	timedOut := false
	err := inventory.Follow(ctx, m.client, m.query, time.Second, func(f *inventory.Fleet) (bool, error) {
		still := map[string]bool{}
		for _, p := range f.Pairs {
			key := p.Namespaces.MachineAPI + "/" + p.Ref()
			if !left[key] {
				continue
			}
			if still[key] = p.Moving(); !still[key] {
				what := "is with " + p.Authoritative().Text()
				m.record(event{Object: p.Ref(), Event: what, Seconds: m.Now().Sub(began).Seconds()})
				m.Linef("%s  %s  %s", m.clock(), p.Ref(), m.Green(what))
				delete(left, key)
			}
		}
		for key := range left {
			if _, there := still[key]; !there {
				delete(left, key) // deleted meanwhile
			}
		}
		timedOut = m.timeout > 0 && m.Now().Sub(began) > m.timeout
		return len(left) == 0 || timedOut, nil
	})
	switch {
	case ctx.Err() != nil:
		return cli.Exit(cli.CodeInterrupted, "interrupted: Poundlock's manager goes on")
	case err == nil && len(left) > 0:
		return cli.Exit(cli.CodeTimeout, fmt.Sprintf("%s not back yet: kubectl poundlock status --watch", amount.Of(len(left), "object")))
	}
	return err
}
