// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Target names the objects whose caBundles are kept up to date: one object by Name, or all objects that have Labels.
type Target struct {
	Kind   Kind
	Name   string
	Labels client.MatchingLabels
}

func (t Target) validate() error {
	if (t.Name == "") == (len(t.Labels) == 0) {
		return fmt.Errorf("a target of kind %s needs either a name or labels", t.Kind)
	}
	_, err := rowOf(t.Kind)
	return err
}

func (t Target) String() string {
	if t.Name != "" {
		return fmt.Sprintf("%s %s", t.Kind, t.Name)
	}
	return fmt.Sprintf("%s %v", t.Kind, t.Labels)
}

func (t Target) selection() client.ListOption {
	if t.Name != "" {
		return client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", t.Name)}
	}
	return t.Labels
}

// target is an object as it was read. If no object was found, missing is set and object is empty.
type target struct {
	row     kindRow
	missing string // the Target that nothing was found for
	object  *unstructured.Unstructured
}

// readTargets reads all targets from the API server. A name for which there is no object yet is returned as a missing target.
func (s *SelfManaged) readTargets(ctx context.Context) ([]target, error) {
	var found []target
	for _, wanted := range s.o.Targets {
		row, err := rowOf(wanted.Kind)
		if err != nil {
			return nil, err
		}
		targets, err := s.read(ctx, row, wanted)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", wanted, err)
		}
		found = append(found, targets...)
	}
	return found, nil
}

func (s *SelfManaged) read(ctx context.Context, row kindRow, wanted Target) ([]target, error) {
	if wanted.Name == "" {
		return s.list(ctx, row, wanted)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(row.gvk)
	err := s.o.Client.Get(ctx, client.ObjectKey{Name: wanted.Name}, object)
	if apierrors.IsNotFound(err) {
		return []target{{row: row, missing: wanted.String(), object: &unstructured.Unstructured{Object: map[string]any{}}}}, nil
	}
	return []target{{row: row, object: object}}, err
}

func (s *SelfManaged) list(ctx context.Context, row kindRow, wanted Target) ([]target, error) {
	objects := row.newList()
	if err := s.o.Client.List(ctx, objects, wanted.Labels); err != nil {
		return nil, err
	}
	var found []target
	for i := range objects.Items {
		found = append(found, target{row: row, object: &objects.Items[i]})
	}
	if len(found) == 0 {
		found = append(found, target{row: row, missing: wanted.String(), object: &unstructured.Unstructured{Object: map[string]any{}}})
	}
	return found, nil
}

func (row kindRow) newList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	gvk := row.gvk
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	return list
}

// injection is the state of the targets after a pass.
type injection struct {
	trusted bool // every target that exists holds the CA
	missing []error
	failed  []error
}

func (i injection) err() error {
	err := errors.Join(append(i.missing, i.failed...)...)
	if err == nil {
		return nil
	}
	return notTrusted{err}
}

// inject patches the caBundles that are not as wanted, and returns the state of the targets after that. A missing target only affects readiness, because an
// object that does not exist calls nobody.
func (s *SelfManaged) inject(ctx context.Context, targets []target, w writing) injection {
	result := injection{trusted: true}
	for _, t := range targets {
		if t.missing != "" {
			result.missing = append(result.missing, fmt.Errorf("%s does not exist, so the API server does not call Poundlock's webhooks: install it "+
				"with Poundlock's manifests", t.missing))
			continue
		}
		if err := s.injectOne(ctx, t, w); err != nil {
			s.fail(reasonInject, err)
			result.trusted = false
			result.failed = append(result.failed, err)
		}
	}
	return result
}

// fail counts an error, unless the error only is that another replica was faster.
func (s *SelfManaged) fail(reason string, err error) {
	if !cameSecond(err) {
		s.o.Metrics.failed(reason)
	}
}

// watch starts a pass when the Secret or a target changes. It only makes changes take effect sooner: the pass after the next interval finds what a watch
// misses.
func (s *SelfManaged) watch(ctx context.Context) {
	watching, ok := s.o.Client.(client.WithWatch)
	if !ok {
		return
	}
	byName := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", s.o.Secret.Name)}
	go s.follow(ctx, watching, &corev1.SecretList{}, client.InNamespace(s.o.Secret.Namespace), byName)
	for _, wanted := range s.o.Targets {
		if row, err := rowOf(wanted.Kind); err == nil {
			go s.follow(ctx, watching, row.newList(), wanted.selection())
		}
	}
}

// follow watches objects, and watches again some seconds after a watch ends or is not allowed.
func (s *SelfManaged) follow(ctx context.Context, watching client.WithWatch, list client.ObjectList, options ...client.ListOption) {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		changes, err := watching.Watch(ctx, list, options...)
		if err != nil {
			return
		}
		defer changes.Stop()
		for range changes.ResultChan() {
			s.kick()
		}
	}, 5*time.Second, 0.5, true)
}

// kick requests a pass. One waiting request is enough for any number of changes.
func (s *SelfManaged) kick() {
	select {
	case s.kicks <- struct{}{}:
	default:
	}
}
