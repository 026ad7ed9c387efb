// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/testcluster"
)

var update = flag.Bool("update", false, "write what was printed into docs/plugin.md")

// stage is set once, by TestMain: a control plane, Poundlock and a fleet for all tests.
var stage *testcluster.Stage

// root is the checkout, plugin the folder of the plugin's binary.
var root, plugin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("the plugin is not driven on a stage: -short")
		return 0
	}
	var err error
	if stage, err = testcluster.Set(context.Background(), testcluster.Options{Out: os.Stderr}); err == nil {
		err = install()
	}
	if err == nil {
		code = m.Run()
	}
	if stage != nil {
		if cause := stage.Cause(); cause != nil { // tests that failed because of it report it
			err = cause
		}
		if strikeErr := stage.Strike(); err == nil {
			err = strikeErr
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// install builds the plugin under the two names that kubectl looks for.
func install() (err error) {
	if root, err = build.Root(); err != nil {
		return err
	}
	plugin = filepath.Join(stage.Plane.Dir(), "plugin")
	if err := build.Own(context.Background(), "./cmd/kubectl-poundlock", filepath.Join(plugin, "kubectl-poundlock"), false); err != nil {
		return err
	}
	return os.Symlink("kubectl-poundlock", filepath.Join(plugin, "kubectl_complete-poundlock"))
}
