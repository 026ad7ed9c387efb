// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
)

// LeaveOut skips a test under -short, because `make unit` starts no control plane. That would take seconds and 1 GB.
func LeaveOut(t testing.TB) {
	t.Helper()
	if !testing.Short() {
		return
	}
	if test, ok := t.(*testing.T); ok {
		test.Run("left to make test", func(t *testing.T) { t.Skip("-short: it needs a control plane") })
	}
	t.SkipNow()
}

// ForTest starts a control plane for one test, in a temporary folder unless o has one, and stops it when the test ends. It skips the test under -short.
func ForTest(t testing.TB, o Options) *Plane {
	t.Helper()
	LeaveOut(t)
	if o.Out == nil {
		o.Out = os.Stderr
	}
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Main runs a package's tests with one control plane that they share, and returns the exit code for os.Exit. It calls use with the control plane before the
// first test. If the start fails, the package fails. Tests that share a control plane use different namespaces. Under -short Main runs no test.
func Main(m *testing.M, o Options, use func(*Plane) error) int {
	flag.Parse()
	if testing.Short() {
		fmt.Println("the tests of this package share a control plane, and are left to make test: -short")
		return 0
	}
	if o.Out == nil {
		o.Out = os.Stderr
	}
	p, err := Start(context.Background(), o)
	if err == nil {
		err = use(p)
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if p != nil {
		select {
		case exit := <-p.Exited(): // tests that fail without a server should say why
			err, code = exit, 1
		default:
		}
		if stopErr := p.Stop(); err == nil {
			err = stopErr
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
