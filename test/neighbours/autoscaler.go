// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Autoscaler simulates what the cluster-autoscaler writes to Machines and MachineSets (rows 42 and 43 of the survey of writers). It knows one of the two APIs:
// the Machine API in the releases so far. It scales a set with a merge patch of /scale. It marks a Machine with a PUT of the whole object, which it has read
// without a Go type. If it could not scale, it takes the mark back in the same way.
type Autoscaler struct {
	client    client.Client
	group     schema.GroupVersion
	namespace string
	marks     []string
}

// AutoscalerIdentity is the autoscaler's service account, whichever API it knows.
const AutoscalerIdentity = "system:serviceaccount:openshift-machine-api:cluster-autoscaler"

// NewAutoscaler returns one that knows the Machine API, as CAPI_GROUP=machine.openshift.io makes it.
func NewAutoscaler(config *rest.Config, namespace string) (Autoscaler, error) {
	c, err := as(config, AutoscalerIdentity, "cluster-autoscaler")
	const group = "machine.openshift.io"
	marks := []string{group + "/delete-machine", group + "/cluster-api-delete-machine"}
	return Autoscaler{c, schema.GroupVersion{Group: group, Version: "v1beta1"}, namespace, marks}, err
}

// NewClusterAPIAutoscaler returns one of a future release, which knows Cluster API.
func NewClusterAPIAutoscaler(config *rest.Config, namespace string) (Autoscaler, error) {
	c, err := as(config, AutoscalerIdentity, "cluster-autoscaler")
	return Autoscaler{c, schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}, namespace, []string{"cluster.x-k8s.io/delete-machine"}}, err
}

// as returns a client that acts as an identity. The API server makes the program's name in the user agent the field manager, because no writer here names one.
func as(config *rest.Config, identity, program string) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: identity}
	config.UserAgent = program + "/v0.0.0 (linux/amd64) kubernetes/$Format"
	config.WarningHandler = rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", identity, err)
	}
	return c, nil
}

// Scale requests a number of replicas for a set.
func (a Autoscaler) Scale(ctx context.Context, set string, replicas int) error {
	o := a.object("MachineSet", set)
	return a.client.SubResource("scale").Patch(ctx, o, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)))
}

// Mark marks a Machine as the one that its set is to delete first.
func (a Autoscaler) Mark(ctx context.Context, machine string) error {
	return put(ctx, a.client, a.object("Machine", machine), func(annotations map[string]string) {
		for _, name := range a.marks {
			annotations[name] = time.Now().String() // each has a time of its own
		}
	})
}

// Unmark takes the mark off a Machine.
func (a Autoscaler) Unmark(ctx context.Context, machine string) error {
	return put(ctx, a.client, a.object("Machine", machine), func(annotations map[string]string) {
		for _, name := range a.marks {
			delete(annotations, name)
		}
	})
}

// Remove makes a set, which has this number of replicas, delete one Machine.
func (a Autoscaler) Remove(ctx context.Context, set, machine string, replicas int) error {
	if err := a.Mark(ctx, machine); err != nil {
		return err
	}
	if err := a.Scale(ctx, set, replicas-1); err != nil {
		return errors.Join(err, a.Unmark(ctx, machine))
	}
	return nil
}

func (a Autoscaler) object(kind, name string) *unstructured.Unstructured {
	return object(a.group, kind, a.namespace, name)
}

func object(group schema.GroupVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(group.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// put reads an object, changes its annotations, and sends the whole object back.
func put(ctx context.Context, c client.Client, o *unstructured.Unstructured, change func(map[string]string)) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	change(annotations)
	o.SetAnnotations(annotations)
	return c.Update(ctx, o)
}
