// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
)

var theRequest = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: bundle.Namespace, Name: installation.OperatorName}}

func (r *reconciler) setup(mgr ctrl.Manager) error {
	limiter := workqueue.NewTypedWithMaxWaitRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, 5*time.Minute), 5*time.Minute)
	c, err := controller.New("install", mgr, controller.Options{Reconciler: r, RateLimiter: limiter, MaxConcurrentReconciles: 1})
	if err != nil {
		return err
	}
	operands, err := operandCache(mgr)
	if err != nil {
		return err
	}
	if err := mgr.Add(operands); err != nil {
		return err
	}
	r.watched = &watched{controller: c, cache: operands, kinds: map[schema.GroupVersionKind]bool{}}
	for _, w := range []struct {
		object client.Object
		only   predicate.Predicate
	}{
		{&corev1.ConfigMap{}, inputChanges()},
		{&configv1.Infrastructure{}, predicate.ResourceVersionChangedPredicate{}},
		{&configv1.ClusterOperator{}, predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == installation.OperatorName })},
	} {
		o := &metav1.PartialObjectMetadata{}
		kinds, _, err := mgr.GetScheme().ObjectKinds(w.object)
		if err != nil || len(kinds) == 0 {
			return fmt.Errorf("watching %T: %w", w.object, err)
		}
		o.SetGroupVersionKind(kinds[0])
		if err := c.Watch(source.Kind(mgr.GetCache(), client.Object(o), handler.EnqueueRequestsFromMapFunc(one), w.only)); err != nil {
			return fmt.Errorf("watching %s: %w", kinds[0].Kind, err)
		}
	}
	// If no watched object exists, the ClusterOperator must still report this, so the first request needs no event.
	return c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(theRequest)
		return nil
	}))
}

func one(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{theRequest} }

// isInput reports whether content is made from a ConfigMap. It returns false for the installer's own records, because their changes are the installer's own
// writes.
func isInput(o client.Object) bool {
	l := o.GetLabels()
	return l[installation.RecordLabel] == "" && l[installation.InstalledByLabel] == "" &&
		(l[bundle.ProviderLabel] != "" || slices.Contains([]string{bundle.ImagesConfigMap, bundle.VariablesConfigMap}, o.GetName()))
}

// inputChanges returns a predicate for changes of the ConfigMaps of isInput. It includes the change by which a ConfigMap loses its label, because its content
// is missing from then on.
func inputChanges() predicate.Predicate {
	either := predicate.NewPredicateFuncs(isInput)
	either.UpdateFunc = func(e event.UpdateEvent) bool { return isInput(e.ObjectOld) || isInput(e.ObjectNew) }
	return predicate.And(either, predicate.ResourceVersionChangedPredicate{})
}

// operandCache returns a cache of the metadata of the installed objects, which it selects by their label and the one namespace.
func operandCache(mgr ctrl.Manager) (cache.Cache, error) {
	cfg := rest.CopyConfig(mgr.GetConfig())
	return cache.New(cfg, cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		DefaultNamespaces:    map[string]cache.Config{bundle.Namespace: {}},
		DefaultLabelSelector: labels.SelectorFromSet(labels.Set{installation.InstalledByLabel: installation.Manager}),
	})
}

// watched adds watches for the kinds of the objects that content has.
type watched struct {
	controller controller.Controller
	cache      cache.Cache

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]bool
}

// follow adds watches for new kinds. If the API server does not serve a kind yet, the next pass tries again.
func (w *watched) follow(ctx context.Context, kinds []schema.GroupVersionKind) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, kind := range kinds {
		if w.kinds[kind] || bundle.StageOf(kind.GroupKind()) == bundle.Rest {
			continue // custom resources: their CRDs may be deleted, and the resync finds changes of them
		}
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(kind)
		if err := w.controller.Watch(source.Kind(w.cache, client.Object(o), handler.EnqueueRequestsFromMapFunc(one), changed())); err != nil {
			log.FromContext(ctx).Error(err, "Watching a kind", "kind", kind.String())
			continue
		}
		w.kinds[kind] = true
	}
}

// changed returns a predicate for everything but heartbeats: changes of content, labels, annotations and deletion, and every change of a workload, because the
// status of a workload shows whether it is ready.
func changed() predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{},
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			kind := e.ObjectNew.GetObjectKind().GroupVersionKind().GroupKind()
			return e.ObjectNew.GetDeletionTimestamp() != nil || bundle.StageOf(kind) == bundle.Workloads || e.ObjectNew.GetGeneration() == 0
		}},
	)
}
