// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import "encoding/json"

// frame is an open container: the number of its node, and two bits, isList and isHide.
type frame uint32

const (
	isList  frame = 1
	isHide  frame = 2
	shift         = 2
	outside frame = isList // around the whole document
)

// chosen is an edge that leads to the node in Scanner.choice. Patch sets the choice, for the value of an operation of a JSON patch.
const chosen = 1<<16 - 1

// begin begins the value whose first byte is c, at src[i].
func (s *Scanner) begin(i int, c byte) (state, error) {
	switch c {
	case '"':
		s.name, s.escape, s.text = false, false, i+1
		s.wanted = s.automaton.nodes[s.next].value != Nothing
		return inText, nil
	case '{':
		return atMember, s.open(i, 0)
	case '[':
		err := s.open(i, isList)
		s.next = s.automaton.nodes[s.next].element
		return atElement, err
	case '-':
		return afterMinus, nil
	case '0':
		return afterZero, nil
	case 't':
		s.word = "rue"
		return inWord, nil
	case 'f':
		s.word = "alse"
		return inWord, nil
	case 'n':
		s.word = "ull"
		return inWord, nil
	}
	if c >= '1' && c <= '9' {
		return inInteger, nil
	}
	return atEnd, s.malformed(i, "no value")
}

// open enters the container that begins at src[i].
func (s *Scanner) open(i int, list frame) error {
	if len(s.stack) == maxDepth {
		return s.malformed(i, "more than 10000 levels")
	}
	s.stack = append(s.stack, s.top)
	s.top = frame(s.next)<<shift | list
	if s.next != dead && s.direction == ToStandard && s.automaton.nodes[s.next].hide {
		return s.openHiding(i)
	}
	return nil
}

// openHiding enters a container that has elements which may be left out. The container itself is never left out, so it is held no longer.
func (s *Scanner) openHiding(i int) error {
	s.top |= isHide
	if s.held.depth != 0 && !s.held.dropping {
		if err := s.write(i); err != nil {
			return err
		}
		s.keep()
	}
	s.held.kept = false
	return nil
}

// closed leaves the container that ends at src[i].
func (s *Scanner) closed(i int) (state, error) {
	last := len(s.stack) - 1
	s.top, s.stack = s.stack[last], s.stack[:last]
	return s.after(i + 1)
}

// after ends a value, which ends before src[to].
func (s *Scanner) after(to int) (state, error) {
	if s.held.depth == len(s.stack)+1 {
		if err := s.release(to); err != nil {
			return afterValue, err
		}
	}
	switch {
	case len(s.stack) > 0:
		return afterValue, nil
	case s.frames:
		return atFrame, nil
	}
	return atEnd, nil
}

// ended ends a text that was held: src[i] is the closing quote.
func (s *Scanner) ended(i int) (state, error) {
	text, carried := s.src[s.text:i], len(s.token)
	if carried > 0 {
		s.token = append(s.token, s.src[:i]...)
		text = s.token
	}
	earlier := text[:carried]
	if s.escape {
		text = unescaped(text)
	}
	s.token, s.wanted = s.token[:0], false
	if s.name {
		n := &s.automaton.nodes[s.top>>shift]
		err := s.translate(i, text, earlier, n.keys, n.hide)
		s.next = n.follow(text)
		if s.next == chosen {
			s.next = s.choice
		}
		return atColon, err
	}
	n := &s.automaton.nodes[s.next]
	if n.value == kind && s.first && s.direction == ToStandard {
		s.turn(text)
	}
	if err := s.translate(i, text, earlier, n.value, n.hides); err != nil {
		return afterValue, err
	}
	return s.after(i + 1)
}

// unescaped returns the text between two quotes with its escapes decoded.
func unescaped(text []byte) []byte {
	if plain(text, 0) == len(text) {
		return text
	}
	var out string
	if json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &out) != nil {
		return text
	}
	return []byte(out)
}

// turn switches to the rows of the object's kind. Only the API server sends objects of these kinds, and it writes the kind first. A custom resource whose kind
// has the same name begins with its apiVersion.
func (s *Scanner) turn(kind []byte) {
	for _, k := range s.automaton.nodes[s.top>>shift].kinds {
		if k.name == string(kind) {
			s.top = s.top&(isList|isHide) | frame(k.to)<<shift
		}
	}
}

// translate writes the translation of text, which ends before byte i of the present input. If the translation equals the text, it writes only earlier: the part
// of the text that came with earlier input. The rest is then written with the input that follows. decides means that the text shows whether the element in
// which it stands, which is held back until then, is hidden from the client.
func (s *Scanner) translate(i int, text, earlier []byte, v Value, decides bool) error {
	if decides && s.held.depth != 0 && !s.held.dropping {
		if err := s.decide(text, v); err != nil {
			return err
		}
	}
	becomes, changed := s.direction.value(s.spare[:0], text, v)
	if !changed {
		return s.put(earlier) // the rest of the text is written with what follows it
	}
	s.spare = becomes
	if s.escape {
		becomes = escaped(becomes)
	}
	if err := s.write(s.text); err != nil {
		return err
	}
	s.from = i
	return s.put(becomes)
}

func escaped(text []byte) []byte {
	out, err := json.Marshal(string(text))
	if err != nil {
		return text
	}
	return out[1 : len(out)-1]
}
