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
	// shape has the set's fields of authority. resolved has the set's template in Machine API's form.
	shape    authority.Shape
	member   *controlplane.ClusterAPITemplate
	resolved controlplane.Resolved

	env     conversion.Env
	missing conversion.Missing
	cluster *unstructured.Unstructured
	// infraCluster is where failure domains are reflected.
	infraCluster *unstructured.Unstructured
	// places are where the set makes Machines.
	places []controlplane.Place

	// template is the Cluster API template that the set's template converts to, as it should be. It is nil where the set's template has Cluster API's member, or
	// does not convert: then refusal has the reason.
	template *unstructured.Unstructured
	refusal  problem
	// templates are the set's own, and any template that has the name of the one that the set needs. used has the names of all templates that something refers
	// to. It is nil where no template requires that question.
	templates []*unstructured.Unstructured
	used      sets.Set[string]
}

// problem is why Cluster API's side differs from the set: a word and a sentence. The zero problem is none.
type problem struct{ reason, message string }

func (r *reconciler) gather(ctx context.Context, from client.Reader, namespace string) (*state, error) {
	pair, ok := r.pairs.Of(namespace)
	if !ok {
		return nil, fmt.Errorf("reading ControlPlaneMachineSet %s: namespace %s belongs to no pair", controlplane.Name, namespace)
	}
	s := &state{pair: pair}
	for _, step := range []func(context.Context, environment.Get, *state) error{r.gatherEnv, r.gatherSet} {
		if err := step(ctx, facts.Getter(ctx, from), s); err != nil {
			return nil, fmt.Errorf("reading ControlPlaneMachineSet %s/%s: %w", pair.MachineAPI, controlplane.Name, err)
		}
	}
	return s, r.gatherTemplates(ctx, from, s)
}

// gatherEnv reads what a conversion needs of the cluster. What is absent is no error but a sentence: it may come yet.
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

// gatherSet reads the set, and puts it into the words of the other API.
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

// convert makes what Cluster API's side is to be.
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
		s.refusal = problem{"FieldsNotConvertible", conversion.Sentences(errs)}
		return nil
	}
	s.template, s.places = wanted, places
	if wanted != nil {
		wanted.SetOwnerReferences([]metav1.OwnerReference{pairs.OwnedBy(s.cluster, false)})
	}
	return nil
}

// gatherTemplates finds the set's own templates, and who uses templates if one of them may have to go.
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

// mine reports whether the mirror made a template, by mark and name: the copy that a person makes of a template has the mark, too.
func mine(o *unstructured.Unstructured) bool {
	return controlplanetemplate.IsOwn(o.GetAnnotations()[authority.MirrorAnnotation], o.GetName())
}

// gatherUsed asks who refers to templates: the set itself, Cluster API's MachineSets, and machines that were made from them.
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
