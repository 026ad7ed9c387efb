// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/poundlock/poundlock/test/scene"
)

// stage is set once, by TestMain.
var stage *scene.Stage

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	stage, err = scene.Set(context.Background(), scene.Options{Out: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if cause := stage.Cause(); cause != nil { // tests that fail for want of it are to say so
		fmt.Fprintln(os.Stderr, cause)
		code = 1
	}
	if err := stage.Strike(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
