// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/manifests"
	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/testcluster"
)

var (
	complete = flag.Bool("complete", false, "play every crash of every story, and every fault, which takes an hour")
	part     = flag.Bool("part", false, "play a part of it, which takes some minutes: one story whole, and of the others what the seed draws")
	only     = flag.String("story", "", "play only the stories and faults whose names match this")
	seed     = flag.Uint64("seed", 0, "of what is drawn where not everything is played; 0: another one each time")
)

// TestMain sets these once: the stage, the wire between the manager and the API server, and a cache of all objects that plays use.
var (
	stage *testcluster.Stage
	line  *wire.Wire
	sight client.Reader
	// admin is a client for Kubernetes' own kinds. The stage's client does not have all of them.
	admin client.Client
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !*complete && !*part {
		fmt.Println("nothing is played: -complete (make proof WHAT=chaos) plays all of it, -part (make proof WHAT=chaos ARGS=-part) a part in some minutes")
		os.Exit(0)
	}
	// Plays that wait cost nothing, so there may be more of them at a time than processors.
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	var err error
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if stage, err = testcluster.Set(ctx, testcluster.Options{Out: os.Stderr}); err == nil {
		err = intercept(ctx)
	}
	if err == nil {
		sight, err = watchAll(ctx)
	}
	if err == nil {
		go func() {
			if err := revisions.follow(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err) // each play then misses its history, and fails
			}
		}()
		admin, err = client.New(stage.Plane.Admin(), client.Options{Scheme: clientgoscheme.Scheme})
	}
	code = 1
	if err == nil {
		code = m.Run()
	}
	if stage != nil {
		if cause := stage.Cause(); cause != nil { // tests that fail without the stage should say why
			err = cause
		}
		if struck := stage.Strike(); err == nil {
			err = struck
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// intercept starts the manager again, behind the wire.
func intercept(ctx context.Context) error {
	var err error
	if line, err = stretch(); err != nil {
		return err
	}
	if err := stage.StopManager(); err != nil {
		return err
	}
	if err := stage.Plane.Kubeconfig(line.Config(), filepath.Join(stage.Plane.Dir(), "poundlock.kubeconfig")); err != nil {
		return err
	}
	return stage.StartManager(ctx)
}

// stretch opens a wire for a manager.
func stretch() (*wire.Wire, error) {
	as, err := stage.Plane.As(manifests.User())
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(stage.Plane.Dir(), "wire")
	if err := stage.Plane.Serving(dir); err != nil {
		return nil, err
	}
	return wire.Stretch(as, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
}
