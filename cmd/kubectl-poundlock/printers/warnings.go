// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers

import "strings"

// Whole joins warnings that continue each other. Poundlock's webhooks split a long one, since an API server cuts it: the first part ends with an ellipsis, the
// second begins with one or with a command, and both have the same rule's id.
func Whole(warnings []string) []string {
	var out []string
	for _, next := range warnings {
		if id := idOf(next); len(out) > 0 && (strings.HasPrefix(next, "…") || strings.HasPrefix(next, "kubectl ")) {
			if first, is := strings.CutSuffix(out[len(out)-1], "…"+id); is {
				out[len(out)-1] = first + " " + strings.TrimPrefix(next, "…")
				continue
			}
		}
		out = append(out, next)
	}
	return out
}

// idOf is the rule's id at the end of a warning, with the space before it; "" for none.
func idOf(warning string) string {
	if i := strings.LastIndexByte(warning, ' '); i >= 0 && ruleID.MatchString(warning[i+1:]) {
		return warning[i:]
	}
	return ""
}
