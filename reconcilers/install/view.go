// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/installation"
)

// View is what an installer would do now. It is made only by reading.
type View struct {
	Platform installation.Platform
	// Problem is why the release's content is not applied. Waits is what it waits for.
	Problem error
	Waits   string
	Missing []string
	// Lacks is a sentence if no provider creates machines on this platform.
	Lacks string
	// Rival is the Deployment of OpenShift's own installer, if it runs.
	Rival string
	// Others names the owner of the Cluster API that is in the cluster, if the installer has never had content; "" otherwise.
	Others    string
	Providers []ProviderView
}

// ProviderView is a provider as it would be applied, with its progress so far.
type ProviderView struct {
	installation.Provider
	Progress installation.Progress
	Objects  []ObjectView
}

// ObjectView is an object as it would be applied, with its differences to the object in the cluster.
type ObjectView struct {
	Want *unstructured.Unstructured
	// Differences and Added are texts for people: what others have changed in the object, and what they have added. Owner is the owner of the object, unless it is
	// the installer's.
	Differences, Added []string
	Owner              string
	// Unread is why the object in the cluster cannot be read. Then nobody knows whether it differs.
	Unread error
}

// Look reads a cluster as the installer does.
func Look(ctx context.Context, cfg *rest.Config, o Options) (*View, error) {
	r, err := newReconciler(cfg, o, (*events.FakeRecorder)(nil), meters{})
	if err != nil {
		return nil, err
	}
	v := &View{}
	if v.Rival, err = r.rival(ctx); err != nil {
		return nil, err
	}
	in, err := r.inputs(ctx)
	if err != nil {
		return nil, err
	}
	if v.Rival == "" && len(in.transports)+len(in.records) == 0 {
		if v.Others, err = r.others(ctx); err != nil {
			return nil, err
		}
	}
	if v.Platform = in.platform; in.platform.Name == "" && len(in.lastGood) == 0 {
		return v, nil
	}
	out, w := &done{}, r.look()
	contents, err := r.choose(ctx, w, in, out)
	if err != nil {
		return nil, err
	}
	v.Platform = in.platform
	for _, label := range slices.Sorted(maps.Keys(in.records)) {
		out.Err = errors.Join(out.Err, in.records[label].err)
	}
	for _, p := range in.unapplied(contents) {
		out.Err = errors.Join(out.Err, in.damaged[p.Label()])
	}
	for _, c := range contents {
		p, err := w.view(ctx, in.record(c.Label()), c)
		if err != nil {
			return nil, err
		}
		v.Providers = append(v.Providers, p)
	}
	if out.Err == nil && out.Waits == "" {
		v.Lacks = installation.Lacks(in.platform.Name, providersOf(contents))
	}
	v.Problem, v.Waits, v.Missing = out.Err, out.Waits, out.Missing
	return v, nil
}

// others names the owner of the CRD of Cluster API's Machines; "" if there is no such CRD, or if the user may not read it.
func (r *reconciler) others(ctx context.Context) (string, error) {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := r.client.Get(ctx, client.ObjectKey{Name: "machines." + clusterv1.GroupVersion.Group}, definition)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading the definition of Cluster API's Machines: %w", err)
	}
	return installation.OwnerOf(definition), nil
}

func (w *world) view(ctx context.Context, rec *record, c content) (ProviderView, error) {
	out := ProviderView{Provider: c.Provider, Progress: rec.progress}
	for _, o := range c.Provider.Objects {
		view := ObjectView{Want: o.Unstructured}
		live, err := w.get(ctx, o.GroupVersionKind(), o.Key())
		if err != nil {
			view.Unread = err
			out.Objects = append(out.Objects, view)
			continue
		}
		switch claim := installation.ClaimOf(live, rec.inventory.UID(o.Key())); claim {
		case installation.Absent:
			view.Differences = []string{"the object does not exist"}
		case installation.Foreign:
			view.Owner = installation.OwnerOf(live)
		default:
			drift, err := installation.DriftOf(live, claim == installation.Adopted)
			if err != nil {
				return out, fmt.Errorf("reading %s: %w", o.Key(), err)
			}
			view.Differences, view.Added = installation.Differences(unscaled(o.Unstructured, live), live), drift.Fields
		}
		out.Objects = append(out.Objects, view)
	}
	return out, nil
}
