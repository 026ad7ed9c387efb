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
		Short: "Convert private types of Cluster API with the converters of the standard ones",
		Long: `Answer the API server's conversion webhooks of private types (cluster.hypershift.openshift.io and the groups beneath it):
give the objects their standard names, have the webhook of Cluster API or of its provider convert the standard types,
and give the answer its private names back.`,
		Example: `  poundlock shim \
    --upstream cluster.x-k8s.io=https://capi-webhook-service.capi-system.svc/convert \
    --upstream infrastructure.cluster.x-k8s.io=https://capa-webhook-service.capa-system.svc/convert`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Upstreams, "upstream", nil,
		"Convert the standard groups that equal SUFFIX or end in .SUFFIX at URL. Repeat the flag for more: the longest matching SUFFIX counts")
	f.StringVar(&o.Trust.CAFile, "upstream-ca", "", "Trust upstreams whose certificate this file's CA has signed (default: the system's)")
	f.StringVar(&o.Trust.CertFile, "upstream-client-cert", "", "Show this certificate to upstreams that want one")
	f.StringVar(&o.Trust.KeyFile, "upstream-client-key", "", "Use this key of --upstream-client-cert")
	f.StringVar(&o.listen, "listen", ":9443", "Answer conversion reviews at /convert of this address, by TLS")
	f.StringVar(&o.health, "health-listen", ":8081", "Answer /healthz, /readyz and /metrics at this address")
	f.StringVar(&o.certificates, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs", "Serve tls.crt and tls.key of this folder, and follow their changes")
	f.IntVar(&o.Concurrency, "concurrency", 16, "Convert this many reviews at once. The API server is asked to repeat the others a second later")
	f.Int64Var(&o.inFlight, "in-flight-mib", 192,
		"Hold this many MiB of reviews and of converters' answers at once; a review counts twice. "+
			"The API server is asked to repeat further reviews a second later")
	f.DurationVar(&o.Budget, "budget", 25*time.Second, "Repeat calls of an upstream that is unavailable for this long. The API server waits 30s")
	f.DurationVar(&o.Delay, "shutdown-delay", 5*time.Second, "Accept reviews for this long, while /readyz fails, before a replica stops")
	f.DurationVar(&o.grace, "grace-period", 28*time.Second, "Let running reviews finish for this long after --shutdown-delay")
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
		return fmt.Errorf("--concurrency %d: convert at least 1 review at a time", o.Concurrency)
	case o.inFlight < 1:
		return fmt.Errorf("--in-flight-mib %d: let reviews have at least 1 MiB", o.inFlight)
	case o.Budget <= 0 || o.Budget >= apiServerWaits:
		return fmt.Errorf("--budget %s: give more than 0s and less than %s, which is how long the API server waits", o.Budget, apiServerWaits)
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
