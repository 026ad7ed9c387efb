// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// machines is a list of 2,000 Machines, 10 MB, as an API server writes it.
func machines() []byte {
	items := make([]string, 2000)
	for i := range items {
		items[i] = machine(i)
	}
	return []byte(`{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","items":[` + strings.Join(items, ",") +
		`],"kind":"MachineList","metadata":{"continue":"","resourceVersion":"7"}}` + "\n")
}

// only hides everything of a reader but Read, so that io.Copy takes no shortcut.
type only struct{ io.Reader }

// BenchmarkList shows what translation costs beside a copy through the same buffers.
func BenchmarkList(b *testing.B) {
	list := machines()
	buffer := make([]byte, size)
	copied := func(b *testing.B, r io.Reader) {
		if n, err := io.CopyBuffer(only2{io.Discard}, only{r}, buffer); err != nil || n == 0 {
			b.Fatal(n, err)
		}
	}
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(list)))
		for b.Loop() {
			copied(b, bytes.NewReader(list))
		}
	})
	for name, doc := range map[string]Document{"references": ClusterAPI, "metadata": Objects, "definitions": Definitions} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(list)))
			b.ReportAllocs()
			s := NewListScanner(ToStandard, doc)
			for b.Loop() {
				s.Reset()
				r := NewReader(bytes.NewReader(list), s)
				copied(b, r)
				r.Close()
			}
		})
	}
}

// only2 hides everything of a writer but Write.
type only2 struct{ io.Writer }

func BenchmarkSmall(b *testing.B) {
	body := []byte(machine(7))
	out := make([]byte, 0, 2*len(body))
	s := NewScanner(ToStandard, ClusterAPI)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		s.Reset()
		var err error
		if out, err = s.Append(out[:0], body); err == nil {
			_, err = s.Finish(out)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
