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

// differences is the Go rules' lock by exception (policies.Comparison): the paths at which two objects differ, joined
// with commas, no text where they do not. Absent and null are equal, and empty too but beneath a field of exact. The members
// of the top level that the expression except lists may differ.
//
// CEL has no recursion, so that the comparison of one level is written out inside that of the one above.
func differences(path, before, after string, exact [][]string, except string) string {
	keys := fmt.Sprintf("%s.filter(k, !(k in %s))", keysOf(before, after), except)
	return fmt.Sprintf("(%s == %s ? '' : %s)", before, after, differ(exact).members(keys, before, after, quote(path), 1))
}

// differ compares; it holds the ways, from the top level on, to the fields beneath which an empty value is one.
type differ [][]string

// members compares the members of two containers; keys are the keys of both. Those that differ become a list m: the key, the value before
// and after, whether one of them alone is absent, and the path.
func (d differ) members(keys, before, after, path string, level int) string {
	at, more := fmt.Sprintf("m%d", level), ""
	if level == d.depth() {
		more = ", dyn" + d.exact(level)
	}
	return fmt.Sprintf("%[1]s.filter(k, %[2]s[?k] != %[3]s[?k]).map(k, [dyn(k), %[4]s, %[5]s, dyn((%[6]s) != (%[7]s)), dyn(%[8]s + %[9]s)%[10]s])"+
		".map(%[11]s, %[12]s).filter(d, d != '').join(', ')",
		keys, before, after, member(before), member(after), absent(before), absent(after), path, segment("k"), more, at, d.compare(level))
}

// compare names the paths at which the values of one member differ.
func (d differ) compare(level int) string {
	at := func(i int) string { return fmt.Sprintf("m%d[%d]", level, i) }
	before, after, path, exact := at(1), at(2), at(4), d.isExact(level)
	same, deeper := fmt.Sprintf("%s && %s", empty(before), empty(after)), fmt.Sprintf("string(%s)", path)
	if level < MaxDepth {
		deeper = fmt.Sprintf("(%s ? %s : %s)", alike(before, after), d.members(keysOf(before, after), before, after, deeper, level+1), deeper)
	}
	if exact == "" {
		return fmt.Sprintf("(%s ? '' : %s)", same, deeper)
	}
	return fmt.Sprintf("(%[1]s && %[2]s ? string(%[3]s) : %[4]s == %[5]s || !%[1]s && %[6]s ? '' : %[7]s)", exact, at(3), path, before, after, same, deeper)
}

// depth is the level beneath the longest way.
func (d differ) depth() int {
	longest := 0
	for _, way := range d {
		longest = max(longest, len(way))
	}
	return longest + 1
}

// isExact reports whether the member of a level is beneath one of the fields; no text where none is that high up. The lowest level that makes a
// difference keeps the answer for those beneath it.
func (d differ) isExact(level int) string {
	if level >= d.depth() {
		return fmt.Sprintf("m%d[5]", d.depth())
	}
	return d.exact(level)
}

func (d differ) exact(level int) string {
	var ways []string
	for _, way := range d {
		var names []string
		for i, name := range way {
			names = append(names, fmt.Sprintf("m%d[0] == %s", i+1, quote(name)))
		}
		if len(way) < level {
			ways = append(ways, strings.Join(names, " && "))
		}
	}
	if len(ways) == 0 {
		return ""
	}
	return "(" + strings.Join(ways, " || ") + ")"
}

// member is the value of the key k, an empty object where it is absent or null.
func member(of string) string {
	return fmt.Sprintf("(%s ? dyn({}) : %s[k])", absent(of), of)
}

// absent reports whether the key k is absent or null.
func absent(of string) string { return fmt.Sprintf("%s[?k].orValue(null) == null", of) }

// empty reports whether a value, null left out, is an empty object or list.
func empty(v string) string { return fmt.Sprintf("(%[1]s == dyn({}) || %[1]s == dyn([]))", v) }

// alike reports whether two values are compared member by member: two objects, or two lists of one length.
func alike(a, b string) string {
	return fmt.Sprintf("type(%[1]s) == type(%[2]s) && (type(%[1]s) == map || type(%[1]s) == list && size(%[1]s) == size(%[2]s))", a, b)
}

// keysOf lists the keys of two containers that are alike: every key that one of two objects has, or every index.
func keysOf(a, b string) string {
	return fmt.Sprintf("(%[1]s.transformList(k, v, dyn(k)) + (type(%[2]s) == map ? %[2]s.transformList(k, v, !(k in %[1]s), dyn(k)) : []))", a, b)
}

// segment is a key as the end of a path.
func segment(key string) string {
	return fmt.Sprintf("(type(%[1]s) == string && string(%[1]s).matches('^[A-Za-z0-9_]*$') ? '.' + string(%[1]s) : '[' + string(%[1]s) + ']')", key)
}
