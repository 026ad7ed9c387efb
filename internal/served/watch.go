// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Watcher makes a controller watch unstructured kinds through a cache.
type Watcher struct {
	Controller controller.Controller
	Cache      cache.Cache
	once       sync.Map
}

// Watch starts a watch of a kind. It maps each change to requests by "to", if every predicate in "only" lets the change pass. A nil predicate lets all pass.
func (w *Watcher) Watch(kind schema.GroupVersionKind, to handler.MapFunc, only ...predicate.Predicate) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	only = slices.DeleteFunc(slices.Clone(only), func(p predicate.Predicate) bool { return p == nil })
	if err := w.Controller.Watch(source.Kind[client.Object](w.Cache, o, handler.EnqueueRequestsFromMapFunc(to), only...)); err != nil {
		return fmt.Errorf("watching %s: %w", kind, err)
	}
	return nil
}

// Once calls watches for a key, unless an earlier call for the same key succeeded. The key may be a kind, or a platform that is known only after the start.
func (w *Watcher) Once(key any, watches func() error) error {
	if _, begun := w.once.LoadOrStore(key, true); begun {
		return nil
	}
	err := watches()
	if err != nil {
		w.once.Delete(key)
	}
	return err
}
