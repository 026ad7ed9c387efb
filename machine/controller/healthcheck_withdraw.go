// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine/health"
)

// requestKinds remembers the kinds of each check's remediation requests. The kinds are needed when the check no longer names them, because it is deleted or has
// another template. They are lost when the process ends. Requests of a check that is gone by then are withdrawn by the next check whose requests are of the
// same kind (gone). Without such a check, the requests are deleted with their Machines.
type requestKinds struct {
	mu  sync.Mutex
	all map[types.NamespacedName][]schema.GroupVersionKind
}

func (k *requestKinds) of(key types.NamespacedName) []schema.GroupVersionKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all[key])
}

// set replaces the remembered kinds of a check. Without kinds, it forgets the check.
func (k *requestKinds) set(key types.NamespacedName, kinds []schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[types.NamespacedName][]schema.GroupVersionKind{}
	}
	if k.all[key] = kinds; len(kinds) == 0 {
		delete(k.all, key)
	}
}

// kindsOf returns the kind of the requests that a stored check asks for. It returns none if the check names no template, or an invalid one.
func kindsOf(o *unstructured.Unstructured) []schema.GroupVersionKind {
	content, ok, err := unstructured.NestedMap(o.Object, "spec", "remediationTemplate")
	ref := &corev1.ObjectReference{}
	if err != nil || !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(content, ref) != nil || validTemplate(o.GetNamespace(), ref) != nil {
		return nil
	}
	return []schema.GroupVersionKind{requestKind(ref)}
}

// withdraw deletes those of the requests that the check does not need (unneeded), or whose check was deleted (gone).
func (r *healthChecks) withdraw(ctx context.Context, c *check, j health.Judgement, requests map[string]*metav1.PartialObjectMetadata) error {
	var failures error
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		gone, err := r.gone(ctx, c.stored, requests[name])
		if err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		if why := unneeded(requests[name], c, j, gone); why != "" {
			failures = errors.Join(failures, r.withdrawOne(ctx, c.stored, requests[name], why))
		}
	}
	return failures
}

// gone reports whether another check made the request and was deleted while no process ran that could withdraw the request.
func (r *healthChecks) gone(ctx context.Context, check *unstructured.Unstructured, request *metav1.PartialObjectMetadata) (bool, error) {
	by, named := request.Annotations[checkAnnotation]
	if !named || by == check.GetName() || !request.DeletionTimestamp.IsZero() {
		return false, nil
	}
	for _, from := range []client.Reader{r.checks, r.live} { // the cache may lag
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(healthCheckKind)
		switch err := from.Get(ctx, types.NamespacedName{Namespace: request.Namespace, Name: by}, o); {
		case err == nil:
			return false, nil
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("reading the MachineHealthCheck %s, which created the remediation request %s: %w", by, request.Name, err)
		}
	}
	return true, nil
}

// unneeded returns why a request has to be withdrawn, "" if it stays. gone means that another check made the request and was deleted. A request that names no
// check was made by an earlier version of this controller. It is withdrawn only if its Machine is healthy or has SkipAnnotation.
func unneeded(request *metav1.PartialObjectMetadata, c *check, j health.Judgement, gone bool) string {
	by, named := request.Annotations[checkAnnotation]
	if gone {
		return fmt.Sprintf("the MachineHealthCheck %s, which created the request, was deleted", by)
	}
	if named && by != c.stored.GetName() {
		return ""
	}
	for _, v := range j.Assessments {
		switch {
		case !slices.ContainsFunc(request.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == v.Machine.UID }):
			continue
		case v.Healthy():
			return "the Machine is healthy again"
		case v.Skipped():
			return "the Machine's annotation " + health.SkipAnnotation + " turns remediation off"
		}
		return ""
	}
	if named {
		return "the MachineHealthCheck no longer selects the Machine"
	}
	return ""
}

// whilePaused withdraws the requests that a paused check no longer needs, and makes none. Otherwise a Node that has recovered would stay fenced as long as the
// check is paused. valid means that the check's spec could be read; if not, whilePaused does nothing.
func (r *healthChecks) whilePaused(ctx context.Context, c *check, valid bool) error {
	if !valid {
		return nil
	}
	if err := r.withdrawFormer(ctx, c); err != nil || c.spec.RemediationTemplate == nil {
		return err
	}
	j, err := r.judge(ctx, r, c)
	if err != nil {
		return ignoreInvalid(err)
	}
	requests, err := r.requests(ctx, c.stored.GetNamespace(), requestKind(c.spec.RemediationTemplate))
	if err != nil {
		return ignoreNoKind(err)
	}
	return r.withdraw(ctx, c, j, requests)
}

// withdrawFormer withdraws the requests that the check has made from a template of another kind than its current one. Then it remembers the current kind.
func (r *healthChecks) withdrawFormer(ctx context.Context, c *check) error {
	key, present := client.ObjectKeyFromObject(c.stored), kindsOf(c.stored)
	former := slices.DeleteFunc(r.kinds.of(key), func(k schema.GroupVersionKind) bool { return slices.Contains(present, k) })
	if err := r.withdrawKinds(ctx, key, c.stored, former, "spec.remediationTemplate of the MachineHealthCheck now names another kind, or is "+
		"empty"); err != nil {
		return err
	}
	r.kinds.set(key, present)
	return nil
}

// withdrawAll withdraws every request of a check: those of the given kinds and of the remembered kinds (requestKinds). check is nil if the check is gone.
func (r *healthChecks) withdrawAll(ctx context.Context, key types.NamespacedName, check *unstructured.Unstructured, kinds []schema.GroupVersionKind,
	why string) error {
	for _, k := range r.kinds.of(key) {
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if err := r.withdrawKinds(ctx, key, check, kinds, why); err != nil {
		return err
	}
	r.kinds.set(key, nil)
	return nil
}

func (r *healthChecks) withdrawKinds(ctx context.Context, key types.NamespacedName, check *unstructured.Unstructured, kinds []schema.GroupVersionKind,
	why string) error {
	var failures error
	for _, kind := range kinds {
		requests, err := r.requests(ctx, key.Namespace, kind)
		if err != nil {
			failures = errors.Join(failures, ignoreNoKind(err))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(requests)) {
			if requests[name].Annotations[checkAnnotation] == key.Name {
				failures = errors.Join(failures, r.withdrawOne(ctx, check, requests[name], why))
			}
		}
	}
	return failures
}

// ignoreNoKind returns nil for the error that a kind is not served, because such a kind has no objects. It returns any other error unchanged.
func ignoreNoKind(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// ignoreInvalid returns nil for an error about the check's spec, because an invalid check has nothing to withdraw. It returns any other error unchanged.
func ignoreInvalid(err error) error {
	if invalid(err) {
		return nil
	}
	return err
}

func (r *healthChecks) withdrawOne(ctx context.Context, check *unstructured.Unstructured, request *metav1.PartialObjectMetadata, why string) error {
	if !request.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.Delete(ctx, request, client.Preconditions{UID: &request.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the remediation request %s: %w", request.Name, err)
	}
	if check != nil {
		r.recorder.Eventf(check, request, corev1.EventTypeNormal, "RemediationWithdrawn", "withdraw",
			"Deleted the remediation request %s %s: %s", request.Kind, request.Name, why)
	}
	return nil
}
