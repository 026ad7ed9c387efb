// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairfacts

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// leaving is an API server whose object of a kind is being deleted; all others exist.
type leaving struct {
	client.Reader
	kind string
}

func (l leaving) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetName(key.Name)
	if o.GetObjectKind().GroupVersionKind().Kind == l.kind {
		at := metav1.Now()
		o.SetDeletionTimestamp(&at)
	}
	return nil
}

// TestTheSurroundingsAreReadBeforeADeletionSaysAnything: a mirror that goes with its namespace, its CRD or its Cluster says nothing about the instance.
func TestTheSurroundingsAreReadBeforeADeletionSaysAnything(t *testing.T) {
	machine, _ := authority.KindNamed("Machine")
	for kind, want := range map[string]bool{"Namespace": true, "CustomResourceDefinition": true, "Cluster": true, "ConfigMap": false} {
		s := &pairs.State{
			Kind: machine, Name: "m", Pair: authority.Pair{MachineAPI: "m", ClusterAPI: "c"}, Env: conversion.Env{ClusterName: "lock"},
			MachineAPI: mirroringtest.Machine(t, `{metadata: {name: m, namespace: m, finalizers: [sync.machine.openshift.io/finalizer]}, status: {authoritativeAPI: MachineAPI}}`),
			Core: mirroringtest.Machine(t, `{metadata: {name: m, namespace: c, deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [sync.machine.openshift.io/finalizer],
				annotations: {poundlock.openshift.io/mirror-of: Machine/m}}}`),
		}
		s.MachineAPI.SetGroupVersionKind(machine.MachineAPIGVK())
		s.Core.SetGroupVersionKind(machine.ClusterAPIGVK())
		if err := (Reader{Live: leaving{kind: kind}}).Surroundings(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := s.Surroundings == authority.Go; got != want {
			t.Errorf("while the %s is being deleted, the pair's surroundings leave: %v", kind, s.Surroundings)
		}
	}
}
