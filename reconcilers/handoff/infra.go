// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
)

// gatherInfra reads the provider's object to which the Cluster API object refers.
func (r *reconciler) gatherInfra(ctx context.Context, from client.Reader, p *pair) error {
	kind, name := p.infraRef()
	if name == "" {
		return nil
	}
	p.objects.InfraFinalizer = infraFinalizer(kind)
	if err := r.readInfra(ctx, from, p, kind, name); err != nil {
		return err
	}
	return r.readInfraInstance(ctx, from, p, kind, name)
}

func infraFinalizer(kind schema.GroupKind) string {
	return authority.InfraFinalizer(kind.Group, kind.Kind)
}

// pausedLately reports whether an object was paused so recently that its controller may not have seen the pause, if its provider never acknowledges a pause. If
// so, the pair waits.
func (r *reconciler) pausedLately(p *pair, infra *unstructured.Unstructured) bool {
	if infra == nil || authority.Acknowledges(infra.GetKind()) != authority.ByPatience {
		return false
	}
	left := r.pauses.left(infra, r.now(), p.patience())
	p.pauseSeenIn = max(p.pauseSeenIn, left)
	return left > 0
}

// patience returns how long a provider's object must have been paused before its controller, which acknowledges nothing, is assumed to have stopped.
func (p *pair) patience() time.Duration {
	if p.objects.MayBeCreating() {
		return creationEndsAfter
	}
	return pauseSeenAfter
}

// infraRef returns the kind and name in the infrastructure reference of a Machine, or of a set's template; "" if the reference has another group.
func (p *pair) infraRef() (schema.GroupKind, string) {
	if p.core == nil || p.kind.Infra == "" {
		return schema.GroupKind{}, ""
	}
	path := []string{"spec", "infrastructureRef"}
	if p.kind.Infra == authority.InfraMachineTemplate {
		path = []string{"spec", "template", "spec", "infrastructureRef"}
	}
	ref, _, _ := unstructured.NestedStringMap(p.core.Object, path...)
	if ref["apiGroup"] != infraGroup {
		return schema.GroupKind{}, ""
	}
	return schema.GroupKind{Group: infraGroup, Kind: ref["kind"]}, ref["name"]
}

// readInfra reads the provider's object of a kind, in the first version that the API server serves. If it reports that there is no object, no object may exist,
// because the Machine API then becomes authoritative without waiting for the provider's controller. So it returns an error for a kind that has a CRD but is not
// served, as can happen after an upgrade or rollback of the provider.
func (r *reconciler) readInfra(ctx context.Context, from client.Reader, p *pair, kind schema.GroupKind, name string) error {
	versions, err := r.versions(kind)
	if err != nil {
		return err
	}
	for _, version := range versions {
		if err := r.follow(version); err != nil {
			return err
		}
		p.infra, p.objects.Infra, err = getServed(ctx, from, version, p.core.GetNamespace(), name)
		if !served.Missing(err) {
			return err
		}
	}
	return r.notInstalled(ctx, kind)
}

// readInfraInstance reads, in the same way as readInfra, the object that the provider keeps for the instance in addition to its machine. It does so even if
// that machine is already gone.
func (r *reconciler) readInfraInstance(ctx context.Context, from client.Reader, p *pair, machine schema.GroupKind, name string) error {
	kind := schema.GroupKind{Group: infraGroup, Kind: authority.InfraInstanceKind(machine.Kind)}
	if kind.Kind == "" || !p.kind.InfraActs() {
		return nil
	}
	versions, err := r.versions(kind)
	if err != nil {
		return err
	}
	for _, version := range versions {
		if err := r.follow(version); err != nil {
			return err
		}
		instance, err := facts.InfraInstance(ctx, from, version, client.ObjectKey{Namespace: p.core.GetNamespace(), Name: name}, p.infra)
		if served.Missing(err) {
			continue
		}
		p.keptKind = version
		if err != nil || instance == nil {
			return err
		}
		p.infraInstance = instance
		p.objects.InfraInstance, err = parse(instance)
		return err
	}
	err = r.notInstalled(ctx, kind)
	p.objects.InstancesUnserved = err == nil
	return err
}

// versions returns the versions in which a kind may be read, the preferred one first. It returns none if the API server serves no version.
func (r *reconciler) versions(kind schema.GroupKind) ([]schema.GroupVersionKind, error) {
	preferred, err := r.mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", kind, err)
	}
	all, err := r.mapper.RESTMappings(kind)
	if err != nil {
		return nil, fmt.Errorf("looking up the versions of %s: %w", kind, err)
	}
	out := []schema.GroupVersionKind{preferred.GroupVersionKind}
	for _, mapping := range all {
		if mapping.GroupVersionKind != preferred.GroupVersionKind {
			out = append(out, mapping.GroupVersionKind)
		}
	}
	return out, nil
}

// unreadable is the error that a provider's object cannot be read although it may exist. Its text is a sentence for the condition.
type unreadable struct{ why string }

func (u *unreadable) Error() string { return u.why }

// notInstalled returns an error if a kind that the API server does not serve has a CRD, because objects of the kind may exist, too.
func (r *reconciler) notInstalled(ctx context.Context, kind schema.GroupKind) error {
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	definition := authority.Surrounding{Kind: authority.Definition, Name: plural.Resource + "." + kind.Group}
	_, gone, err := facts.Leaving(ctx, r.live, definition)
	if err == nil && !gone {
		err = &unreadable{authority.InfraNotServed(kind.String(), definition.Name)}
	}
	return err
}
