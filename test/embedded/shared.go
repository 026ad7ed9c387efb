// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is a control plane that some tests of a package share. The first of them starts it, so a run that selects none of them starts nothing. The package's
// TestMain calls its Main.
type Shared struct {
	// Options is called once, before the start.
	Options func(context.Context) (Options, error)

	once  sync.Once
	plane *Plane
	err   error
}

// Plane starts the control plane if it does not run yet, and returns it. It skips the test under -short.
func (s *Shared) Plane(t testing.TB) *Plane {
	t.Helper()
	LeaveOut(t)
	s.once.Do(func() {
		var o Options
		if o, s.err = s.Options(context.Background()); s.err != nil { // the control plane outlives the test that starts it
			return
		}
		if o.Out == nil {
			o.Out = os.Stderr
		}
		s.plane, s.err = Start(context.Background(), o)
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.plane
}

// Main runs the tests, stops the control plane if a test has started it, and returns the exit code for os.Exit.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.plane == nil {
		return code
	}
	var died error
	select {
	case exit := <-s.plane.Exited():
		died = exit
	default:
	}
	for _, err := range []error{died, s.plane.Stop()} {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}
