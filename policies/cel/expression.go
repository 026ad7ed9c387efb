// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxDepth is how many levels of a spec are compared member by member, the top one included.
const MaxDepth = 10

// quote writes a CEL string literal; JSON's escapes are CEL's.
func quote(s string) string { return strconv.Quote(s) }

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// object is a member that is an object, an empty one where it is absent or null.
func object(of, member string) string {
	return fmt.Sprintf("(%[1]s.?%[2]s.orValue(null) == null ? dyn({}) : %[1]s.%[2]s)", of, member)
}

// list is a member that is a list, an empty one where it is absent or null.
func list(of, member string) string {
	return fmt.Sprintf("(%[1]s.?%[2]s.orValue(null) == null ? dyn([]) : %[1]s.%[2]s)", of, member)
}

// text is a member that is a text, an empty one where it is absent or null.
func text(of, member string) string {
	return fmt.Sprintf("(%[1]s.?%[2]s.orValue(null) == null ? '' : string(%[1]s.%[2]s))", of, member)
}

// differences is the Go rules' lock by exception (policies.Differences): the paths at which two objects differ, joined
// with commas, no text where they do not. Absent, null and empty are equal. The members of the top level that are named
// in except may differ.
//
// CEL has no recursion, so that the comparison of one level is written out inside that of the one above.
func differences(path, before, after string, except ...string) string {
	keys := fmt.Sprintf("%s.filter(k, !(k in %s))", keysOf(before, after), quoteAll(except))
	return fmt.Sprintf("(%s == %s ? '' : %s)", before, after, members(keys, before, after, quote(path), 1))
}

// members compares the members of two containers of which keys are the keys of both.
func members(keys, before, after, path string, level int) string {
	at := fmt.Sprintf("m%d", level)
	return fmt.Sprintf("%s.map(k, [dyn(k), dyn(%s), dyn(%s)]).map(%s, %s).filter(d, d != '').join(', ')",
		keys, member(before), member(after), at, compare(level, path+" + "+segment(at)))
}

// compare names the paths at which the values of one member differ: m[1] before, m[2] after.
func compare(level int, path string) string {
	before, after := fmt.Sprintf("m%d[1]", level), fmt.Sprintf("m%d[2]", level)
	deeper := path
	if level < MaxDepth {
		deeper = fmt.Sprintf("(%s ? %s : %s)", alike(before, after), members(keysOf(before, after), before, after, path, level+1), path)
	}
	return fmt.Sprintf("(%s == %s || %s && %s ? '' : %s)", before, after, empty(before), empty(after), deeper)
}

// member is the value of the key k, an empty object where it is absent or null.
func member(of string) string {
	return fmt.Sprintf("(%[1]s[?k].orValue(null) == null ? dyn({}) : %[1]s[k])", of)
}

// empty tells whether a value, null left out, is an empty object or list.
func empty(v string) string { return fmt.Sprintf("(%[1]s == dyn({}) || %[1]s == dyn([]))", v) }

// alike tells whether two values are compared member by member: two objects, or two lists of one length.
func alike(a, b string) string {
	return fmt.Sprintf("type(%[1]s) == type(%[2]s) && (type(%[1]s) == map || type(%[1]s) == list && size(%[1]s) == size(%[2]s))", a, b)
}

// keysOf lists the keys of two containers that are alike: every key that one of two objects has, or every index.
func keysOf(a, b string) string {
	return fmt.Sprintf("(%[1]s.transformList(k, v, dyn(k)) + (type(%[2]s) == map ? %[2]s.transformList(k, v, !(k in %[1]s), dyn(k)) : []))", a, b)
}

// segment is a member's key as the end of a path.
func segment(at string) string {
	return fmt.Sprintf("(type(%[1]s[0]) == string && string(%[1]s[0]).matches('^[A-Za-z0-9_]*$') ? '.' + string(%[1]s[0]) : '[' + string(%[1]s[0]) + ']')", at)
}
