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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/machine/controller"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/neighbours"
)

// MachineAPIControllers is the identity of the Machine API's controllers in a cluster. Poundlock's flags have it as the default.
const MachineAPIControllers = "system:serviceaccount:openshift-machine-api:machine-api-controllers"

// Options are what a side needs.
type Options struct {
	// Config reaches the API server and may impersonate the controllers.
	Config *rest.Config
	// Platform is the cluster's platform, by the name that the Infrastructure has for it; AWS if "".
	Platform string
	Pairs    authority.Pairs
	Cloud    machinetest.Panel
	// Ungated makes the Machine API's controllers ignore which API is authoritative, as they do with the feature gate off.
	Ungated bool
	// MachinesOnly runs no controllers of MachineSets and MachineHealthChecks, because other processes run them.
	MachinesOnly bool
	// ListedWithin is the longest time that the cloud takes to list a new instance.
	ListedWithin time.Duration
	// Log must be set, because a zero Log would be that of the process.
	Log logr.Logger
}

// Side is a group of controllers that start and stop together.
type Side string

// The sides: the Machine API's controllers, Cluster API's infrastructure with the kubelets of all instances, and the operator of etcd.
const (
	MachineAPI     Side = "machine-api"
	Infrastructure Side = "infrastructure"
	Etcd           Side = "etcd-operator"
)

// Sides returns the sides that call the cloud.
func Sides() []Side { return []Side{MachineAPI, Infrastructure} }

// Run runs sides until ctx ends, or one of their controllers fails.
func Run(ctx context.Context, o Options, sides ...Side) error {
	p, err := platformNamed(o.Platform)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, side := range sides {
		for _, l := range lots(p)[side] {
			m, err := l.manager(o)
			if err != nil {
				return err
			}
			group.Go(func() error { return m.Start(ctx) })
		}
	}
	return group.Wait()
}

// lot is a group of controllers that share an identity, and therefore a connection.
type lot struct {
	// identity is impersonated; "" is the identity of Config.
	identity string
	// in returns the namespace of a pair that the controllers are limited to, as --namespace limits them in a cluster. nil means all namespaces.
	in  func(authority.Pair) string
	add func(manager.Manager, Options) error
}

// lots returns the controllers of each side.
func lots(p platform) map[Side][]lot {
	return map[Side][]lot{
		MachineAPI: {{MachineAPIControllers, func(p authority.Pair) string { return p.MachineAPI }, addMachineAPI}},
		Infrastructure: {
			{p.identity(), func(p authority.Pair) string { return p.ClusterAPI }, addInfraMachine},
			{"", nil, addKubelets},
		},
		Etcd: {{neighbours.EtcdOperator{}.Identity(), nil, addEtcd}},
	}
}

// addMachineAPI adds Poundlock's own Machine API controllers, with the actuator of the simulated cloud.
func addMachineAPI(m manager.Manager, o Options) error {
	p, err := platformNamed(o.Platform)
	if err != nil {
		return err
	}
	add := controller.Add
	if o.MachinesOnly {
		add = controller.AddMachines
	}
	return add(m, controller.Options{
		Actuator: &machinetest.Actuator{Cloud: o.Cloud.As(authority.MachineAPI), Provider: p.actuator, ListedWithin: o.ListedWithin},
		Gated:    !o.Ungated,
		AnyName:  true,
	})
}

func (l lot) manager(o Options) (manager.Manager, error) {
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "simulation"
	if l.identity != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: l.identity}
	}
	m, err := ctrl.NewManager(config, l.options(o))
	if err != nil {
		return nil, fmt.Errorf("starting the simulated controllers of %s: %w", l.identity, err)
	}
	if err := l.add(m, o); err != nil {
		return nil, fmt.Errorf("starting the simulated controllers of %s: %w", l.identity, err)
	}
	return m, nil
}

func (l lot) options(o Options) manager.Options {
	immediately := time.Duration(0)
	return manager.Options{
		Scheme: Scheme(), Logger: o.Log,
		Cache:                   cache.Options{DefaultNamespaces: l.namespaces(o.Pairs)},
		Client:                  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:                 server.Options{BindAddress: "0"},
		GracefulShutdownTimeout: &immediately,
		// One process may run several simulations, one after the other, so controllers of the same name are allowed.
		Controller: config.Controller{SkipNameValidation: ptr(true)},
	}
}

// namespaces returns the namespaces to which the cache is limited; nil means all. Kinds without a namespace, such as Node, are not affected.
func (l lot) namespaces(pairs authority.Pairs) map[string]cache.Config {
	if l.in == nil {
		return nil
	}
	out := map[string]cache.Config{}
	for _, pair := range pairs {
		out[l.in(pair)] = cache.Config{}
	}
	return out
}

// Scheme returns a scheme with the types of both APIs, of the AWS provider and of the core. Other providers' objects are unstructured.
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
