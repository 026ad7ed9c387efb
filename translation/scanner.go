// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
)

// Limits of what a Scanner holds. None depends on the length of a body.
const (
	// maxToken is how much of one name or value is held. A longer one has no group's name as a whole.
	maxToken = 64 << 10
	// maxHeld is how much of one object is held until it is known whether it is hidden: more than an API server stores.
	maxHeld = 8 << 20
	// maxDepth is encoding/json's.
	maxDepth = 10000
)

// ErrMalformed is wrapped by each error about a body that is not what it should be, truncated bodies included.
var ErrMalformed = errors.New("malformed body")

// ErrTooLarge is wrapped by an error about one object that exceeds what may be held.
var ErrTooLarge = errors.New("the object is too large to be translated")

// A Scanner translates JSON as it passes. It is not for use by several goroutines.
type Scanner struct {
	direction Direction
	automaton *automaton
	frames    bool

	state  state
	top    frame   // the innermost open container
	stack  []frame // those around it, outermost first; the first is none
	next   uint16  // the node of the value that follows
	name   bool    // the text that is being read is a member's name
	wanted bool    // the text that is being read is held
	escape bool    // and has an escape
	hex    int     // digits of an escape that are missing
	word   string  // what is missing of true, false or null
	token  []byte  // the beginning of held text, from earlier input
	spare  []byte  // for translations
	held   hold
	choice uint16 // where the edge `chosen` leads
	offset int64  // of the input so far
	err    error

	// Of one call of Append:
	dst, src []byte
	from     int // what is before it in src has been written or left out
	text     int // where the held text begins in src
}

// frame is an open container: its node, and two bits.
type frame uint32

const (
	isList  frame = 1
	isHide  frame = 2
	shift         = 2
	outside frame = isList // around the whole document
)

// chosen is an edge to a node that the Scanner's user sets: the value of an operation of a JSON patch.
const chosen = 1<<16 - 1

type state uint8

// The states before inText may have blanks.
const (
	atValue   state = iota // a value must follow
	atElement              // a value or the end of a list
	atName                 // a member's name must follow
	atMember               // a name or the end of an object
	atColon
	afterValue
	atFrame // between frames, or before the first
	atEnd   // after the only document
	inText
	inEscape
	inHex
	inWord
	afterMinus
	afterZero
	inInteger
	afterPoint
	inFraction
	afterE
	afterSign
	inExponent
)

// hold is an element that may be left out.
type hold struct {
	depth    int // of the container that it is in; 0: nothing is held
	bytes    []byte
	dropping bool // it is left out
	kept     bool // an earlier element of the same container was not
	space    bool // what stands between frames goes with the one before it
}

// NewScanner translates one document.
func NewScanner(direction Direction, doc Document) *Scanner {
	s := &Scanner{direction: direction, automaton: doc.automaton(single)}
	s.Reset()
	return s
}

// NewFrameScanner translates the frames of a watch: documents one after the other.
func NewFrameScanner(direction Direction, doc Document) *Scanner {
	s := &Scanner{direction: direction, automaton: doc.automaton(framed), frames: true}
	s.Reset()
	return s
}

// Reset makes the Scanner ready for another body of the same kind.
func (s *Scanner) Reset() {
	s.top, s.stack = outside, s.stack[:0]
	s.state, s.next = atValue, s.automaton.start
	if s.frames {
		s.state = atFrame
	}
	s.name, s.wanted, s.token = false, false, s.token[:0]
	s.held = hold{bytes: s.held.bytes[:0]}
	s.offset, s.err = 0, nil
}

// malformed is the error about the byte at src[i].
func (s *Scanner) malformed(i int, what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrMalformed, what, s.offset+int64(i))
}

// Append translates what is known of src and appends it to dst. After an error the Scanner translates nothing any more.
func (s *Scanner) Append(dst, src []byte) ([]byte, error) {
	if s.err != nil {
		return dst, s.err
	}
	s.dst, s.src, s.from, s.text = dst, src, 0, 0
	if s.err = s.scan(); s.err == nil {
		s.err = s.suspend()
	}
	s.offset += int64(len(src))
	dst, s.dst, s.src = s.dst, nil, nil
	return dst, s.err
}

// Finish is called at the end of the input, and appends what is left. It returns an error if the document is not complete.
func (s *Scanner) Finish(dst []byte) ([]byte, error) {
	if s.err != nil {
		return dst, s.err
	}
	switch s.state {
	case afterZero, inInteger, inFraction, inExponent:
		if len(s.stack) == 0 {
			return dst, nil
		}
	case atFrame:
		return dst, nil
	case atEnd:
		return dst, nil
	}
	s.err = fmt.Errorf("%w: it ends in the middle, after %d bytes", ErrMalformed, s.offset)
	return dst, s.err
}

// write passes on src[from:to].
func (s *Scanner) write(to int) error {
	err := s.put(s.src[s.from:to])
	s.from = to
	return err
}

func (s *Scanner) put(b []byte) error {
	switch {
	case s.held.depth == 0:
		s.dst = append(s.dst, b...)
	case s.held.dropping:
	case len(s.held.bytes)+len(b) > maxHeld:
		return fmt.Errorf("%w: more than %d bytes without a name", ErrTooLarge, maxHeld)
	default:
		s.held.bytes = append(s.held.bytes, b...)
	}
	return nil
}

// suspend writes what is before the end of the input, but for held text.
func (s *Scanner) suspend() error {
	if !s.wanted {
		return s.write(len(s.src))
	}
	if err := s.write(s.text); err != nil {
		return err
	}
	if len(s.token)+len(s.src)-s.text > maxToken {
		return s.giveUp()
	}
	s.token = append(s.token, s.src[s.text:]...)
	return nil
}

// giveUp passes on text that is too long to have a group's name, but prose, which is translated in pieces.
func (s *Scanner) giveUp() error {
	text := append(s.token, s.src[s.text:]...)
	s.token = text[:0]
	if !s.name && s.automaton.nodes[s.next].value == Prose {
		if cut := divide(text); cut > 0 {
			piece, changed := s.direction.prose(nil, text[:cut])
			if !changed {
				piece = text[:cut]
			}
			err := s.put(piece)
			s.token = append(s.token, text[cut:]...)
			return err
		}
	}
	s.wanted = false
	return s.put(text)
}

// divide finds where prose may be divided: not in a name, nor in an escape.
func divide(text []byte) int {
	for cut := len(text) - 512; cut > 6; cut-- {
		if !label(text[cut]) && text[cut] != '.' && text[cut] != '/' && bytes.IndexByte(text[cut-6:cut+1], '\\') < 0 {
			return cut
		}
	}
	return 0
}

// scan reads all of src, and stops at what is not JSON.
func (s *Scanner) scan() (err error) {
	st := s.state
	for i := 0; i < len(s.src) && err == nil; {
		c := s.src[i]
		if st < inText && c <= ' ' && blank(c) {
			i++
			if st == atFrame && s.held.space {
				s.from = i
			}
			continue
		}
		switch st {
		case atName, atMember:
			i, st, err = s.member(i, st)
		case atValue, atElement:
			i, st, err = s.value(i, st)
		case atColon:
			if c != ':' {
				return s.malformed(i, "no colon after a member's name")
			}
			i, st = i+1, atValue
		case afterValue:
			i, st, err = s.between(i)
		case atFrame:
			i, st, err = s.frame(i)
		case atEnd:
			return s.malformed(i, "something after the document")
		case inText:
			i, st, err = s.inText(i)
		case inEscape, inHex:
			i, st, err = s.inEscape(i, st)
		case inWord:
			i, st, err = s.inWord(i)
		default:
			var more bool
			if st, more = number(st, c); more {
				i++
			} else if st != afterValue {
				return s.malformed(i, "an unfinished number")
			} else {
				st, err = s.after(i)
			}
		}
	}
	s.state = st
	return err
}

// value reads what may stand for a value, or the end of a list.
func (s *Scanner) value(i int, st state) (int, state, error) {
	c := s.src[i]
	if st == atElement {
		if c == ']' {
			st, err := s.closed(i)
			return i + 1, st, err
		}
		if s.top&isHide != 0 {
			if err := s.hold(i); err != nil {
				return i, st, err
			}
		}
	}
	if c == '"' && s.automaton.nodes[s.next].value == Nothing {
		if end := whole(s.src, i+1); end > 0 {
			st, err := s.after(end)
			return end, st, err
		}
	}
	st, err := s.begin(i, c)
	i++
	if err == nil && s.top>>shift == dead && (st == atMember || st == atElement) {
		return s.skim(i, st)
	}
	return i, st, err
}

// member reads a name, or the end of an object. Where the name leads to text, a number or a word that no row is about, it goes on behind that, from name to name.
func (s *Scanner) member(i int, st state) (int, state, error) {
	c := s.src[i]
	if c == '}' && st == atMember {
		st, err := s.closed(i)
		return i + 1, st, err
	}
	if c != '"' {
		return i, st, s.malformed(i, "no member's name")
	}
	if s.top&isHide != 0 {
		if st == atMember {
			if err := s.hold(i); err != nil {
				return i, st, err
			}
		}
		i, st = s.called(i + 1)
		return i, st, nil
	}
	for src := s.src; ; {
		i, st = s.called(i + 1)
		if st != atValue || s.automaton.nodes[s.next].value != Nothing || i == len(src) {
			return i, st, nil
		}
		end := scalar(src, i)
		switch {
		case end == 0:
			return i, atValue, nil
		case end+1 < len(src) && src[end] == ',' && src[end+1] == '"':
			i = end + 1
		default:
			return end, afterValue, nil
		}
	}
}

// between reads what stands behind a value in a container.
func (s *Scanner) between(i int) (int, state, error) {
	list := s.top&isList != 0
	switch c := s.src[i]; {
	case c == ',':
		if s.top&isHide != 0 {
			if err := s.hold(i); err != nil {
				return i, afterValue, err
			}
		}
		if !list {
			return i + 1, atName, nil
		}
		s.next = s.automaton.nodes[s.top>>shift].element
		return i + 1, atValue, nil
	case c == '}' && !list, c == ']' && list:
		st, err := s.closed(i)
		return i + 1, st, err
	}
	return i, afterValue, s.malformed(i, "neither a comma nor the end after a value")
}

// frame begins a frame, which may have to be left out.
func (s *Scanner) frame(i int) (int, state, error) {
	s.held.space = false
	s.next = s.automaton.start
	if s.automaton.hideFrames && s.direction == ToStandard {
		if err := s.hold(i); err != nil {
			return i, atFrame, err
		}
	}
	return s.value(i, atValue)
}

// inText goes on to the end of a text, or to an escape.
func (s *Scanner) inText(i int) (int, state, error) {
	i = plain(s.src, i)
	if i == len(s.src) {
		return i, inText, nil
	}
	var st state
	var err error
	switch c := s.src[i]; {
	case c == '\\':
		st, s.escape = inEscape, true
	case c != '"':
		err = s.malformed(i, "a control character in text")
	case s.wanted:
		st, err = s.ended(i)
	case s.name:
		st = atColon
	default:
		st, err = s.after(i + 1)
	}
	return i + 1, st, err
}

// inEscape reads one byte behind a backslash.
func (s *Scanner) inEscape(i int, st state) (int, state, error) {
	c := s.src[i]
	switch {
	case st == inEscape && c == 'u':
		st, s.hex = inHex, 4
	case st == inEscape && simple[c]:
		st = inText
	case st == inHex && hexadecimal(c):
		if s.hex--; s.hex == 0 {
			st = inText
		}
	default:
		return i, st, s.malformed(i, "an unknown escape")
	}
	return i + 1, st, nil
}

// inWord reads one byte of true, false or null.
func (s *Scanner) inWord(i int) (int, state, error) {
	if s.src[i] != s.word[0] {
		return i, inWord, s.malformed(i, "an unknown word")
	}
	if s.word = s.word[1:]; s.word != "" {
		return i + 1, inWord, nil
	}
	st, err := s.after(i + 1)
	return i + 1, st, err
}

// called reads the name that begins at src[i], behind the quote.
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

// skim passes over a container in which nothing is translated, and is behind it or at what it leaves to scan: the end of src, a blank, an error.
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
			if i+1 < len(src) && src[i] == '{' && src[i+1] == '}' { // as most in managed fields
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

// scalar is the end of the text, word or number at src[i], or 0 if that is not known yet, or is none.
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

// whole is the index behind the text that begins at src[i], its quote included, or 0 if it has no end here or an escape with digits.
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

// begin begins the value whose first byte is c.
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

// open goes into a container.
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

// openHiding goes into a container some of whose elements may be left out. It is never left out itself.
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

// after is behind a value that ends before src[to].
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

// ended is behind held text: src[i] is the quote.
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
	if n.value == kind {
		s.turn(text)
	}
	if err := s.translate(i, text, earlier, n.value, n.hides); err != nil {
		return afterValue, err
	}
	return s.after(i + 1)
}

// turn goes on with the rows of the kind that an object has.
func (s *Scanner) turn(kind []byte) {
	for _, k := range s.automaton.nodes[s.top>>shift].kinds {
		if k.name == string(kind) {
			s.top = s.top&(isList|isHide) | frame(k.to)<<shift
		}
	}
}

// translate writes the translation of held text, if it has one. What came with earlier input has not been written yet.
func (s *Scanner) translate(i int, text, earlier []byte, v Value, decides bool) error {
	if decides && s.held.depth != 0 && !s.held.dropping {
		if err := s.decide(text, v); err != nil {
			return err
		}
	}
	becomes, changed := s.direction.value(s.spare[:0], text, v)
	if !changed {
		return s.put(earlier) // the rest is written with what follows
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

// hold begins an element that may be left out, with the comma before it.
func (s *Scanner) hold(i int) error {
	if s.held.dropping {
		return nil
	}
	if err := s.write(i); err != nil {
		return err
	}
	s.held.depth, s.held.dropping, s.held.bytes = len(s.stack)+1, false, s.held.bytes[:0]
	return nil
}

// decide is called where the name stands that decides about the held element.
func (s *Scanner) decide(name []byte, v Value) error {
	if _, platform := ToPrivate.value(nil, name, v); platform {
		s.held.dropping, s.held.bytes = true, s.held.bytes[:0]
		return nil
	}
	if err := s.write(s.text); err != nil {
		return err
	}
	s.keep()
	return nil
}

// keep passes on the held element, as far as it has been read. The first that is kept has no comma before it.
func (s *Scanner) keep() {
	b := s.held.bytes
	if len(b) > 0 && b[0] == ',' && !s.held.kept {
		b = b[1:]
	}
	s.dst = append(s.dst, b...)
	s.held.depth, s.held.kept, s.held.bytes = 0, true, s.held.bytes[:0]
}

// release ends the held element, whose last byte is before src[to].
func (s *Scanner) release(to int) error {
	if err := s.write(to); err != nil {
		return err
	}
	if s.held.dropping {
		s.held.space = s.frames && s.held.depth == 1
		s.held.depth, s.held.dropping = 0, false
		return nil
	}
	s.keep()
	return nil
}

// number goes on with a number, or ends it with afterValue. Any other state without more is an error.
func number(st state, c byte) (state, bool) {
	digit := c >= '0' && c <= '9'
	switch st {
	case afterMinus:
		if c == '0' {
			return afterZero, true
		}
		return inInteger, digit
	case inInteger, afterZero:
		switch {
		case digit && st == inInteger:
			return inInteger, true
		case c == '.':
			return afterPoint, true
		case c == 'e' || c == 'E':
			return afterE, true
		}
	case afterPoint:
		return inFraction, digit
	case inFraction:
		switch {
		case digit:
			return inFraction, true
		case c == 'e' || c == 'E':
			return afterE, true
		}
	case afterE:
		if c == '+' || c == '-' {
			return afterSign, true
		}
		return inExponent, digit
	case afterSign:
		return inExponent, digit
	case inExponent:
		if digit {
			return inExponent, true
		}
	}
	return afterValue, false
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// simple are the bytes that make an escape with one backslash.
var simple = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// plain is the index of the next byte that may not be passed over in text, or the length of src: a quote, a backslash, a control character. It asks about
// eight bytes at a time: of the two conditions each sets the highest bit of the first byte that meets it. The bit in which a quote differs from a blank is turned
// first: then a quote and the control characters are what is not above a blank.
func plain(src []byte, i int) int {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(src); i += 8 {
		w := binary.LittleEndian.Uint64(src[i:])
		quote, backslash := w^ones*('"'^' '), w^ones*'\\'
		if found := ((quote-ones*(' '+1))&^quote | (backslash-ones)&^backslash) & highest; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(src) && src[i] != '"' && src[i] != '\\' && src[i] >= ' ' {
		i++
	}
	return i
}

// unescaped is the text between two quotes without escapes.
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

func escaped(text []byte) []byte {
	out, err := json.Marshal(string(text))
	if err != nil {
		return text
	}
	return out[1 : len(out)-1]
}
