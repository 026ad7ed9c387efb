// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

// called reads the name that begins at src[i], after its quote. It returns the index and state after what it has read.
func (s *Scanner) called(i int) (int, state) {
	at := s.top >> shift
	if at == dead {
		s.name, s.wanted, s.next = true, false, dead
		return i, inText
	}
	n := &s.automaton.nodes[at]
	if end := plain(s.src, i); end+1 < len(s.src) && s.src[end] == '"' && s.src[end+1] == ':' && n.keys == Nothing {
		s.next = n.follow(s.src[i:end])
		if s.next == chosen {
			s.next = s.choice
		}
		return end + 2, atValue
	}
	s.name, s.wanted, s.escape, s.text = true, true, false, i
	return i, inText
}

// skim passes over a container in which nothing is translated. It returns the index after the container, or an earlier index from which scan has to continue:
// the end of src, white space or an error.
func (s *Scanner) skim(i int, st state) (int, state, error) {
	src, stack, top := s.src, s.stack, s.top
	outer := len(stack)
	s.next = dead
skimming:
	for i < len(src) {
		c := src[i]
		var end int
		switch {
		case st == afterValue && c == ',':
			i, st = i+1, atName
			if top&isList != 0 {
				st = atValue
			}
		case (st == atName || st == atMember) && c == '"':
			if end = whole(src, i+1); end == 0 || end == len(src) || src[end] != ':' {
				break skimming
			}
			i, st = end+1, atValue
			if i+1 < len(src) && src[i] == '{' && src[i+1] == '}' { // an empty object, as most are in managed fields
				i, st = i+2, afterValue
			}
		case c == '}' && (st == afterValue || st == atMember) && top&isList == 0, c == ']' && (st == afterValue || st == atElement) && top&isList != 0:
			i++
			last := len(stack) - 1
			top, stack = stack[last], stack[:last]
			if len(stack) < outer {
				s.stack, s.top = stack, top
				after, err := s.after(i)
				return i, after, err
			}
			st = afterValue
		case st != atValue && st != atElement:
			break skimming
		case (c == '{' || c == '[') && len(stack) < maxDepth:
			stack = append(stack, top)
			i, st, top = i+1, atMember, 0
			if c == '[' {
				st, top = atElement, isList
			}
		default:
			if end = scalar(src, i); end == 0 {
				break skimming
			}
			i, st = end, afterValue
		}
	}
	s.stack, s.top = stack, top
	return i, st, nil
}

// scalar returns the index after the text, word or number at src[i]. It returns 0 if there is none, or if its end is not known yet.
func scalar(src []byte, i int) int {
	switch c := src[i]; {
	case c == '"':
		return whole(src, i+1)
	case c == 't' && i+4 <= len(src) && string(src[i:i+4]) == "true", c == 'n' && i+4 <= len(src) && string(src[i:i+4]) == "null":
		return i + 4
	case c == 'f' && i+5 <= len(src) && string(src[i:i+5]) == "false":
		return i + 5
	case c >= '1' && c <= '9':
		for i < len(src) && src[i] >= '0' && src[i] <= '9' {
			i++
		}
		if i < len(src) && (src[i] == ',' || src[i] == '}' || src[i] == ']') {
			return i
		}
	case c == '0' && i+1 < len(src) && (src[i+1] == ',' || src[i+1] == '}' || src[i+1] == ']'):
		return i + 1
	}
	return 0
}

// whole returns the index after the closing quote of the text that begins at src[i]. It returns 0 if src does not have the end, or if the text has an escape
// with digits.
func whole(src []byte, i int) int {
	for {
		i = plain(src, i)
		if i+1 >= len(src) {
			if i < len(src) && src[i] == '"' {
				return i + 1
			}
			return 0
		}
		if src[i] == '"' {
			return i + 1
		}
		if src[i] != '\\' || !simple[src[i+1]] {
			return 0
		}
		i += 2
	}
}
