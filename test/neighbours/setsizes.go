// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"errors"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MachineAPIIdentity is the identity that all controllers of the Machine API share.
const MachineAPIIdentity = "system:serviceaccount:openshift-machine-api:machine-api-controllers"

// SetSizes simulates the controller of MachineSets that each provider of the Machine API has (rows 23 to 26, 28 to 30 of the survey of writers). It writes the
// size of the set's machines into annotations, with a merge patch of what differs. Only AWS's controller looks at spec.authoritativeAPI; this is one of the
// others.
type SetSizes struct{ VCPU, MemoryMb string }

// Identity is the service account of the Machine API's controllers.
func (SetSizes) Identity() string { return MachineAPIIdentity }

// Pass looks at all sets once.
func (s SetSizes) Pass(ctx context.Context, c client.Client) error {
	return each(ctx, c, "MachineSet", func(o *unstructured.Unstructured) error {
		before := o.DeepCopy()
		annotate(o, map[string]string{"machine.openshift.io/vCPU": s.VCPU, "machine.openshift.io/memoryMb": s.MemoryMb})
		return patched(ctx, c, before, o)
	})
}

// each calls do with every object of a kind in the Machine API's namespace.
func each(ctx context.Context, c client.Client, kind string, do func(*unstructured.Unstructured) error) error {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind(kind + "List"))
	if err := c.List(ctx, all, client.InNamespace("openshift-machine-api")); err != nil {
		return err
	}
	var failed []error
	for i := range all.Items {
		failed = append(failed, quiet(do(&all.Items[i])))
	}
	return errors.Join(failed...)
}

func annotate(o *unstructured.Unstructured, with map[string]string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for k, v := range with {
		annotations[k] = v
	}
	o.SetAnnotations(annotations)
}

// patched sends the difference between before and after as a merge patch, if there is one.
func patched(ctx context.Context, c client.Client, before, after *unstructured.Unstructured) error {
	patch := client.MergeFrom(before)
	data, err := patch.Data(after)
	if err != nil || string(data) == "{}" {
		return err
	}
	return c.Patch(ctx, after, client.RawPatch(types.MergePatchType, data))
}
