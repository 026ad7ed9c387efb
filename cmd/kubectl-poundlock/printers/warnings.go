// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers

import "strings"

// Whole joins the parts of each warning that Poundlock's webhooks have split. They split a long warning, because an API server cuts it. The first part ends
// with an ellipsis. The second part begins with one or with a command, and both parts have the same rule's id.
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

// idOf returns the rule's id at the end of a warning, with the space before the id; "" for none.
func idOf(warning string) string {
	if i := strings.LastIndexByte(warning, ' '); i >= 0 && ruleID.MatchString(warning[i+1:]) {
		return warning[i:]
	}
	return ""
}
