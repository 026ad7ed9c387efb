// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxying

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/poundlock/poundlock/certs"
	"github.com/poundlock/poundlock/webhooks/shim"
)

type shimOptions struct {
	shim.Options
	listen, health, certificates string
	inFlight                     int64 // MiB
	grace                        time.Duration
	verbose                      bool
}

// Shim is `poundlock shim`.
func Shim() *cobra.Command {
	var o shimOptions
	cmd := &cobra.Command{
		Use:   "shim --upstream SUFFIX=URL",
		Short: "Convert private types of Cluster API with the conversion webhooks of the standard types",
		Long: `Serve the conversion webhook of the private types (cluster.hypershift.openshift.io and the groups beneath it). The shim gives
the objects the names of the standard types, lets the conversion webhook of Cluster API or of a provider convert them,
and gives the converted objects their private names again.`,
		Example: `  poundlock shim \
    --upstream cluster.x-k8s.io=https://capi-webhook-service.capi-system.svc/convert \
    --upstream infrastructure.cluster.x-k8s.io=https://capa-webhook-service.capa-system.svc/convert`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Upstreams, "upstream", nil,
		"Send objects of the group SUFFIX, and of groups that end in .SUFFIX, to the conversion webhook at URL. Repeat the flag for more groups: the "+
			"longest matching SUFFIX is used")
	f.StringVar(&o.Trust.CAFile, "upstream-ca", "", "Trust upstreams whose certificate is signed by a CA in this file (default: the system's CAs)")
	f.StringVar(&o.Trust.CertFile, "upstream-client-cert", "", "Present this certificate to upstreams that require a client certificate")
	f.StringVar(&o.Trust.KeyFile, "upstream-client-key", "", "The file with the private key of --upstream-client-cert")
	f.StringVar(&o.listen, "listen", ":9443", "Serve conversion reviews by HTTPS at this address, path /convert")
	f.StringVar(&o.health, "health-listen", ":8081", "Serve /healthz, /readyz and /metrics at this address")
	f.StringVar(&o.certificates, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs", "Use the serving certificate tls.crt and its key "+
		"tls.key in this folder, and read them again when they change")
	f.IntVar(&o.Concurrency, "concurrency", 16, "Convert at most this many reviews at the same time. Further reviews are rejected, and the API server "+
		"repeats them a second later")
	f.Int64Var(&o.inFlight, "in-flight-mib", 192,
		"Hold at most this many MiB of reviews and of upstreams' answers in memory; a review counts twice. "+
			"Further reviews are rejected, and the API server repeats them a second later")
	f.DurationVar(&o.Budget, "budget", 25*time.Second, "If an upstream is unavailable, retry the call for this long. The API server waits 30s for the "+
		"shim's answer")
	f.DurationVar(&o.Delay, "shutdown-delay", 5*time.Second, "After SIGTERM, still accept reviews for this long, while /readyz already fails")
	f.DurationVar(&o.grace, "grace-period", 28*time.Second, "After --shutdown-delay, let running reviews finish for this long")
	f.BoolVar(&o.verbose, "verbose", false, "Also log debug messages")
	if err := cmd.MarkFlagRequired("upstream"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// valid refuses numbers that would silently be replaced by a default, or with which the API server would give up first.
func (o shimOptions) valid() error {
	switch {
	case o.Concurrency < 1:
		return fmt.Errorf("--concurrency %d is too low: use 1 or more", o.Concurrency)
	case o.inFlight < 1:
		return fmt.Errorf("--in-flight-mib %d is too low: use 1 or more", o.inFlight)
	case o.Budget <= 0 || o.Budget >= apiServerWaits:
		return fmt.Errorf("--budget %s: use more than 0s and less than %s, because the API server waits no longer for a conversion", o.Budget, apiServerWaits)
	}
	return nil
}

// apiServerWaits is how long an API server waits for a conversion webhook.
const apiServerWaits = 30 * time.Second

func (o shimOptions) run(ctx context.Context) error {
	if err := o.valid(); err != nil {
		return err
	}
	o.Log = logger(o.verbose).With("logger", "conversion-webhook")
	o.InFlight = o.inFlight << 20
	collectSooner()
	registry, metrics := measured()
	o.Registerer = registry
	s, err := shim.New(o.Options)
	if err != nil {
		return err
	}
	measures := certs.NewMetrics()
	registry.MustRegister(measures)
	files, err := certs.NewFiles(certs.FilesOptions{Dir: o.certificates, Metrics: measures, Log: logr.FromSlogHandler(o.Log.Handler())})
	if err != nil {
		return err
	}
	reviews, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening for conversion reviews: %w", err)
	}
	health, err := net.Listen("tcp", o.health)
	if err != nil {
		return fmt.Errorf("listening for health and metrics: %w", err)
	}
	o.Log.Info("Answering conversion reviews", "address", reviews.Addr().String(), "health", health.Addr().String(), "upstreams", o.Upstreams)
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return files.Start(ctx) })
	running.Go(func() error { return s.Serve(ctx, reviews, health, files, metrics, o.grace) })
	return running.Wait()
}
