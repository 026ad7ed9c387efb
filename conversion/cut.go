// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

// Cut shortens a text to at most n characters (not bytes: a CRD's maxLength counts characters). A shortened text ends with an ellipsis.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if all := []rune(text); len(all) > n {
		return string(all[:n-1]) + "…"
	}
	return text
}
