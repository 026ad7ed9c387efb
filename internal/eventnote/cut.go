// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package eventnote

import (
	"fmt"
	"strings"
)

// Longest is how many bytes of a text Poundlock puts into an event's note. The API server allows 1,024. The difference leaves room for words around the text.
const Longest = 900

// Cut shortens a text to a number of bytes, without splitting a character, and adds " …".
func Cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + " …"
}

// Join returns words followed by as many items as fit into longest bytes, and by the number of the items that do not fit. The first item is always included,
// cut if necessary.
func Join(words string, items []string, separator string, longest int) string {
	const room = len(" and 1000000 more")
	out := words
	for i, item := range items {
		if i > 0 && len(out)+len(separator)+len(item)+room > longest {
			return fmt.Sprintf("%s and %d more", Cut(out, longest-room), len(items)-i)
		}
		if i > 0 {
			out += separator
		}
		out += item
	}
	return Cut(out, longest)
}
