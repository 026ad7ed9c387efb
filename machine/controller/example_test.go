// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"os"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/machine/controller"
)

// newActuator is what a provider writes.
func newActuator() machine.Actuator { return nil }

func migrationGate() bool { return true }

// Example is the program of a provider: docs/actuators.md shows it.
func Example() {
	ctrl.SetLogger(zap.New())
	const namespace = "openshift-machine-api"
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	must(machinev1beta1.Install(scheme))
	m, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:           scheme,
		Cache:            cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection:   true,
		LeaderElectionID: "machine-api-controllers", LeaderElectionNamespace: namespace,
	})
	must(err)
	must(controller.Add(m, controller.Options{
		Actuator: newActuator(),
		Gated:    migrationGate(),
		Node:     os.Getenv("NODE_NAME"),
	}))
	must(m.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
