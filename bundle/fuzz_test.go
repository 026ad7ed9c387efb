// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever a stream is: it is refused, or what is written of it reads the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    x\n    ---\n", bomb(),
		"---\n---\n", "apiVersion: v1\nkind: A\nmetadata:\n  name: ${A:=b}\nx: [1, 1.0, 0x1, yes, ~, !!str 1, &a b, *a]\n",
		"apiVersion: v1\nkind: A\nmetadata: {name: a}\n\"<<\": 1\nx: \"\\x85\\u2028 \\t\\n\"\n", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}",
		"apiVersion: v1\nkind: A\nmetadata: &a {name: a, x: *a}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		all, err := Decode(stream)
		if err != nil {
			return
		}
		written, err := Encode(all)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if diff := cmp.Diff(all, again); diff != "" {
			t.Fatalf("%s\n%s", diff, written)
		}
	})
}

// A text without ${ stays as it is, and a value never becomes more than one scalar.
func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"${A}", "${A:=${B:-x}}", "$${A}", "$$(POD) $", "${ A }", "${A=\"\"}", "${A:={\"a\":1}}", strings.Repeat("${A:=", 20)} {
		f.Add(seed, "x: y\n- z")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		out, err := Evaluate(text, Values{"A": value})
		if !strings.Contains(text, "${") && (err != nil || out != text) {
			t.Fatalf("%q became %q, %v", text, out, err)
		}
		d := Document{map[string]any{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{"name": "a"}, "x": Plain(text)}}
		got, problems := d.Evaluate(Values{"A": value})
		if (err == nil) != (len(problems) == 0) {
			t.Fatalf("%v and %v", err, problems)
		}
		switch got.Object["x"].(type) {
		case map[string]any, []any, Plain:
			t.Fatalf("%q with %q became %v", text, value, got.Object["x"])
		}
	})
}

// Whatever is decompressed is refused, or not larger than it may be.
func FuzzDecompress(f *testing.F) {
	packed, err := compress([]byte("hello"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00, 0x29, 0x00, 0x00, 'h', 'e', 'l', 'l', 'o'})
	large, err := compress(make([]byte, 1<<20))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(large)
	f.Fuzz(func(t *testing.T, packed []byte) {
		const most = 1 << 16
		if content, err := decompress(packed, most); err == nil && len(content) > most {
			t.Fatalf("%d bytes", len(content))
		}
	})
}
