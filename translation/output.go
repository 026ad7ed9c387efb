// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"fmt"
)

// write passes on src[from:to], unchanged.
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
		return fmt.Errorf("%w: more than %d bytes precede the name that decides whether the object is hidden from the client", ErrTooLarge, maxHeld)
	default:
		s.held.bytes = append(s.held.bytes, b...)
	}
	return nil
}

// suspend ends a call of Append: it writes everything up to the end of src, except for a text that is held.
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

// giveUp writes a held text untranslated, because it is too long for a group's name. Prose is the exception: it is translated in pieces.
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
	if s.name { // no row has a name of that length
		s.next = s.automaton.nodes[s.top>>shift].other
	}
	return s.put(text)
}

// divide returns an index at which prose may be divided, because it is neither in a name nor in an escape; 0 if there is none.
func divide(text []byte) int {
	for cut := len(text) - 512; cut > 6; cut-- {
		if !label(text[cut]) && text[cut] != '.' && text[cut] != '/' && bytes.IndexByte(text[cut-6:cut+1], '\\') < 0 {
			return cut
		}
	}
	return 0
}
