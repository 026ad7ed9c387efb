// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package surroundings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/policies/authority"
)

// Options are the settings of the controller.
type Options struct {
	// Pairs are the pairs of namespaces that mirror each other.
	Pairs authority.Pairs
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

const (
	// fieldManager is the field manager that owns the marks (HoldsMirrorsAnnotation).
	fieldManager = managedfields.MarksManager
	// again is how often all marks are compared with their wanted values, and changed numbers in them are written. They are not written at each change. A fleet
	// that is scaled changes the numbers every second, and for each patch of a CRD, the API server and everyone who watches CRDs read the CRD's whole schema.
	again = time.Minute
	// together is how long events are collected, so that scaling a set leads to one pass.
	together = 2 * time.Second
)

var (
	infrastructureKind = configv1.GroupVersion.WithKind("Infrastructure")
)

// all is the only request of this controller. One pass handles all pairs, because a CRD belongs to all of them.
var all = reconcile.Request{NamespacedName: types.NamespacedName{Name: "all"}}

// SetupWithManager adds the controller to the manager.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	r := &reconciler{pairs: o.Pairs, now: now, marked: map[place]bool{}, cache: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient()}
	c, err := controller.New("surroundings", mgr, controller.Options{Reconciler: r, RateLimiter: requeue.Patient()})
	if err != nil {
		return fmt.Errorf("starting the marks of the surroundings: %w", err)
	}
	for _, kind := range authority.Kinds() {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind.MachineAPIGVK())
		if err := c.Watch(source.Kind[client.Object](mgr.GetCache(), o, changes())); err != nil {
			return fmt.Errorf("watching %s: %w", kind.MachineAPIGVK(), err)
		}
	}
	return nil
}

// changes returns the handler that requests a pass when an object begins or ceases to be mirrored.
func changes() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { q.AddAfter(all, together) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { q.AddAfter(all, together) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if mirrored(e.ObjectOld) != mirrored(e.ObjectNew) {
				q.AddAfter(all, together)
			}
		},
	}
}

func mirrored(o client.Object) bool {
	return slices.Contains(o.GetFinalizers(), authority.SyncFinalizer)
}

type reconciler struct {
	pairs  authority.Pairs
	now    func() time.Time
	cache  cache.Cache
	live   client.Reader
	writer client.Writer
	// marked says for each object whether it had a mark at the end of the last pass that read it. compared is when all of them were read. There is one worker, so
	// neither needs a lock.
	marked   map[place]bool
	compared time.Time
}

// place identifies an object that mirrors live in, such as their namespace.
type place struct {
	gvk             schema.GroupVersionKind
	namespace, name string
}

// target is an object and the mark that it should have; "" means no mark.
type target struct {
	place
	mark string
}

// Reconcile adds or removes the mark of an object as soon as this is needed. Once a minute it also compares the text of all marks, with the numbers in them.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	targets, err := r.targets(ctx)
	began := r.now()
	due := !began.Before(r.compared.Add(again))
	for _, t := range targets {
		if marked, known := r.marked[t.place]; due || !known || marked != (t.mark != "") {
			err = errors.Join(err, r.mark(ctx, t))
		}
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if due {
		r.compared = began
	}
	return reconcile.Result{RequeueAfter: r.compared.Add(again).Sub(began)}, nil
}

// targets returns the objects to mark. The mark of a namespace, of its Cluster and of the Cluster's infrastructure cluster counts the mirrors of one pair. The
// mark of a CRD counts those of all pairs.
func (r *reconciler) targets(ctx context.Context) ([]target, error) {
	infrastructure := &unstructured.Unstructured{}
	infrastructure.SetGroupVersionKind(infrastructureKind)
	if err := r.cache.Get(ctx, client.ObjectKey{Name: "cluster"}, infrastructure); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Infrastructure cluster: %w", err)
	}
	cluster, _, _ := unstructured.NestedString(infrastructure.Object, "status", "infrastructureName")
	platform, _, _ := unstructured.NestedString(infrastructure.Object, "status", "platformStatus", "type")
	p, known := platforms.For(platform)
	var out []target
	total := map[string]int{}
	for _, pair := range r.pairs {
		counts, err := r.count(ctx, pair.MachineAPI)
		if err != nil {
			return nil, err
		}
		for kind, n := range counts {
			total[kind] += n
		}
		mark := summary(counts)
		out = append(out, target{place{facts.NamespaceKind, "", pair.MachineAPI}, mark}, target{place{facts.NamespaceKind, "", pair.ClusterAPI}, mark})
		if cluster != "" {
			out = append(out, target{place{facts.ClusterKind, pair.ClusterAPI, cluster}, mark})
		}
		if cluster != "" && known {
			out = append(out, target{place{p.InfraCluster.GroupVersionKind, pair.ClusterAPI, cluster}, mark})
		}
	}
	definitions := authority.Definitions()
	if known {
		definitions = append(definitions, p.Definitions()...)
	}
	for _, name := range definitions {
		out = append(out, target{place{facts.DefinitionKind, "", name}, summary(total)})
	}
	return out, nil
}

// count returns how many objects of each kind in a Machine API namespace are mirrored, by kind.
func (r *reconciler) count(ctx context.Context, namespace string) (map[string]int, error) {
	out := map[string]int{}
	for _, kind := range authority.Kinds() {
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(kind.MachineAPI.WithKind(kind.Name + "List"))
		if err := r.cache.List(ctx, l, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing %ss in %s: %w", kind.Name, namespace, err)
		}
		for i := range l.Items {
			if mirrored(&l.Items[i]) {
				out[kind.Name]++
			}
		}
	}
	return out, nil
}

// summary returns the text of a mark, in the order of the kinds, such as "2 Machines, 1 MachineSet"; "" if there are no mirrors.
func summary(counts map[string]int) string {
	var out []string
	for _, kind := range authority.Kinds() {
		if n := counts[kind.Name]; n > 0 {
			out = append(out, amount.Of(n, kind.Name))
		}
	}
	return strings.Join(out, ", ")
}

// mark patches the annotation of one object, if the object exists and is not being deleted.
func (r *reconciler) mark(ctx context.Context, t target) error {
	delete(r.marked, t.place)
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(t.gvk)
	err := r.live.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, o)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", t.gvk.Kind, t.name, err)
	}
	if o.GetDeletionTimestamp() != nil {
		return nil
	}
	if o.GetAnnotations()[authority.HoldsMirrorsAnnotation] == t.mark {
		r.marked[t.place] = t.mark != ""
		return nil
	}
	var value any
	if t.mark != "" {
		value = t.mark
	}
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{authority.HoldsMirrorsAnnotation: value}}}
	if err := versioned.Patch(ctx, r.writer, o, patch, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("marking %s %s: %w", t.gvk.Kind, t.name, err)
	}
	r.marked[t.place] = t.mark != ""
	log.FromContext(ctx).Info("Surroundings marked", "kind", t.gvk.Kind, "name", t.name, "holds", t.mark)
	return nil
}
