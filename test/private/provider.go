// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package private

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/translation"
)

// provide does, for the private kinds, what the infrastructure's controllers do. Everything is ready at once.
func (s *Stage) provide(ctx context.Context) {
	all, err := dynamic.NewForConfig(s.Plane.Admin())
	if err != nil {
		return // the stage would not have started
	}
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		for _, plural := range []string{"awsclusters", "awsmachines"} {
			kind := all.Resource(schema.GroupVersionResource{Group: "infrastructure." + translation.Private, Version: "v1beta2", Resource: plural}).Namespace(Namespace)
			list, err := kind.List(ctx, metav1.ListOptions{})
			if err != nil {
				continue // retried at the next tick
			}
			for i := range list.Items {
				makeReady(ctx, kind, &list.Items[i])
			}
		}
	}
}

// makeReady reports in an object's status that what the object stands for exists. If that fails, it is retried at the next tick.
func makeReady(ctx context.Context, kind dynamic.ResourceInterface, o *unstructured.Unstructured) {
	if ready, _, _ := unstructured.NestedBool(o.Object, "status", "ready"); ready {
		return
	}
	if o.GetKind() == "AWSMachine" {
		_, _ = kind.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"spec":{"providerID":"aws:///z/i-`+o.GetName()+`"}}`), metav1.PatchOptions{})
	}
	_, _ = kind.Patch(ctx, o.GetName(), types.MergePatchType, []byte(`{"status":{"ready":true}}`), metav1.PatchOptions{}, "status")
}
