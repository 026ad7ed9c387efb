// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/poundlock/poundlock/test/testcluster"
)

var (
	complete = flag.Bool("complete", false, "play each deletion of a set in TestDeletionsOfASet, and not only some that the seed draws")
	realAPI  = flag.Bool("real-machine-api", false,
		"have OpenShift's own controllers see to the Machine API's MachineSets and MachineHealthChecks, with their webhooks")
	seed = flag.Uint64("seed", 0, "of what is drawn where not everything is played; 0: another one each time")
)

// TestMain sets stage once.
var stage *testcluster.Stage

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("the journeys are played on a stage, and are left to make test: -short")
		return
	}
	// Stories mostly wait, so four of them run at a time, which is more than there are processors. Two tests wait for the end of all others (afterAll), and each
	// occupies a place meanwhile.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	if *seed == 0 {
		*seed = rand.Uint64() //nolint:gosec // a draw that can be repeated
	}
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	var err error
	stage, err = testcluster.Set(context.Background(), testcluster.Options{Out: os.Stderr, RealMachineAPI: *realAPI})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if cause := stage.Cause(); cause != nil { // tests that fail without the stage should say why
		fmt.Fprintln(os.Stderr, cause)
		code = 1
	}
	if err := stage.Strike(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
