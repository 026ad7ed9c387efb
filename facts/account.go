// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/served"
)

// Accounts reads which account of the cloud the cluster is in, from the ConfigMap that the Infrastructure's spec.cloudConfig names. So it needs no right to
// read Secrets. It caches the answer for some minutes, because the account changes no more than the cluster's name. A nil Accounts returns no account.
type Accounts struct {
	// Reader reads ConfigMaps from the API server, because a cache would hold all ConfigMaps of a namespace.
	Reader client.Reader

	mu      sync.Mutex
	account string
	until   time.Time
}

// How long an answer is cached: one with an account (known), and one without (unknown).
const (
	known   = 10 * time.Minute
	unknown = time.Minute
)

// Of returns the account. It returns "" if the platform's conversions need none, or if no object that Poundlock may read has it.
func (a *Accounts) Of(ctx context.Context, platform conversion.Platform, infrastructure map[string]any) (string, error) {
	name, _, _ := unstructured.NestedString(infrastructure, "spec", "cloudConfig", "name")
	if a == nil || platform.Account == nil || name == "" {
		return "", nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Now().Before(a.until) {
		return a.account, nil
	}
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := a.Reader.Get(ctx, client.ObjectKey{Namespace: "openshift-config", Name: name}, config)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return "", fmt.Errorf("reading ConfigMap openshift-config/%s: %w", name, err)
	}
	key, _, _ := unstructured.NestedString(infrastructure, "spec", "cloudConfig", "key")
	text, _, _ := unstructured.NestedString(config.Object, "data", key)
	a.account, a.until = platform.Account(text), time.Now().Add(known)
	if a.account == "" {
		a.until = time.Now().Add(unknown)
	}
	return a.account, nil
}

// mostAsked is how many Machines are searched for the account, even in a larger fleet, because the ID of any instance has it.
const mostAsked = 100

// accountOfMachines returns the account from the instance ID of any Machine. It reads the Machines from a cache. It returns "" if none of the first Machines
// has an instance, or if the kind is not served.
func accountOfMachines(ctx context.Context, cache client.Reader, namespace string, account func(providerID string) string) (string, error) {
	found, err := served.List(ctx, cache, machineKind(), namespace, client.Limit(mostAsked), client.UnsafeDisableDeepCopy)
	if err != nil && !served.Missing(err) {
		return "", err
	}
	for _, machine := range found {
		id, _, _ := unstructured.NestedString(machine.Object, "spec", "providerID")
		if of := account(id); of != "" {
			return of, nil
		}
	}
	return "", nil
}
