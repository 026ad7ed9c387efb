// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxying has the commands `poundlock proxy` and `poundlock shim`. In go flags, and out comes a running server. The commands decide nothing: packages
// proxy and webhooks/shim decide.
package proxying

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/poundlock/poundlock/proxy"
)

type options struct {
	listen, health, kubeconfig string
	grace                      time.Duration
	verbose                    bool
}

// Proxy is `poundlock proxy`.
func Proxy() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "proxy",
		Short: "Let a client of Cluster API work on private types under their standard names",
		Long: `Run as a sidecar of a client of Cluster API, and translate between the standard groups that the client uses
(cluster.x-k8s.io and those beneath it) and the private ones that the API server stores (cluster.hypershift.openshift.io).
The client connects to the address in --listen by plain HTTP, without credentials.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080",
		"Serve clients at this address. It must be a loopback address, because every program that can connect to it has the rights of the pod's ServiceAccount")
	f.StringVar(&o.health, "health-listen", ":8081", "Serve /healthz, /readyz and /metrics at this address")
	f.StringVar(&o.kubeconfig, "kubeconfig", "",
		"Connect to the API server with this kubeconfig (default: the pod's ServiceAccount). The proxy ignores $KUBECONFIG, because the pod's other "+
			"containers use it to reach the proxy")
	f.DurationVar(&o.grace, "grace-period", 20*time.Second, "After SIGTERM, let running requests finish for this long. Watches end at once")
	f.BoolVar(&o.verbose, "verbose", false, "Also log debug messages")
	return cmd
}

func (o options) run(ctx context.Context) error {
	log := logger(o.verbose)
	collectSooner()
	upstream, err := o.upstream()
	if err != nil {
		return err
	}
	registry, metrics := measured()
	p, err := proxy.New(proxy.Options{Upstream: upstream, Registerer: registry, Log: log})
	if err != nil {
		return err
	}
	clients, err := o.clients()
	if err != nil {
		return err
	}
	health, err := net.Listen("tcp", o.health)
	if err != nil {
		return fmt.Errorf("listening for health and metrics: %w", err)
	}
	log.Info("Answering clients", "address", clients.Addr().String(), "health", health.Addr().String(), "upstream", upstream.Host)
	return p.Serve(ctx, clients, health, metrics, o.grace)
}

// collectSooner makes garbage collection begin sooner. The process then takes a fifth less memory with a hundred watches, and with large reviews. Otherwise it
// allocates little.
func collectSooner() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

func logger(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// measured returns a registry of metrics, and a handler that answers `/metrics` from it.
func measured() (*prometheus.Registry, http.Handler) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := http.NewServeMux()
	metrics.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	return registry, metrics
}

// upstream returns the address of the API server, and the identity that requests have there.
func (o options) upstream() (*rest.Config, error) {
	if o.kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("reading the pod's ServiceAccount: %w. Outside of a pod, set --kubeconfig", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading --kubeconfig: %w", err)
	}
	return config, nil
}

// clients listens at an address that no other machine reaches.
func (o options) clients() (net.Listener, error) {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s is not of the form HOST:PORT: %w", o.listen, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--listen %s is not a loopback address, so anybody who reaches it would have the rights of the pod's ServiceAccount: "+
			"use 127.0.0.1:PORT", o.listen)
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("listening for clients: %w", err)
	}
	return l, nil
}
