// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/policies/authority"
)

// The identities under which the controllers run in a cluster: what Poundlock's flags name by default.
const (
	MachineAPIControllers    = "system:serviceaccount:openshift-machine-api:machine-api-controllers"
	InfrastructureController = "system:serviceaccount:openshift-cluster-api:capa-manager"
)

// Options are what the simulation stands on.
type Options struct {
	// Config reaches the API server and may impersonate the identities above.
	Config *rest.Config
	Pairs  authority.Pairs
	Cloud  *Cloud
	// Ungated makes Machine API's controllers ignore who is in charge, as with the feature gate off.
	Ungated bool
	// Log must be set: a zero one would be the process's.
	Log logr.Logger
}

// Run runs every controller until ctx ends, or one of them fails.
func Run(ctx context.Context, o Options) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, side := range sides(o) {
		m, err := side.manager(o)
		if err != nil {
			return err
		}
		group.Go(func() error { return m.Start(ctx) })
	}
	return group.Wait()
}

// side is the controllers that share an identity, and therefore a connection.
type side struct {
	identity    string
	controllers []func(manager.Manager, Options) error
}

// sides lists what runs.
func sides(Options) []side {
	return []side{
		{MachineAPIControllers, []func(manager.Manager, Options) error{addMachineAPIMachine, addMachineAPIMachineSet}},
		{InfrastructureController, []func(manager.Manager, Options) error{addAWSMachine}},
		{"", []func(manager.Manager, Options) error{addKubelets}},
	}
}

func (s side) manager(o Options) (manager.Manager, error) {
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "simulation"
	if s.identity != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: s.identity}
	}
	m, err := ctrl.NewManager(config, s.options(o))
	if err != nil {
		return nil, fmt.Errorf("starting the simulated controllers of %s: %w", s.identity, err)
	}
	for _, add := range s.controllers {
		if err := add(m, o); err != nil {
			return nil, fmt.Errorf("starting the simulated controllers of %s: %w", s.identity, err)
		}
	}
	return m, nil
}

func (s side) options(o Options) manager.Options {
	namespaces := map[string]cache.Config{}
	for _, ns := range o.Pairs.Namespaces() {
		namespaces[ns] = cache.Config{}
	}
	immediately := time.Duration(0)
	return manager.Options{
		Scheme: Scheme(), Logger: o.Log,
		Cache:                   cache.Options{DefaultNamespaces: namespaces},
		Metrics:                 server.Options{BindAddress: "0"},
		GracefulShutdownTimeout: &immediately,
		// One process may run several simulations, one after the other.
		Controller: config.Controller{SkipNameValidation: ptr(true)},
	}
}

// Scheme knows the types of both APIs, of the provider and of the core.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, machinev1beta1.Install, clusterv1.AddToScheme, awsv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err) // the types of a build do not contradict each other, or no test would run
		}
	}
	return s
}

func ptr[T any](v T) *T { return &v }
