// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cleanup"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies/authority"
)

type cleanupOptions struct {
	yes    bool
	dryRun string
	name   string
}

func cleanupCommand(p *plugin) *cobra.Command {
	o := &cleanupOptions{}
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Take Poundlock's admission, finalizers and marks off a cluster from which it is removed",
		Long: `Take Poundlock's admission, finalizers and marks off a cluster from which it is removed.

What is paused stays paused, and which API is authoritative stays authoritative: nothing begins to act. Nothing is done while a manager runs, which would
put everything back, or while an object is on the move, which nobody would end. Interrupted, the same command goes on where it stopped.

While a namespace, a CRD or the Cluster is being deleted, Poundlock may be gone with it. Then the mirrors there are released, also from the finalizers of
controllers that are paused, and a move there is taken back: no instance is terminated.
docs/plugin.md › Cleaning up tells what is left to do afterwards.`,
		Example: `  kubectl poundlock cleanup --dry-run=client
  kubectl -n openshift-cluster-api scale deployment poundlock --replicas=0 && kubectl poundlock cleanup`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.cleanup(cmd.Context(), *o) },
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cli.AddDryRunFlag(cmd, &o.dryRun, "client: show the plan; server: have the API server try each write; none")
	cmd.Flags().StringVar(&o.name, "name", presence.Name, "the name of Poundlock's Deployment, Lease and webhook configurations")
	return cmd
}

var (
	// What mirrors live in.
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	clusters    = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
	// Poundlock's own. The policies bear the labels of its manifests.
	admission = append([]schema.GroupVersionResource{
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	}, presence.Webhooks...)
)

func (p *plugin) cleanup(ctx context.Context, o cleanupOptions) error {
	if err := cli.CheckDryRun(o.dryRun); err != nil {
		return err
	}
	pairs, err := p.Pairs()
	if err != nil {
		return err
	}
	client, err := p.Client(nil)
	if err != nil {
		return err
	}
	f, err := inventory.FromCluster(ctx, client, inventory.Query{Pairs: pairs})
	if err != nil {
		return err
	}
	c := &cleaner{plugin: p, Output: p.Printer(), cleanupOptions: o, client: client, leaving: cleanup.Leaving{}}
	if c.marked, err = c.surroundings(ctx, pairs); err != nil {
		return err
	}
	return c.clean(ctx, f, pairs[0].ClusterAPI)
}

type cleaner struct {
	*plugin
	printers.Output
	cleanupOptions
	client dynamic.Interface
	// own are Poundlock's admission objects.
	own []owned
	// known says that a Deployment or Lease has the name that was given.
	known bool
	// marked are the objects that mirrors live in, as far as they carry Poundlock's annotations, and leaving those that are being deleted or gone.
	marked  []owned
	leaving cleanup.Leaving
}

type owned struct {
	schema.GroupVersionResource
	namespace, name string
}

func (c *cleaner) clean(ctx context.Context, f *inventory.Fleet, namespace string) error {
	var err error
	if c.own, err = c.admission(ctx); err != nil {
		return err
	}
	items := f.Items()
	changes := cleanup.Changes(f, c.leaving)
	manager, err := c.manager(ctx, namespace)
	if err != nil {
		return err
	}
	if c.name != presence.Name && !c.known && !slices.ContainsFunc(c.own, func(o owned) bool { return strings.HasPrefix(o.name, c.name) }) {
		return cli.Exit(cli.CodeError, fmt.Sprintf("--name %s: no Deployment and no Lease in %s has this name, nor any webhook configuration", c.name, namespace))
	}
	c.show(changes, cleanup.Paused(items))
	if obstacles := cleanup.Obstacles(f, c.leaving, manager, c.Now()); len(obstacles) > 0 {
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
		if err := c.Confirm(ctx, c.yes, "Take all of that off?"); err != nil {
			return err
		}
	}
	return c.carryOut(ctx, changes)
}

// show prints the whole plan.
func (c *cleaner) show(changes []cleanup.Change, paused int) {
	if len(c.own)+len(changes)+len(c.marked) == 0 {
		c.Linef("There is nothing of Poundlock's admission, finalizers or marks here.")
		return
	}
	c.Linef("To be taken off:\n")
	rows := [][]string{{"WHAT", "FROM"}}
	for _, o := range c.own {
		rows = append(rows, []string{"all of it", o.Resource + "/" + o.name})
	}
	for _, change := range changes {
		rows = append(rows, []string{what(change), object(change.Item)})
	}
	for _, o := range c.marked {
		rows = append(rows, []string{"1 mark", o.GroupResource().String() + "/" + o.name})
	}
	c.Table(rows)
	c.Linef("\nWhat is paused stays paused (%s), and status stays as it is.", amount.Of(paused, "Cluster API object"))
}

func what(c cleanup.Change) string {
	var parts []string
	if c.Back {
		parts = append(parts, "move to Cluster API")
	}
	if c.Detached != "" {
		parts = append(parts, "owner")
	}
	if c.Released && c.Finalizer {
		parts = append(parts, "every finalizer")
	} else if c.Finalizer {
		parts = append(parts, "sync finalizer")
	}
	if n := len(c.Annotations); n > 0 {
		parts = append(parts, amount.Of(n, "mark"))
	}
	return strings.Join(parts, ", ")
}

func object(i inventory.Item) string {
	return i.Resource.GroupResource().String() + "/" + i.Object.Metadata.Name
}

func (c *cleaner) refuse(obstacles []cleanup.Obstacle) error {
	c.Linef("\n%s", c.Red("Not now:"))
	for _, o := range obstacles {
		c.Linef("\n%s", printers.Wrap("- "+o.What, "  ", c.Width))
		c.Linef("%s", printers.Wrap(o.Remedy, "    ", c.Width))
	}
	return cli.Exit(cli.CodeNo, "nothing was changed")
}

// admission lists Poundlock's policies and webhook configurations.
func (c *cleaner) admission(ctx context.Context) ([]owned, error) {
	var out []owned
	for _, resource := range admission {
		list, err := c.client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=poundlock"})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
		}
		for i := range list.Items {
			out = append(out, owned{GroupVersionResource: resource, name: list.Items[i].GetName()})
		}
	}
	return out, nil
}

// surroundings lists the namespaces, CRDs, Clusters and infrastructure clusters that carry the mark by which their deletion is refused, or the label by which
// webhooks fail closed.
func (c *cleaner) surroundings(ctx context.Context, pairs authority.Pairs) ([]owned, error) {
	var out []owned
	add := func(resource schema.GroupVersionResource, items ...unstructured.Unstructured) {
		for i := range items {
			if items[i].GetAnnotations()[authority.HoldsMirrorsAnnotation] != "" || items[i].GetLabels()[authority.AdmissionLabel] != "" {
				out = append(out, owned{resource, items[i].GetNamespace(), items[i].GetName()})
			}
		}
	}
	for _, pair := range pairs {
		for _, name := range []string{pair.MachineAPI, pair.ClusterAPI} {
			o, err := c.get(ctx, namespaces, "", name)
			if err != nil {
				return nil, err
			}
			c.leaves(authority.Namespace, "", name, o)
			if o != nil {
				add(namespaces, *o)
			}
		}
	}
	names, resources := sets.New(authority.Definitions()...), []schema.GroupVersionResource{clusters}
	for _, p := range platforms.List() {
		names.Insert(p.Definitions()...)
		resources = append(resources, p.InfraCluster.GroupVersion().WithResource(p.InfraCluster.Plural))
	}
	for _, name := range sets.List(names) {
		o, err := c.get(ctx, definitions, "", name)
		if err != nil {
			return nil, err
		}
		c.leaves(authority.Definition, "", name, o)
		if o != nil {
			add(definitions, *o)
		}
	}
	for _, pair := range pairs {
		for _, resource := range resources {
			list, err := c.client.Resource(resource).Namespace(pair.ClusterAPI).List(ctx, metav1.ListOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
			}
			if err != nil {
				continue
			}
			add(resource, list.Items...)
			for i := range list.Items {
				if resource == clusters {
					c.leaves(authority.Cluster, pair.ClusterAPI, list.Items[i].GetName(), &list.Items[i])
				}
			}
		}
	}
	return out, nil
}

// leaves notes an object that is being deleted.
func (c *cleaner) leaves(kind, namespace, name string, o *unstructured.Unstructured) {
	if o != nil && o.GetDeletionTimestamp() != nil {
		c.leaving[cleanup.Place{Kind: kind, Namespace: namespace, Name: name}] = true
	}
}

// unmark removes the mark and the label of one object; without admission nobody refuses that.
func (c *cleaner) unmark(ctx context.Context, o owned, dryRun ...string) error {
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null},"labels":{%q:null}}}`, authority.HoldsMirrorsAnnotation, authority.AdmissionLabel)
	var last error
	_ = wait.PollUntilContextTimeout(ctx, 300*time.Millisecond, lingers, true, func(ctx context.Context) (bool, error) {
		_, last = c.client.Resource(o.GroupVersionResource).Namespace(o.namespace).
			Patch(ctx, o.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: cli.FieldManager, DryRun: dryRun})
		return last == nil || !c.ours(last), nil
	}) // last says more than that time is up
	return last
}

// manager looks for signs that a manager runs.
func (c *cleaner) manager(ctx context.Context, namespace string) (cleanup.Manager, error) {
	m := cleanup.Manager{Name: c.name, Namespace: namespace}
	deployment, err := c.get(ctx, presence.Deployments, namespace, c.name)
	if err != nil {
		return m, err
	}
	if deployment != nil {
		replicas, said, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
		if m.Deployment = replicas; !said {
			m.Deployment = 1
		}
	}
	lease, err := c.get(ctx, presence.Leases, namespace, c.name)
	if err != nil {
		return m, err
	}
	c.known = deployment != nil || lease != nil
	if lease != nil {
		m.Holder, _, _ = unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
		m.Renewed, _ = time.Parse(time.RFC3339Nano, renewed) // unreadable: long ago
		seconds, _, _ := unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
		m.Term = time.Duration(seconds) * time.Second
	}
	is, err := presence.Of(ctx, c.Plugin, namespace)
	m.Answers = is == presence.Answers
	return m, err
}

func (c *cleaner) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := c.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", resource.GroupResource(), namespace, name, err)
	}
	return u, nil
}

func (c *cleaner) apply(ctx context.Context, change cleanup.Change, dryRun ...string) error {
	body, err := json.Marshal(change.Patch())
	if err != nil {
		return err
	}
	objects, options := c.client.Resource(change.Resource).Namespace(change.Object.Metadata.Namespace), metav1.PatchOptions{FieldManager: cli.FieldManager, DryRun: dryRun}
	if _, err = objects.Patch(ctx, change.Object.Metadata.Name, types.MergePatchType, body, options); err != nil || change.StatusPatch() == nil {
		return err
	}
	if body, err = json.Marshal(change.StatusPatch()); err != nil {
		return err
	}
	_, err = objects.Patch(ctx, change.Object.Metadata.Name, types.MergePatchType, body, options, "status")
	return err
}

// lingers is how long an API server may go on to ask for admission that was taken down: it hears of it by a watch.
const lingers = 20 * time.Second

// applySoon tries again while what was taken down still answers.
func (c *cleaner) applySoon(ctx context.Context, change cleanup.Change, dryRun ...string) error {
	var last error
	_ = wait.PollUntilContextTimeout(ctx, 300*time.Millisecond, lingers, true, func(ctx context.Context) (bool, error) {
		last = c.apply(ctx, change, dryRun...)
		if apierrors.IsConflict(last) { // a controller was faster
			var err error
			if change, err = c.again(ctx, change); err != nil {
				last = err
			}
			return err != nil, nil
		}
		return last == nil || !c.ours(last), nil
	}) // last says more than that time is up
	return last
}

// again reads the object anew, and what has to come off it.
func (c *cleaner) again(ctx context.Context, change cleanup.Change) (cleanup.Change, error) {
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

// ours recognizes a refusal by Poundlock's admission, or for want of it.
func (c *cleaner) ours(err error) bool {
	text := err.Error()
	return strings.Contains(text, "[authority/") || strings.Contains(text, "failed calling webhook") || strings.Contains(text, "'"+c.name+"-")
}

// carryOut takes admission down first: it would refuse the rest, whether a manager answers or not.
func (c *cleaner) carryOut(ctx context.Context, changes []cleanup.Change) error {
	var dryRun []string
	if c.dryRun == "server" {
		dryRun = []string{metav1.DryRunAll}
		if len(c.own) > 0 {
			c.Linef("\nThe objects are not tried: as long as the webhook configurations are there, the API server refuses them.")
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
	for _, change := range changes {
		err := c.applySoon(ctx, change, dryRun...)
		switch {
		case apierrors.IsNotFound(err): // it went meanwhile
		case ctx.Err() != nil:
			return cli.Exit(cli.CodeInterrupted, "interrupted; the same command goes on from here")
		case err != nil:
			left++
			c.Linef("%s  %s", object(change.Item), c.Red("not taken off: "+err.Error()))
		default:
			c.Linef("%s  %s", object(change.Item), c.Green(what(change)+" taken off"+c.rehearsed()))
		}
	}
	for _, o := range c.marked {
		where := o.GroupResource().String() + "/" + o.name
		switch err := c.unmark(ctx, o, dryRun...); {
		case apierrors.IsNotFound(err):
		case ctx.Err() != nil:
			return cli.Exit(cli.CodeInterrupted, "interrupted; the same command goes on from here")
		case err != nil:
			left++
			c.Linef("%s  %s", where, c.Red("not taken off: "+err.Error()))
		default:
			c.Linef("%s  %s", where, c.Green("1 mark taken off"+c.rehearsed()))
		}
	}
	if left > 0 {
		return cli.Exit(cli.CodeNo, fmt.Sprintf("%s not cleaned: the same command tries again", amount.Of(left, "object")))
	}
	c.Linef("\nDone%s. docs/plugin.md › Cleaning up tells what is left to do.", c.rehearsed())
	return nil
}

func (c *cleaner) rehearsed() string {
	if c.dryRun == "server" {
		return " (server dry run)"
	}
	return ""
}
