// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package stories

import (
	"flag"
	"testing"
)

var long = flag.Bool("long", false, "also play the stories that `make test` leaves to `make proof WHAT=stories`")

// Long skips the test unless -long is set. Call it first, because what a skipped test has begun costs as much as the test.
func Long(t *testing.T) {
	t.Helper()
	if *long {
		return
	}
	t.Run("left to make proof WHAT=stories", func(t *testing.T) { t.Skip("needs -long") })
	t.SkipNow()
}

// Times returns how often a test draws: few times, or many times with -long.
func Times(few, many int) int {
	if *long {
		return many
	}
	return few
}
