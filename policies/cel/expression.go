// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxDepth is the number of levels of a spec that are compared member by member. The top level is one of them.
const MaxDepth = 10

// quote returns s as a CEL string literal. CEL has the same escapes as JSON.
func quote(s string) string { return strconv.Quote(s) }

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// object returns a CEL expression for a member that has to be an object. The value of the expression is an empty object if the member is absent or null.
func object(of, member string) string {
	return fmt.Sprintf("(%[1]s.?%[2]s.orValue(null) == null ? dyn({}) : %[1]s.%[2]s)", of, member)
}

// list returns a CEL expression for a member that has to be a list. The value of the expression is an empty list if the member is absent or null.
func list(of, member string) string {
	return fmt.Sprintf("(%[1]s.?%[2]s.orValue(null) == null ? dyn([]) : %[1]s.%[2]s)", of, member)
}

// text returns a CEL expression for a member as a string. The value of the expression is an empty string if the member is absent or null.
func text(of, member string) string {
	return fmt.Sprintf("(%[1]s.?%[2]s.orValue(null) == null ? '' : string(%[1]s.%[2]s))", of, member)
}

// differences returns a CEL expression for the paths at which two objects differ, as one string, joined with commas. The string is empty if they do not differ.
// The expression compares as the Go rules do (policies.Comparison, the lock by exception). Absent and null are equal, and an empty value equals both, except
// beneath a field of exact. except is an expression for the names of top-level members that may differ.
//
// The comparison of each level is written out inside the comparison of the level above, because CEL has no recursion.
func differences(path, before, after string, exact [][]string, except string) string {
	keys := fmt.Sprintf("%s.filter(k, !(k in %s))", keysOf(before, after), except)
	return fmt.Sprintf("(%s == %s ? '' : %s)", before, after, differ(exact).members(keys, before, after, quote(path), 1))
}

// differ writes the expressions of a comparison. It has the paths of the fields beneath which an empty value differs from an absent one. A path is the list of
// names from the top level on.
type differ [][]string

// members returns an expression that compares the members of two containers. keys are the keys of both. The expression makes a list of each member that
// differs: the key, the value before, the value after, whether only one of the two is absent, and the path. At the level of depth, the list also has whether
// the member is exact. The variable with that list is m1, m2 and so on, by the level.
func (d differ) members(keys, before, after, path string, level int) string {
	at, more := fmt.Sprintf("m%d", level), ""
	if level == d.depth() {
		more = ", dyn" + d.exact(level)
	}
	return fmt.Sprintf("%[1]s.filter(k, %[2]s[?k] != %[3]s[?k]).map(k, [dyn(k), %[4]s, %[5]s, dyn((%[6]s) != (%[7]s)), dyn(%[8]s + %[9]s)%[10]s])"+
		".map(%[11]s, %[12]s).filter(d, d != '').join(', ')",
		keys, before, after, member(before), member(after), absent(before), absent(after), path, segment("k"), more, at, d.compare(level))
}

// compare returns an expression for the paths at which the two values of one member differ.
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

// depth returns the number of the level directly beneath the longest path of differ.
func (d differ) depth() int {
	longest := 0
	for _, way := range d {
		longest = max(longest, len(way))
	}
	return longest + 1
}

// isExact returns an expression that is true if the member of a level is beneath one of the fields of differ. It returns "" if no field is above that level. At
// the level of depth the result is stored in the list of the member, and all levels beneath read it from there.
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

// member returns an expression for the value of the key k. It is an empty object if the value is absent or null.
func member(of string) string {
	return fmt.Sprintf("(%s ? dyn({}) : %s[k])", absent(of), of)
}

// absent returns an expression that is true if the value of the key k is absent or null.
func absent(of string) string { return fmt.Sprintf("%s[?k].orValue(null) == null", of) }

// empty returns an expression that is true if a value is an empty object or an empty list. The value must not be null.
func empty(v string) string { return fmt.Sprintf("(%[1]s == dyn({}) || %[1]s == dyn([]))", v) }

// alike returns an expression that is true if two values can be compared member by member: they are two objects, or two lists of the same length.
func alike(a, b string) string {
	return fmt.Sprintf("type(%[1]s) == type(%[2]s) && (type(%[1]s) == map || type(%[1]s) == list && size(%[1]s) == size(%[2]s))", a, b)
}

// keysOf returns an expression for the keys of two containers for which alike is true. For objects these are the keys of either object, and for lists all
// indexes.
func keysOf(a, b string) string {
	return fmt.Sprintf("(%[1]s.transformList(k, v, dyn(k)) + (type(%[2]s) == map ? %[2]s.transformList(k, v, !(k in %[1]s), dyn(k)) : []))", a, b)
}

// segment returns an expression for a key as the last part of a path: .name or [key].
func segment(key string) string {
	return fmt.Sprintf("(type(%[1]s) == string && string(%[1]s).matches('^[A-Za-z0-9_]*$') ? '.' + string(%[1]s) : '[' + string(%[1]s) + ']')", key)
}
