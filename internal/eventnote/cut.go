// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package eventnote

import "strings"

// Longest is how many bytes of a text fit into a note. The API server takes 1,024, and Longest leaves room for words around it.
const Longest = 900

// Cut ends a text at a number of bytes, between two characters.
func Cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + " …"
}
