// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/poundlock/poundlock/policies/authority"
)

// witness records, for every object, each reason with which Synchronized was False. Everything in these stories converts. So whatever makes Synchronized False
// is a transient error, which should not have been reported.
type witness struct {
	mu    sync.Mutex
	false map[string][]string
}

var flaps = &witness{false: map[string][]string{}}

func (w *witness) follow(ctx context.Context, seen cache.Cache) error {
	for _, k := range authority.Kinds() {
		informer, err := seen.GetInformer(ctx, thing{kind: k, api: authority.MachineAPI}.empty(), cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: w.see, UpdateFunc: func(_, now any) { w.see(now) }})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *witness) see(o any) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || condition(u, authority.ConditionSynchronized) != "False" {
		return
	}
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range all {
		if m := c.(map[string]any); m["type"] == authority.ConditionSynchronized {
			text := fmt.Sprintf("%s %s: %s: %s", u.GetKind(), u.GetName(), m["reason"], m["message"])
			if !slices.Contains(w.false[u.GetName()], text) {
				w.false[u.GetName()] = append(w.false[u.GetName()], text)
			}
		}
	}
}

// of returns what was recorded of a play's objects.
func (w *witness) of(p *play) (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, value := range w.false {
		if p.owns(name) {
			out = append(out, value...)
		}
	}
	return out
}
