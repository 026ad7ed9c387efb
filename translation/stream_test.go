// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"io"
	"testing"
)

type source func(p []byte) (int, error)

func (s source) Read(p []byte) (int, error) { return s(p) }

// An HTTP client closes the body of a request that it still reads when an answer comes early. The memory must not go to another body meanwhile.
func TestCloseDuringRead(t *testing.T) {
	var r *Reader
	r = NewReader(source(func(p []byte) (int, error) {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		for range 100 {
			if other := NewReader(nil, nil); &other.piece[0] == &p[0] {
				t.Error("another reader got the memory of one that is read")
				break
			}
		}
		return 0, io.EOF
	}), NewScanner(ToStandard, Objects))
	if _, err := r.Read(make([]byte, 10)); err == nil {
		t.Error("an empty document was read")
	}
}
