// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

// hold is the element that the Scanner holds back because it may have to be left out.
type hold struct {
	depth    int // of the container around the element; 0: nothing is held
	bytes    []byte
	dropping bool // the element is left out
	kept     bool // an earlier element of the same container was not left out
	space    bool // a frame was left out, so the white space after it is, too
}

// hold begins to hold an element that may be left out, together with the comma before it.
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

// decide decides whether the held element is left out. name is the name on which that depends, v its form.
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

// keep writes the held element, as far as it has been read, and stops holding it. The first element that is kept in a container gets no comma.
func (s *Scanner) keep() {
	b := s.held.bytes
	if len(b) > 0 && b[0] == ',' && !s.held.kept {
		b = b[1:]
	}
	s.dst = append(s.dst, b...)
	s.held.depth, s.held.kept, s.held.bytes = 0, true, s.held.bytes[:0]
}

// release ends the held element, which ends before src[to].
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
