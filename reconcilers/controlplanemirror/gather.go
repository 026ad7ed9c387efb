// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanemirror

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/controlplanetemplate"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

var (
	setKind        = machinev1.GroupVersion.WithKind(controlplane.Kind)
	clusterKind    = clusterv1.GroupVersion.WithKind("Cluster")
	machineSetKind = clusterv1.GroupVersion.WithKind("MachineSet")
)

// state is everything that one pass reads. Objects that do not exist are nil.
type state struct {
	pair authority.Pair
	set  *unstructured.Unstructured
	// shape has the set's fields that say which API is authoritative. resolved has the set's template in the form of Machine API.
	shape    authority.Shape
	member   *controlplane.ClusterAPITemplate
	resolved controlplane.Resolved

	env     conversion.Env
	missing conversion.Missing
	cluster *unstructured.Unstructured
	// infraCluster is the infrastructure cluster, to which failure domains are added.
	infraCluster *unstructured.Unstructured
	// places are the places, such as failure domains, in which the set creates Machines.
	places []controlplane.Place

	// template is the wanted Cluster API template, to which the set's template converts. It is nil if the set's template already is one for Cluster API (member).
	// It is also nil if the set's template does not convert: then refusal has the reason.
	template *unstructured.Unstructured
	refusal  problem
	// templates are the templates that were made for the set, and any template with the name of the one that the set needs. used has the names of all templates
	// that something refers to. used is nil if no template could be deleted, so that nobody needs the names.
	templates []*unstructured.Unstructured
	used      sets.Set[string]
}

// problem says why Cluster API's side differs from the set, with a reason (one word) and a sentence. The zero value means that there is no problem.
type problem struct{ reason, message string }

func (r *reconciler) gather(ctx context.Context, from client.Reader, namespace string) (*state, error) {
	pair, ok := r.pairs.Of(namespace)
	if !ok {
		return nil, fmt.Errorf("reading ControlPlaneMachineSet %s: namespace %s is none of the namespaces that Poundlock manages", controlplane.Name, namespace)
	}
	s := &state{pair: pair}
	for _, step := range []func(context.Context, environment.Get, *state) error{r.gatherEnv, r.gatherSet} {
		if err := step(ctx, facts.Getter(ctx, from), s); err != nil {
			return nil, fmt.Errorf("reading ControlPlaneMachineSet %s/%s: %w", pair.MachineAPI, controlplane.Name, err)
		}
	}
	return s, r.gatherTemplates(ctx, from, s)
}

// gatherEnv reads what a conversion needs to know about the cluster. If something is missing, it returns no error but stores a sentence in the state, because
// the missing object may be created later.
func (r *reconciler) gatherEnv(ctx context.Context, get environment.Get, s *state) (err error) {
	if s.env, s.missing, err = r.environment.Read(ctx, get, s.pair, true); err != nil || s.missing != (conversion.Missing{}) {
		return err
	}
	if err := r.watchPlatform(s.env.Platform); err != nil {
		return err
	}
	if s.cluster, err = get(clusterKind, s.pair.ClusterAPI, s.env.ClusterName); err != nil {
		return err
	}
	if s.cluster == nil {
		s.missing = s.env.Absent("Cluster", false, controlplanetemplate.Purpose)
		return nil
	}
	s.missing, err = environment.NeedInfraCluster(get, &s.env, controlplanetemplate.Purpose)
	s.infraCluster = &unstructured.Unstructured{Object: s.env.InfraCluster}
	return err
}

// gatherSet reads the set, and converts it to the form of Cluster API.
func (r *reconciler) gatherSet(_ context.Context, get environment.Get, s *state) (err error) {
	if s.set, err = get(setKind, s.pair.MachineAPI, controlplane.Name); err != nil || s.set == nil {
		return err
	}
	raw, err := json.Marshal(s.set.Object)
	if err != nil {
		return err
	}
	object, err := policies.ParseObject(raw)
	if err != nil {
		return err
	}
	s.shape = authority.Read(object)
	if s.member, err = controlplane.Template(raw); err != nil {
		return err
	}
	if s.missing != (conversion.Missing{}) {
		s.refusal = problem{s.missing.Reason, s.missing.Message}
		return nil
	}
	if s.resolved, err = controlplanetemplate.Resolve(get,
		func(conversion.Platform, map[string]any) (string, error) { return s.env.Account, nil }, s.pair, raw); err != nil {
		return err
	}
	return s.convert()
}

// convert determines the wanted state of Cluster API's side: the template and the failure domains.
func (s *state) convert() error {
	about := &configv1.Infrastructure{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.env.Infrastructure, about); err != nil {
		return fmt.Errorf("reading Infrastructure cluster: %w", err)
	}
	wanted, errs := controlplanetemplate.Reflect(s.resolved.Set, s.env)
	if s.member != nil {
		wanted, errs = nil, s.resolved.Unresolved
	}
	places, more := controlplane.Places(s.resolved.Set, about)
	if errs = append(errs, more...); len(errs) > 0 {
		s.refusal = problem{authority.ReasonFieldsNotConvertible, conversion.Sentences(errs)}
		return nil
	}
	s.template, s.places = wanted, places
	if wanted != nil {
		wanted.SetOwnerReferences([]metav1.OwnerReference{pairs.OwnedBy(s.cluster, false)})
	}
	return nil
}

// gatherTemplates reads the templates that were made for the set. If one of them may have to be deleted, it also reads which templates are in use.
func (r *reconciler) gatherTemplates(ctx context.Context, from client.Reader, s *state) error {
	if s.env.Platform.Name == "" {
		return nil
	}
	found, err := all(ctx, from, s.env.Platform.InfraMachineTemplate.GroupVersionKind, s.pair.ClusterAPI)
	if err != nil {
		return err
	}
	for _, o := range found {
		if mine(o) || s.template != nil && o.GetName() == s.template.GetName() {
			s.templates = append(s.templates, o)
		}
	}
	if slices.ContainsFunc(s.templates, func(o *unstructured.Unstructured) bool { return mine(o) && !s.wants(o) }) {
		return r.gatherUsed(ctx, from, s)
	}
	return nil
}

func (s *state) wants(o *unstructured.Unstructured) bool {
	return s.template != nil && o.GetName() == s.template.GetName()
}

// mine reports whether the mirror made a template, judging by its mark and its name. A copy that a user makes of a template has the mark, too, but another
// name.
func mine(o *unstructured.Unstructured) bool {
	return controlplanetemplate.IsOwn(o.GetAnnotations()[authority.MirrorAnnotation], o.GetName())
}

// gatherUsed reads which templates are in use: by the set itself, by Cluster API's MachineSets and MachineDeployments, and by machines that were made from
// them.
func (r *reconciler) gatherUsed(ctx context.Context, from client.Reader, s *state) (err error) {
	s.used, err = facts.UsedTemplates(ctx, from, s.env.Platform, s.pair.ClusterAPI)
	if err == nil && s.member != nil {
		s.used.Insert(s.member.Spec.InfrastructureRef.Name)
	}
	return err
}

func all(ctx context.Context, from client.Reader, kind schema.GroupVersionKind, namespace string) ([]*unstructured.Unstructured, error) {
	out, err := served.List(ctx, from, kind, namespace)
	if served.Missing(err) {
		return nil, nil
	}
	return out, err
}
