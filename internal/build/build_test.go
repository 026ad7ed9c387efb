// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/poundlock/poundlock/internal/build"
)

func TestInfo(t *testing.T) {
	build.Version = "v1.2.0"
	t.Cleanup(func() { build.Version = "" })
	i := build.Read()
	if i.Version != "v1.2.0" || !strings.HasPrefix(i.String(), "v1.2.0") || !strings.Contains(i.String(), "go1.") {
		t.Errorf("%+v is %q", i, i)
	}
	if got := (build.Info{Go: "go1.26"}).String(); got != "(devel), go1.26" {
		t.Errorf("a build that knows nothing of itself is %q", got)
	}
	if n := testutil.CollectAndCount(i.Metric(), "poundlock_build_info"); n != 1 {
		t.Errorf("%d series", n)
	}
}
