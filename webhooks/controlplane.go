// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// ControlPlanes reads the control plane that a selector selects in a namespace.
type ControlPlanes interface {
	ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error)
	// Resolved returns the machine that the template of a ControlPlaneMachineSet describes, for a template for Cluster API. set is the JSON of the
	// ControlPlaneMachineSet.
	Resolved(ctx context.Context, pair authority.Pair, set []byte, with Requested) (controlplane.Resolved, error)
	// Try sends dry runs of Machines to the API server, and returns their results.
	Try(ctx context.Context, trials []controlplane.Trial) []policies.Trial
}

// ControlPlanesFunc is a function as a ControlPlanes, for sets that have no template for Cluster API.
type ControlPlanesFunc func(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error)

// ControlPlane calls f.
func (f ControlPlanesFunc) ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error) {
	return f(ctx, namespace, selector)
}

// Resolved returns an error, because the function cannot read templates.
func (f ControlPlanesFunc) Resolved(context.Context, authority.Pair, []byte, Requested) (controlplane.Resolved, error) {
	return controlplane.Resolved{}, errors.New("templates cannot be read")
}

// Try returns no result, because the function cannot send dry runs.
func (f ControlPlanesFunc) Try(context.Context, []controlplane.Trial) []policies.Trial { return nil }

// controlPlane returns the control plane of the set under review, with the results of the dry runs that the review needs (admission.Asked).
func (l Lookups) controlPlane(ctx context.Context, c policies.Change) (*policies.ControlPlane, error) {
	out, err := l.controlPlaneOf(ctx, c, c.New, c.Old)
	if err != nil {
		return nil, err
	}
	if trials := admission.Asked(c, out); len(trials) > 0 {
		tried := *out // a copy, because the facts so far were read without the trials
		tried.Trials = l.ControlPlanes.Try(ctx, trials)
		return &tried, nil
	}
	return out, nil
}

// controlPlaneOf returns the control plane that a set selects, with the templates of that set and of others. A set whose selector cannot be read selects
// nothing, and a rule refuses such a set.
func (l Lookups) controlPlaneOf(ctx context.Context, c policies.Change, set *policies.Object, others ...*policies.Object) (*policies.ControlPlane, error) {
	out, err := l.selected(ctx, c, set)
	if err != nil {
		return nil, err
	}
	for _, o := range append([]*policies.Object{set}, others...) {
		if out.Templates, err = l.template(ctx, c, o, Requested{}, out.Templates); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// selected returns the control plane that a set selects.
func (l Lookups) selected(ctx context.Context, c policies.Change, set *policies.Object) (*policies.ControlPlane, error) {
	selector := labels.Nothing()
	if set, err := admission.Read(set); err == nil {
		if s, err := controlplane.Selector(set); err == nil {
			selector = s
		}
	}
	out, err := l.ControlPlanes.ControlPlane(ctx, c.Namespace, selector)
	if err != nil {
		return nil, fmt.Errorf("reading the control plane: %w", err)
	}
	out.ClusterAPINamespace = c.TwinNamespace
	return out, nil
}

// controlPlaneSet returns the stored ControlPlaneMachineSet with its control plane, for the review of a Machine or a template; nil if there is no such set.
func (l Lookups) controlPlaneSet(ctx context.Context, c policies.Change) (*policies.ControlPlane, error) {
	switch {
	case c.Kind == authority.InfraMachineTemplate:
		return l.controlPlaneOfTemplate(ctx, c)
	case c.Side != policies.SideMachineAPI:
		return l.controlPlaneOfEdited(ctx, c)
	}
	set, err := l.live(ctx, Ref{GroupVersionKind: machinev1.GroupVersion.WithKind(controlplane.Kind), Namespace: c.Namespace, Name: controlplane.Name})
	if err != nil || set == nil {
		return nil, err
	}
	out, err := l.controlPlaneOf(ctx, c, set)
	if err == nil {
		out.Set = set
	}
	return out, err
}

// controlPlaneOfEdited returns the stored set with its control plane, for the review of a Machine that Cluster API runs or of its provider's machine. The
// result includes the Machine API mirror that the edit leads to (Edited). It returns nil if there is no active set, or if the object belongs to no such Machine
// of the control plane.
func (l Lookups) controlPlaneOfEdited(ctx context.Context, c policies.Change) (*policies.ControlPlane, error) {
	twin := c.Facts.Twin
	if l.Converter == nil || twin == nil || twin.Kind != "Machine" || !controlplane.OfControlPlane(twin.Metadata.Labels) ||
		authority.Authoritative(authority.Read(twin)) != authority.ClusterAPI {
		return nil, nil
	}
	set, err := l.live(ctx, Ref{GroupVersionKind: machinev1.GroupVersion.WithKind(controlplane.Kind), Namespace: c.TwinNamespace, Name: controlplane.Name})
	if err != nil || set == nil {
		return nil, err
	}
	if read, err := admission.Read(set); err != nil || read.Spec.State != machinev1.ControlPlaneMachineSetStateActive {
		return nil, nil //nolint:nilerr // the API server's schema admits no other
	}
	edited, err := l.Converter.Mirrored(ctx, c)
	if err != nil || edited == nil {
		return nil, err
	}
	c.Subject = policies.Subject{
		Side: policies.SideMachineAPI, Kind: controlplane.Kind, Namespace: c.TwinNamespace, TwinNamespace: c.Namespace, Name: controlplane.Name,
	}
	out, err := l.controlPlaneOf(ctx, c, set)
	if err == nil {
		out.Set, out.Edited = set, edited
	}
	return out, err
}

// controlPlaneOfTemplate returns the control plane of the stored set that makes its Machines from the template under review. The requested template takes the
// place of the stored one. It returns nil if no set refers to the template.
func (l Lookups) controlPlaneOfTemplate(ctx context.Context, c policies.Change) (*policies.ControlPlane, error) {
	template, ok := l.requested(c)
	if !ok {
		return nil, nil
	}
	c.Subject = policies.Subject{
		Side: policies.SideMachineAPI, Kind: controlplane.Kind, Namespace: c.TwinNamespace, TwinNamespace: c.Namespace, Name: controlplane.Name,
	}
	set, err := l.live(ctx, Ref{GroupVersionKind: machinev1.GroupVersion.WithKind(controlplane.Kind), Namespace: c.Namespace, Name: controlplane.Name})
	if err != nil || set == nil || !admission.RefersTo(set, template.Group, template.Kind, template.Name) {
		return nil, err
	}
	if o := template.object; o != nil && o.APIVersion != "" && o.APIVersion != template.GroupVersion().String() {
		return nil, fmt.Errorf("the request is in %s, and Poundlock reads only %s: send the request in this version", o.APIVersion, template.GroupVersion())
	}
	out, err := l.selected(ctx, c, set)
	if err != nil {
		return nil, err
	}
	if out.Templates, err = l.template(ctx, c, set, template, nil); err != nil {
		return nil, err
	}
	if out.Stored, err = l.template(ctx, c, set, Requested{}, nil); err != nil {
		return nil, err
	}
	out.Set = set
	tried := *out // a copy, because the facts so far were read without the trials
	tried.Trials = l.ControlPlanes.Try(ctx, admission.TemplateTrials(set, out))
	return &tried, nil
}

// Requested is the infrastructure machine template that a request would store. Its object is nil if the request deletes it.
type Requested struct {
	Ref
	object *policies.Object
}

func (l Lookups) requested(c policies.Change) (Requested, bool) {
	for _, p := range l.Platforms {
		if r := p.InfraMachineTemplate; r.Group == c.Resource.Group && r.Plural == c.Resource.Resource {
			return Requested{Ref{GroupVersionKind: r.GroupVersionKind, Namespace: c.Namespace, Name: c.Name}, c.New}, true
		}
	}
	return Requested{}, false
}

// reader returns a reader that returns the requested template instead of the stored one, and reads everything else from r.
func (q Requested) reader(r client.Reader) client.Reader {
	if q.Name == "" {
		return r
	}
	return instead{r, q}
}

type instead struct {
	client.Reader
	Requested
}

func (i instead) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	u, ok := into.(*unstructured.Unstructured)
	switch {
	case !ok || u.GroupVersionKind() != i.GroupVersionKind || key != (client.ObjectKey{Namespace: i.Namespace, Name: i.Name}):
		return i.Reader.Get(ctx, key, into, options...)
	case i.object == nil:
		return apierrors.NewNotFound(schema.GroupResource{Group: i.Group, Resource: i.Kind}, i.Name)
	}
	return json.Unmarshal(i.object.Raw(), &u.Object)
}

// template returns known with the machine that a set's template for Cluster API describes. It adds nothing for a set whose template is for Machine API, or for
// a set that cannot be read.
func (l Lookups) template(ctx context.Context, c policies.Change, o *policies.Object, with Requested, known []policies.Template) ([]policies.Template, error) {
	if o == nil {
		return known, nil
	}
	t, err := controlplane.Template(o.Raw())
	if err != nil || t == nil {
		return known, nil //nolint:nilerr // the API server's schema admits no other
	}
	resolved, err := l.ControlPlanes.Resolved(ctx, pairOf(c), o.Raw(), with)
	if err != nil {
		return nil, fmt.Errorf("reading the template of the control plane: %w", err)
	}
	return append(known, controlplane.Known(t, resolved)), nil
}

// liveControlPlane reads from the API server. Sets are seldom written and much depends on the answer, so a cache, which may be out of date, would gain nothing.
type liveControlPlane struct {
	client.Reader
	creator       facts.Creator
	metrics       *metrics
	mayRecreate   bool
	notReadyGrace time.Duration
}

// ControlPlane reads within the review's deadline.
func (r liveControlPlane) ControlPlane(ctx context.Context, namespace string, selector labels.Selector) (*policies.ControlPlane, error) {
	began := time.Now()
	defer r.metrics.lookup("live", began)
	out, err := facts.ControlPlane(ctx, r, namespace, selector, began)
	if err != nil {
		return nil, err
	}
	out.MayRecreate, out.NotReadyGrace = r.mayRecreate, &r.notReadyGrace
	return out, nil
}

// Resolved reads within the review's deadline.
func (r liveControlPlane) Resolved(ctx context.Context, pair authority.Pair, set []byte, with Requested) (controlplane.Resolved, error) {
	defer r.metrics.lookup("live", time.Now())
	return facts.Resolved(ctx, with.reader(r), &facts.Accounts{Reader: r}, pair, set)
}

// forTrials is how long a review waits for dry runs. A dry run without an answer leads to a warning and not to a refusal, so the review must have time left to
// answer before the API server's timeout (TimeoutSeconds).
const forTrials = 2 * time.Second

// Try returns the results of a dry run for each Machine. It leaves out the owner reference, because the set under review may not be stored yet, and because it
// does not matter for the Machine whether Poundlock may refer to the set. A trial without an answer is marked as such.
func (r liveControlPlane) Try(ctx context.Context, trials []controlplane.Trial) []policies.Trial {
	defer r.metrics.lookup("live", time.Now())
	ctx, cancel := context.WithTimeout(ctx, forTrials)
	defer cancel()
	for _, t := range trials {
		t.Machine.OwnerReferences = nil
	}
	out, _ := facts.Try(ctx, r.creator, trials)
	return out
}
