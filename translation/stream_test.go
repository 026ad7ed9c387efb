// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
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
			if other := NewReader(nil, nil); &other.window.piece[0] == &p[0] {
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

// What is read ahead comes first, all of it, and its length is known if the document ends there.
func TestLead(t *testing.T) {
	const stored, standard = `{"apiVersion":"cluster.hypershift.openshift.io/v1beta2"}`, `{"apiVersion":"cluster.x-k8s.io/v1beta2"}`
	long := `{"a":"` + strings.Repeat("x", 3*size) + `"}`
	broken := errors.New("the connection broke")
	for _, c := range []struct {
		why    string
		source io.Reader
		want   string
		whole  bool
		lead   error // of Lead
		end    error // of reading, io.EOF included
	}{
		{"whole", strings.NewReader(stored), standard, true, nil, nil},
		{"in pieces", iotest.OneByteReader(strings.NewReader(stored)), standard, true, nil, nil},
		{"with its end", iotest.DataErrReader(strings.NewReader(stored)), standard, true, nil, nil},
		{"as long as is awaited", strings.NewReader(`"` + strings.Repeat("x", 98) + `"`), `"` + strings.Repeat("x", 98) + `"`, true, nil, nil},
		{"one byte more", strings.NewReader(`"` + strings.Repeat("x", 99) + `"`), `"` + strings.Repeat("x", 99) + `"`, false, nil, nil},
		{"long", strings.NewReader(long), long, false, nil, nil},
		{"long, in pieces", iotest.OneByteReader(strings.NewReader(long)), long, false, nil, nil},
		{"long, truncated", strings.NewReader(long[:3*size]), long[:3*size], false, nil, ErrMalformed},
		{"truncated", strings.NewReader(stored[:20]), "", false, ErrMalformed, ErrMalformed},
		{"empty", strings.NewReader(""), "", false, ErrMalformed, ErrMalformed},
		{"broken", io.MultiReader(strings.NewReader(stored[:20]), iotest.ErrReader(broken)), "", false, broken, broken},
		{"broken behind the document", io.MultiReader(strings.NewReader(stored), iotest.ErrReader(broken)), standard, false, broken, broken},
	} {
		t.Run(c.why, func(t *testing.T) {
			r := NewReader(c.source, NewScanner(ToStandard, ClusterAPI))
			length, whole, err := r.Lead(100)
			if whole != c.whole || !errors.Is(err, c.lead) || whole && length != len(c.want) || !whole && err == nil && length <= 100 {
				t.Error(length, whole, err)
			}
			got, err := io.ReadAll(r)
			if !errors.Is(err, c.end) || c.want != "" && string(got) != c.want {
				t.Errorf("%.200q %v", got, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("a closed reader reads: %v", err)
			}
		})
	}
}

// What was not read before Close is in memory that another Reader has by then.
func TestCloseBeforeTheEnd(t *testing.T) {
	r := NewReader(strings.NewReader(`{"a":1}`), NewScanner(ToStandard, Objects))
	if _, whole, err := r.Lead(size); !whole || err != nil {
		t.Fatal(whole, err)
	}
	for range 2 { // HTTP clients and servers may both close a body
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := io.ReadAll(r); len(got) > 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%q %v", got, err)
	}
	if _, _, err := NewReader(strings.NewReader(""), NewScanner(ToStandard, Objects)).Lead(0); !Malformed(err) {
		t.Error(err)
	}
}
