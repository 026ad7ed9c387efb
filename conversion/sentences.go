// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Sentences joins the errors about fields that do not convert into one text, sorted by path. Errors with the same text occur once.
func Sentences(errs field.ErrorList) string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Field+": "+cmp.Or(e.Detail, e.ErrorBody()))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "; ")
}
