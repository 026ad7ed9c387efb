// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/simulation"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "simulation:", err)
		os.Exit(1)
	}
}

// common are the flags that every part has.
type common struct {
	kubeconfig string
	namespaces []string
	parent     int
}

func command() *cobra.Command {
	c := &common{}
	root := &cobra.Command{
		Use: "simulation", Short: "The world around Poundlock: a cloud, and the controllers of both APIs that call it",
		SilenceUsage: true, SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "reaches the API server as somebody who may impersonate the controllers")
	flags.StringSliceVar(&c.namespaces, "namespaces", []string{"openshift-machine-api=openshift-cluster-api"},
		"pairs of namespaces, MACHINE-API-NAMESPACE=CLUSTER-API-NAMESPACE")
	flags.IntVar(&c.parent, "parent", 0, "end when this process is no longer the parent; 0 for never")
	root.AddCommand(cloudCommand(c), neighboursCommand(c),
		sideCommand(c, simulation.MachineAPI, "Run the Machine API's controllers, with an actuator for the simulated cloud"),
		sideCommand(c, simulation.Infrastructure, "Run Cluster API's infrastructure controller for the simulated cloud, and the kubelets of its instances"),
		sideCommand(c, simulation.Etcd, "Run the operator of etcd, which holds Machines of the control plane while their Nodes vote"))
	return root
}

func sideCommand(c *common, side simulation.Side, short string) *cobra.Command {
	var address string
	o := simulation.Options{}
	cmd := &cobra.Command{Use: string(side), Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		var err error
		if o.Config, o.Pairs, err = c.server(); err != nil {
			return err
		}
		o.Cloud, o.Log = machinetest.Dial(address), logger()
		ctx, stop := withParent(cmd.Context(), c.parent)
		defer stop()
		return simulation.Run(ctx, o, side)
	}}
	cmd.Flags().StringVar(&o.Platform, "platform", "AWS", "the Infrastructure's name for the platform")
	cmd.Flags().StringVar(&address, "cloud", "127.0.0.1:7070", "where the simulated cloud is")
	if side == simulation.MachineAPI {
		cmd.Flags().BoolVar(&o.Ungated, "ungated", false, "do not ask which API is authoritative, as with the feature gate off")
		cmd.Flags().BoolVar(&o.MachinesOnly, "machines-only", false, "leave MachineSets and MachineHealthChecks to others")
		cmd.Flags().DurationVar(&o.ListedWithin, "settle", 10*time.Second, "how long the cloud may be late with its news")
	}
	return cmd
}

// server reads what every part needs in order to reach the API server.
func (c *common) server() (*rest.Config, authority.Pairs, error) {
	pairs, err := authority.ParsePairs(c.namespaces)
	if err != nil {
		return nil, nil, fmt.Errorf("--%w", err)
	}
	if c.kubeconfig == "" {
		return nil, nil, fmt.Errorf("--kubeconfig is missing: name the file")
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("reading --kubeconfig: %w", err)
	}
	config.WarningHandler = rest.NoWarnings{}
	return config, pairs, nil
}

func logger() logr.Logger {
	log := zap.New(zap.WriteTo(os.Stderr))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	return log
}

// withParent returns a context that ends when the process `parent` is no longer the parent of this one.
func withParent(ctx context.Context, parent int) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	if parent == 0 {
		return ctx, stop
	}
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for os.Getppid() == parent && ctx.Err() == nil {
			<-tick.C
		}
		stop()
	}()
	return ctx, stop
}
