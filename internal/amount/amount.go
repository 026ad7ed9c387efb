// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package amount

import (
	"fmt"
	"strings"
)

// Of returns a number with the name of the things counted. one is the name of one thing; Of makes its plural unless n is 1.
func Of[N int | int32 | int64](n N, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "x"):
		return fmt.Sprintf("%d %ses", n, one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}
