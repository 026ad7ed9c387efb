// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/go-logr/logr"

	"github.com/poundlock/poundlock/test/embedded"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctrl.SetLogger(logr.Discard())
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	sizes  []int
	rounds int
	mirror int
	memory int
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	sizes := flags.String("sizes", "10,1000,5000", "how many Machines each way has")
	rounds := flags.Int("rounds", 400, "how many PATCHes of each kind are timed at each size and way")
	mirror := flags.Int("mirror", 0, "how many Machines are mirrored; then nothing else is measured")
	memory := flags.Int("memory", 0, "how many Machines are mirrored already when Poundlock's memory is measured; then nothing else is")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	o := options{rounds: *rounds, mirror: *mirror, memory: *memory}
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return options{}, fmt.Errorf("--sizes: %q is no number of Machines", text)
		}
		o.sizes = append(o.sizes, n)
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	crds, err := embedded.CRDs(ctx)
	if err != nil {
		return err
	}
	if o.mirror > 0 {
		return mirroring(ctx, crds, o.mirror, out)
	}
	if o.memory > 0 {
		return memory(ctx, crds, o.memory, out)
	}
	plane, err := embedded.Start(ctx, embedded.Options{Out: out, CRDs: crds})
	if err != nil {
		return err
	}
	defer func() { err = join(err, plane.Stop()) }()
	track, err := lay(ctx, plane, out)
	if err != nil {
		return err
	}
	defer track.close()
	smallest := map[string]table{}
	for _, size := range o.sizes {
		began := time.Now()
		if err := track.grow(ctx, size); err != nil {
			return err
		}
		fmt.Fprintf(out, "%d Machines each way after %.0f s, now %d rounds\n", size, time.Since(began).Seconds(), o.rounds)
		for _, what := range patches() {
			t, err := track.race(ctx, size, what, o.rounds)
			if err != nil {
				return err
			}
			if _, ok := smallest[what.name]; !ok {
				smallest[what.name] = t
			}
			t.print(out, smallest[what.name])
		}
	}
	return nil
}

func join(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// unlimited returns a copy of the config whose client has no rate limit of its own.
func unlimited(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	return cfg
}
