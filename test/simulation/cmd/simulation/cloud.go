// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/simulation"
)

func cloudCommand(c *common) *cobra.Command {
	var address, platform string
	o := machinetest.Options{}
	cmd := &cobra.Command{Use: "cloud", Short: "Run the simulated cloud", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("shutdown-time") {
			o.ShutdownTime = o.BootTime / 2
		}
		var err error
		o.ProviderID, err = simulation.ProviderID(platform)
		if err := errors.Join(err, c.witness(&o)); err != nil {
			return err
		}
		ctx, stop := withParent(cmd.Context(), c.parent)
		defer stop()
		return serve(ctx, o, address)
	}}
	flags := cmd.Flags()
	flags.StringVar(&address, "address", "127.0.0.1:7070", "where to serve, on loopback: nobody is asked who they are")
	flags.StringVar(&platform, "platform", "AWS", "whose provider IDs instances have, by the Infrastructure's name for it")
	flags.StringVar(&o.File, "file", "", "keeps instances and ledger over a restart")
	flags.DurationVar(&o.BootTime, "boot-time", 2*time.Second, "how long an instance is pending")
	flags.DurationVar(&o.ShutdownTime, "shutdown-time", 0, "how long it shuts down; half of --boot-time if not given")
	flags.DurationVar(&o.Lag, "lag", 0, "how long the cloud is late with its news")
	flags.IntVar(&o.Quota, "quota", 0, "how many instances there may be at a time; 0 for any number")
	return cmd
}

// witness has every call of the cloud checked against the API server, if there is one.
func (c *common) witness(o *machinetest.Options) error {
	if c.kubeconfig == "" {
		return nil
	}
	config, pairs, err := c.server()
	if err != nil {
		return err
	}
	config.QPS = -1
	live, err := client.New(config, client.Options{Scheme: simulation.Scheme()})
	if err != nil {
		return fmt.Errorf("reaching the API server: %w", err)
	}
	o.Witness, o.Census = machinetest.LiveWitness(live, pairs), machinetest.LiveCensus(live, pairs)
	return nil
}

func serve(ctx context.Context, o machinetest.Options, address string) error {
	log := logger()
	cloud, err := machinetest.New(o)
	if err != nil {
		return err
	}
	listener, err := listen(address)
	if err != nil {
		return err
	}
	kept := make(chan struct{})
	keeping, stop := context.WithCancel(context.Background())
	go func() {
		defer close(kept)
		cloud.Keep(keeping, time.Second, func(err error) { log.Error(err, "writing the file") })
	}()
	server := &http.Server{Handler: machinetest.Handler(cloud), ReadHeaderTimeout: 5 * time.Second}
	end := context.AfterFunc(ctx, func() { _ = server.Close() }) // do not wait for calls that hang
	defer end()
	log.Info("the simulated cloud serves", "url", "http://"+listener.Addr().String())
	err = server.Serve(listener)
	stop()
	<-kept
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--address %q: want HOST:PORT", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--address %q is not on loopback, and nobody is asked who they are: use 127.0.0.1:PORT", address)
	}
	return net.Listen("tcp", address)
}
