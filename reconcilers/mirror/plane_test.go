// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"os"
	"testing"

	"github.com/poundlock/poundlock/test/embedded"
)

// Shared is the control plane of the tests that have no controllers but the mirror. With its CRDs a control plane costs more than most of these tests. Each
// leaves it empty (empties).
var Shared = &embedded.Shared{Options: func(ctx context.Context) (embedded.Options, error) {
	crds, err := embedded.CRDs(ctx)
	return embedded.Options{CRDs: crds}, err
}}

func TestMain(m *testing.M) { os.Exit(Shared.Main(m)) }
