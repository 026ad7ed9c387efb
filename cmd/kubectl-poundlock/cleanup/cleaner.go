// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
)

// cleaner executes one run of `kubectl poundlock cleanup`.
type cleaner struct {
	*options
	printers.Output
	client dynamic.Interface
	// own are Poundlock's policies and webhook configurations.
	own []owned
	// known reports that a Deployment or Lease has the name in --name.
	known bool
	// marked are the namespaces, CRDs, Clusters and infrastructure clusters with Poundlock's annotation or label. leaving are the namespaces, CRDs and Clusters
	// that are being deleted.
	marked  []owned
	leaving Leaving
	// checks are the Machine API's MachineHealthChecks that stay paused.
	checks []PausedCheck
	// lingers is how long deleted admission may still refuse. For that time, the command retries what is refused.
	lingers time.Duration
}

type owned struct {
	schema.GroupVersionResource
	namespace, name string
}

// marks names what cleanup removes from a namespace, a CRD, a Cluster or an infrastructure cluster.
func (o owned) marks() string {
	if o.GroupVersionResource == namespaces {
		return "annotation, label"
	}
	return "1 annotation"
}

func (c *cleaner) clean(ctx context.Context, f *inventory.Fleet, namespace string) error {
	var err error
	if c.own, err = c.admission(ctx); err != nil {
		return err
	}
	items := f.Items()
	changes := Changes(f, c.leaving)
	c.checks = PausedChecks(f)
	manager, err := c.manager(ctx, namespace)
	if err != nil {
		return err
	}
	if c.name != presence.Name && !c.known && !configured(c.own, c.name) {
		return cli.Exit(cli.CodeError, fmt.Sprintf("--name %s: there is no Deployment or Lease of this name in %s, "+
			"and no webhook configuration of this name", c.name, namespace))
	}
	c.show(changes, Paused(items), Idle(f))
	if obstacles := Obstacles(f, c.leaving, manager, c.Now()); len(obstacles) > 0 {
		return c.refuse(obstacles)
	}
	switch {
	case len(c.own)+len(changes)+len(c.marked) == 0:
		return nil
	case c.dryRun == "client":
		c.Linef("\nNothing was changed (--dry-run=client).")
		return nil
	}
	if c.dryRun == "none" {
		if err := c.Confirm(ctx, c.yes, "Remove all of this?"); err != nil {
			return err
		}
	}
	return c.carryOut(ctx, namespace, changes)
}

// configured reports whether a webhook configuration has the name of an installation. A part of the name is not enough: the manager of that installation would
// be looked for by the part, and not be found.
func configured(own []owned, name string) bool {
	return slices.ContainsFunc(own, func(o owned) bool {
		return o.name == name && slices.Contains(presence.Webhooks, o.GroupVersionResource)
	})
}

// show prints the whole plan.
func (c *cleaner) show(changes []Change, paused int, idle []string) {
	if len(c.own)+len(changes)+len(c.marked) == 0 {
		c.Linef("This cluster has none of Poundlock's webhook configurations, policies, finalizers, annotations or labels.")
		c.freeChecks()
		return
	}
	c.Linef("To be removed:\n")
	rows := [][]string{{"WHAT", "FROM"}}
	for _, o := range c.own {
		rows = append(rows, []string{"whole object", o.Resource + "/" + o.name})
	}
	for _, change := range changes {
		rows = append(rows, []string{what(change), object(change.Item)})
	}
	for _, o := range c.marked {
		rows = append(rows, []string{o.marks(), o.GroupResource().String() + "/" + o.name})
	}
	c.TableWithText(rows)
	c.Linef("\nPaused objects stay paused (%s), and their status does not change.", amount.Of(paused, "Cluster API object"))
	c.moveChecks()
	if len(idle) == 0 {
		return
	}
	c.Linef("\n%s %s. If such an object's move has just ended, let Poundlock run for another minute:\n",
		c.Yellow("No controller acts on"), amount.Of(len(idle), "object"))
	const most = 10
	for _, sentence := range idle[:min(len(idle), most)] {
		c.Linef("%s", printers.Wrap("- "+sentence, "  ", c.Width))
	}
	if more := len(idle) - most; more > 0 {
		c.Linef("- and %d more objects. To see all objects: kubectl poundlock status", more)
	}
}

// moveChecks prints which of the Machine API's health checks stay paused, and the command that moves each while Poundlock still runs.
func (c *cleaner) moveChecks() {
	if len(c.checks) == 0 {
		return
	}
	c.Linef("\n%s", printers.Wrap(c.Yellow("Machine API's MachineHealthChecks stay paused.")+
		" Cluster API's MachineHealthChecks act instead, and skip every Machine for which Machine API is authoritative. "+
		"To let one of Machine API's MachineHealthChecks act, move it to Machine API now, while Poundlock runs:", "", c.Width))
	for _, check := range c.checks {
		c.Linef("- %s: %s", check.Ref, check.Move)
	}
}

// freeChecks prints which health checks stay paused when nobody can move them any more, each with the commands that unpause it.
func (c *cleaner) freeChecks() {
	if !slices.ContainsFunc(c.checks, func(check PausedCheck) bool { return check.Free != "" }) {
		return
	}
	c.Linef("\n%s", printers.Wrap(c.Yellow("Machine API's MachineHealthChecks are paused.")+
		" Cluster API's MachineHealthChecks act instead, and skip every Machine for which Machine API is authoritative. "+
		"To let one of Machine API's MachineHealthChecks act:", "", c.Width))
	for _, check := range c.checks {
		if check.Free != "" {
			c.Linef("- %s: %s", check.Ref, check.Free)
		}
	}
}

func what(c Change) string {
	var parts []string
	if c.Back {
		parts = append(parts, "move to Cluster API")
	}
	if c.Request != authority.Unset {
		parts = append(parts, "request to move to "+c.Request.Text())
	}
	if c.Detached != "" {
		parts = append(parts, "owner reference")
	}
	if c.Released && c.Finalizer {
		parts = append(parts, "every finalizer")
	} else if c.Finalizer {
		parts = append(parts, "sync finalizer")
	}
	if n := len(c.Annotations); n > 0 {
		parts = append(parts, amount.Of(n, "annotation"))
	}
	return strings.Join(parts, ", ")
}

func object(i inventory.Item) string {
	return i.Resource.GroupResource().String() + "/" + i.Object.Metadata.Name
}

func (c *cleaner) refuse(obstacles []Obstacle) error {
	c.Linef("\n%s", c.Red("cleanup cannot run now:"))
	for _, o := range obstacles {
		c.Linef("\n%s", printers.Wrap("- "+o.What, "  ", c.Width))
		c.Linef("%s", printers.Wrap(o.Remedy, "    ", c.Width))
	}
	return cli.Exit(cli.CodeNo, "nothing was changed")
}

func (c *cleaner) apply(ctx context.Context, change Change, dryRun ...string) error {
	body, err := json.Marshal(change.Patch())
	if err != nil {
		return err
	}
	objects := c.client.Resource(change.Resource).Namespace(change.Object.Metadata.Namespace)
	options := metav1.PatchOptions{FieldManager: cli.FieldManager, DryRun: dryRun}
	if _, err = objects.Patch(ctx, change.Object.Metadata.Name, types.MergePatchType, body, options); err != nil || change.StatusPatch() == nil {
		return err
	}
	if body, err = json.Marshal(change.StatusPatch()); err != nil {
		return err
	}
	_, err = objects.Patch(ctx, change.Object.Metadata.Name, types.MergePatchType, body, options, "status")
	return err
}

// linger is how long an API server may still call deleted webhooks and policies, because it learns of the deletion by a watch.
const linger = 20 * time.Second

// soon calls apply until deleted webhooks and policies no longer refuse, or the time is over. It returns apply's last error.
func (c *cleaner) soon(ctx context.Context, apply func(context.Context) error) error {
	var last error
	_ = wait.PollUntilContextTimeout(ctx, 300*time.Millisecond, c.lingers, true, func(context.Context) (bool, error) { // the poll's timeout cancels no request
		last = apply(ctx)
		return last == nil || !c.ours(last), nil
	}) // last has the cause, and the poll's own error only the timeout
	return last
}

// latest returns a function that applies a change. If the object was changed meanwhile, for example by a controller, the function works out the change for the
// new object, and retries.
func (c *cleaner) latest(change Change, dryRun ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			err := c.apply(ctx, change, dryRun...)
			if !apierrors.IsConflict(err) {
				return err
			}
			if change, err = c.again(ctx, change); err != nil {
				return err
			}
		}
	}
}

// again reads a change's object again, and returns what is now to be removed from the object.
func (c *cleaner) again(ctx context.Context, change Change) (Change, error) {
	u, err := c.client.Resource(change.Resource).Namespace(change.Object.Metadata.Namespace).Get(ctx, change.Object.Metadata.Name, metav1.GetOptions{})
	if err != nil {
		return change, err
	}
	o, err := inventory.FromUnstructured(u)
	if err != nil {
		return change, err
	}
	return change.Again(o), nil
}

// ours reports whether Poundlock's admission refused a request, or Poundlock's webhook did not answer.
func (c *cleaner) ours(err error) bool {
	text := err.Error()
	return strings.Contains(text, "[authority/") || strings.Contains(text, "failed calling webhook") || strings.Contains(text, "'"+c.name+"-")
}

// carryOut executes the plan. It deletes admission first, because admission would refuse the rest, whether a manager answers or not.
func (c *cleaner) carryOut(ctx context.Context, namespace string, changes []Change) error {
	var dryRun []string
	if c.dryRun == "server" {
		dryRun = []string{metav1.DryRunAll}
		if len(c.own) > 0 {
			c.Linef("\nThis dry run tries no write to an object: the API server refuses such writes as long as Poundlock's webhook configurations exist.")
			changes, c.marked = nil, nil
		}
	}
	c.Linef("")
	for _, o := range c.own {
		err := c.client.Resource(o.GroupVersionResource).Delete(ctx, o.name, metav1.DeleteOptions{DryRun: dryRun})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s %s: %w", o.Resource, o.name, err)
		}
		c.Linef("%s/%s  %s", o.Resource, o.name, c.Green("deleted"+c.rehearsed()))
	}
	left := 0
	for _, one := range c.pieces(changes, dryRun...) {
		err := c.soon(ctx, one.apply)
		switch {
		case apierrors.IsNotFound(err): // deleted meanwhile
		case ctx.Err() != nil:
			return cli.Exit(cli.CodeInterrupted, "interrupted; run the same command again to continue")
		case err != nil && c.ours(err):
			return c.stopped(ctx, namespace, one, err)
		case err != nil:
			left++
			c.Linef("%s  %s", one.object, c.Red("not removed: "+err.Error()))
		default:
			c.Linef("%s  %s", one.object, c.Green(one.what+" removed"+c.rehearsed()))
		}
	}
	switch why, err := c.returned(ctx, namespace); {
	case err != nil:
		return err
	case why != nil: // a running manager puts back what was removed, with or without admission
		return stop(*why)
	case left > 0:
		return cli.Exit(cli.CodeNo, fmt.Sprintf("%s not cleaned, because of the errors above: run the same command again", amount.Of(left, "object")))
	}
	c.Linef("\nDone%s. docs/plugin.md › Cleaning up lists what is left to do.", c.rehearsed())
	if c.dryRun == "none" { // while admission exists, it refuses these commands
		c.freeChecks()
	}
	return nil
}

// piece is one object, and what is to be removed from it.
type piece struct {
	object, what string
	apply        func(context.Context) error
}

func (c *cleaner) pieces(changes []Change, dryRun ...string) []piece {
	var out []piece
	for _, change := range changes {
		out = append(out, piece{object(change.Item), what(change), c.latest(change, dryRun...)})
	}
	for _, o := range c.marked {
		out = append(out, piece{o.GroupResource().String() + "/" + o.name, o.marks(), func(ctx context.Context) error { return c.unmark(ctx, o, dryRun...) }})
	}
	return out
}

// stopped returns the error that ends the command at the first object that admission still refuses. All others would be refused too, one after the other.
func (c *cleaner) stopped(ctx context.Context, namespace string, at piece, refusal error) error {
	c.Linef("%s  %s", at.object, c.Red("not removed: "+refusal.Error()))
	why, err := c.returned(ctx, namespace)
	switch {
	case err != nil:
		return err
	case why != nil:
		return stop(*why)
	}
	return cli.Exit(cli.CodeNo, "stopped: the API server still calls Poundlock's deleted webhooks or policies. Run the same command again to continue")
}

func stop(why Obstacle) error {
	return cli.Exit(cli.CodeNo, "stopped, because this changed meanwhile: "+why.What+". To continue: "+why.Remedy+". Then run the same command again")
}

// returned returns an obstacle if a manager runs again, or if deleted admission exists again; nil otherwise. Somebody may have started the manager or applied
// the manifests meanwhile.
func (c *cleaner) returned(ctx context.Context, namespace string) (*Obstacle, error) {
	if c.dryRun != "none" {
		return nil, nil
	}
	m, err := c.manager(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if runs := m.obstacles(c.Now()); len(runs) > 0 {
		return &runs[0], nil
	}
	own, err := c.admission(ctx)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	return &Obstacle{
		What:   own[0].Resource + "/" + own[0].name + " was created again",
		Remedy: "stop the writer that applies Poundlock's manifests, such as a GitOps controller",
	}, nil
}

func (c *cleaner) rehearsed() string {
	if c.dryRun == "server" {
		return " (server dry run)"
	}
	return ""
}

// unmark removes Poundlock's annotation and label from one namespace, CRD, Cluster or infrastructure cluster. Admission is deleted by then, so nothing refuses
// that.
func (c *cleaner) unmark(ctx context.Context, o owned, dryRun ...string) error {
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null},"labels":{%q:null}}}`, authority.HoldsMirrorsAnnotation, authority.AdmissionLabel)
	_, err := c.client.Resource(o.GroupVersionResource).Namespace(o.namespace).
		Patch(ctx, o.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: cli.FieldManager, DryRun: dryRun})
	return err
}
