// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	corev1 "k8s.io/api/core/v1"
)

const metadataOfAWS = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 2, minor: 13, contract: v1beta1}\n"

// bundleOf makes a bundle of ConfigMaps with so many bytes each, which compress well or not at all.
func bundleOf(random bool, sizes ...int) Bundle {
	b := Bundle{Provider: aws, Contract: "v1beta1", Metadata: []byte(metadataOfAWS),
		Images: []Image{{Kind: "Deployment", Workload: "m", Container: "manager", Key: "k"}}, Annotations: map[string]string{"a": "b"}}
	b.Provider.Platforms = []string{"AWS"}
	source := rand.New(rand.NewSource(1))
	for i, size := range sizes {
		value := bytes.Repeat([]byte("x"), size)
		if random {
			const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"
			for at := range value {
				value[at] = letters[source.Intn(len(letters))]
			}
		}
		b.Documents = append(b.Documents, Document{map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("c%02d", i), "namespace": Namespace}, "data": map[string]any{"k": string(value)},
		}})
	}
	return b
}

func TestPack(t *testing.T) {
	const kib = 1024
	for name, c := range map[string]struct {
		in         Bundle
		packing    Packing
		maps       int
		compressed bool
		tooLarge   bool
	}{
		"small is plain":                        {in: bundleOf(true, 100*kib), packing: Packing{Format: Auto}, maps: 1},
		"what kubectl cannot apply is gzip":     {in: bundleOf(false, 262_000), packing: Packing{Format: Auto}, maps: 1, compressed: true},
		"gzip where it is asked for":            {in: bundleOf(false, 10), packing: Packing{Format: Gzip}, maps: 1, compressed: true},
		"plain where it is asked for":           {in: bundleOf(true, 900*kib), packing: Packing{Format: PlainText}, maps: 1},
		"plain that is too large is shards":     {in: bundleOf(true, 700*kib, 700*kib), packing: Packing{Format: PlainText}, maps: 2},
		"gzip that is too large is shards":      {in: bundleOf(true, 500*kib, 500*kib, 500*kib), packing: Packing{Format: Auto}, maps: 2, compressed: true},
		"it is an error without shards":         {in: bundleOf(true, 700*kib, 700*kib), packing: Packing{Format: PlainText, Whole: true}, tooLarge: true},
		"one object that fits nowhere":          {in: bundleOf(true, 1100*kib, 10), packing: Packing{Format: PlainText}, tooLarge: true},
		"one object that fits nowhere, as gzip": {in: bundleOf(true, 1420*kib, 10), packing: Packing{Format: Auto}, tooLarge: true},
		"gzip is an error without shards":       {in: bundleOf(true, 720*kib, 720*kib), packing: Packing{Format: Gzip, Whole: true}, tooLarge: true},
		"more than an installer reads":          {in: bundleOf(false, MaxContent), packing: Packing{Format: Auto}, tooLarge: true},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := c.in.Pack(c.packing)
			var tooLarge *TooLarge
			if errors.As(err, &tooLarge) != c.tooLarge {
				t.Fatal(err)
			}
			if c.tooLarge {
				if tooLarge.Actual <= tooLarge.Most || len(tooLarge.Largest) == 0 || !strings.Contains(tooLarge.Error(), "ConfigMap/c00") || len(made) > 0 {
					t.Error(tooLarge, len(made))
				}
				if tooLarge.Format == Gzip && strings.Contains(tooLarge.Remedy, "use gzip") {
					t.Errorf("it is gzip, and the remedy is to %s", tooLarge.Remedy)
				}
				return
			}
			if len(made) != c.maps {
				t.Fatalf("%d ConfigMaps, want %d", len(made), c.maps)
			}
			if made[0].Name != aws.Label() {
				t.Errorf("the first is %s: the ConfigMap of an earlier release would stay", made[0].Name)
			}
			again, _ := c.in.Pack(c.packing)
			if !reflect.DeepEqual(made, again) { // of megabytes; cmp compares them ten times as slowly
				t.Error("packed again, it is different")
			}
			var pieces []Piece
			for _, cm := range made {
				if Size(cm) > MaxConfigMap || (cm.Annotations[CompressedAnnotation] == "true") != c.compressed {
					t.Errorf("%s has %d bytes, %v", cm.Name, Size(cm), cm.Annotations)
				}
				piece, err := Unpack(cm)
				if err != nil {
					t.Fatal(err)
				}
				pieces = append([]Piece{piece}, pieces...) // in another order
			}
			back, err := Merge(pieces)
			if err != nil {
				t.Fatal(err)
			}
			want := c.in
			want.Annotations = nil
			if !reflect.DeepEqual(want, back) {
				t.Error("it does not come back as it was:", back.Provider, len(back.Documents))
			}
		})
	}
}

// Each ConfigMap has the mark of its release, and the same content has the same hash in each release.
func TestReleaseMarksEachConfigMap(t *testing.T) {
	b := bundleOf(true, 700*1024, 700*1024)
	unmarked, err := b.Pack(Packing{Format: PlainText})
	if err != nil {
		t.Fatal(err)
	}
	b.Release = "4.21"
	made, err := b.Pack(Packing{Format: PlainText})
	if err != nil || len(made) != len(unmarked) || len(made) < 2 {
		t.Fatal(len(made), err)
	}
	for i, cm := range made {
		if cm.Annotations[ReleaseAnnotation] != "4.21" || cm.Annotations[HashAnnotation] != unmarked[i].Annotations[HashAnnotation] {
			t.Errorf("%s: %v", cm.Name, cm.Annotations)
		}
		if _, has := unmarked[i].Annotations[ReleaseAnnotation]; has {
			t.Errorf("%s has a mark that nobody asked for", cm.Name)
		}
	}
}

// What is plain fits into the annotation in which a plain kubectl apply keeps the whole object.
func TestPlainFitsKubectlApply(t *testing.T) {
	smallest, largest := 200_000, 262_144
	for smallest+1 < largest { // the largest that is plain
		middle := (smallest + largest) / 2
		made, err := bundleOf(true, middle).Pack(Packing{})
		if err != nil {
			t.Fatal(err)
		}
		if made[0].Annotations[CompressedAnnotation] == "" {
			smallest = middle
		} else {
			largest = middle
		}
	}
	made, _ := bundleOf(true, smallest).Pack(Packing{})
	whole, err := json.Marshal(made[0])
	if err != nil {
		t.Fatal(err)
	}
	size := len(corev1.LastAppliedConfigAnnotation) + len(whole) + 1
	for key, value := range made[0].Annotations {
		size += len(key) + len(value)
	}
	if size > MaxApplied || size < MaxApplied-4 {
		t.Errorf("the largest that is plain has %d bytes of annotations once applied, want close to %d", size, MaxApplied)
	}
}

func TestConfigMapIsExactlyFull(t *testing.T) {
	b := bundleOf(true, 1_000_000)
	one, err := b.Pack(Packing{Format: PlainText, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	missing := MaxConfigMap - Size(one[0])
	for more, fits := range map[int]bool{missing: true, missing + 1: false} {
		_, err := bundleOf(true, 1_000_000+more).Pack(Packing{Format: PlainText, Whole: true})
		if (err == nil) != fits {
			t.Errorf("%d bytes more: %v", more, err)
		}
	}
}

func TestUnpack(t *testing.T) {
	good := func() *corev1.ConfigMap {
		made, err := bundleOf(false, 10).Pack(Packing{Format: Gzip})
		if err != nil {
			t.Fatal(err)
		}
		return made[0]
	}
	bomb, _ := compress(make([]byte, MaxContent+1))
	zstdBomb := zstdOf(t, make([]byte, MaxContent+1))
	for name, c := range map[string]struct {
		change func(*corev1.ConfigMap)
		err    string
	}{
		"as it is":                      {func(*corev1.ConfigMap) {}, ""},
		"of an earlier release":         {func(cm *corev1.ConfigMap) { earlier(t, cm) }, ""},
		"gzip that is a bomb":           {func(cm *corev1.ConfigMap) { cm.BinaryData[componentsKey] = bomb }, "more than 16777216 bytes"},
		"zstd that is a bomb":           {func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{zstdKey: zstdBomb} }, "decompress"},
		"something else":                {func(cm *corev1.ConfigMap) { cm.BinaryData[componentsKey] = []byte("hello") }, "gzip"},
		"gzip that was cut off":         {func(cm *corev1.ConfigMap) { cm.BinaryData[componentsKey] = cm.BinaryData[componentsKey][:40] }, "EOF"},
		"plain beside gzip":             {func(cm *corev1.ConfigMap) { cm.Data[componentsKey] = "x" }, "exactly one"},
		"nothing":                       {func(cm *corev1.ConfigMap) { cm.BinaryData = nil }, "exactly one"},
		"another label":                 {func(cm *corev1.ConfigMap) { cm.Labels[ProviderLabel] = "aws" }, "correct one of the labels"},
		"no version":                    {func(cm *corev1.ConfigMap) { delete(cm.Labels, VersionLabel) }, "version"},
		"a shard of none":               {func(cm *corev1.ConfigMap) { cm.Annotations[ShardAnnotation] = "0/0" }, "K/N"},
		"a shard beyond the last":       {func(cm *corev1.ConfigMap) { cm.Annotations[ShardAnnotation] = "3/2" }, "K/N"},
		"a list of images that is none": {func(cm *corev1.ConfigMap) { cm.Data[imagesKey] = "{" }, "data.images"},
	} {
		t.Run(name, func(t *testing.T) {
			cm := good()
			c.change(cm)
			piece, err := Unpack(cm)
			if !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			if err == nil {
				if _, err := Merge([]Piece{piece}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func zstdOf(t *testing.T, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(content, nil)
}

func earlier(t *testing.T, cm *corev1.ConfigMap) {
	content, err := decompress(cm.BinaryData[componentsKey], MaxContent)
	if err != nil {
		t.Fatal(err)
	}
	cm.BinaryData = map[string][]byte{zstdKey: zstdOf(t, content)}
	delete(cm.Data, imagesKey)
	cm.Annotations = nil
}

func TestMerge(t *testing.T) {
	made, err := bundleOf(true, 600_000, 600_000, 600_000).Pack(Packing{Format: PlainText})
	if err != nil {
		t.Fatal(err)
	}
	pieces := func() []Piece {
		var out []Piece
		for _, cm := range made {
			p, err := Unpack(cm)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p)
		}
		return out
	}
	if len(pieces()) < 2 {
		t.Fatal("no shards")
	}
	whole := func(p Piece, name, version string) Piece {
		p.ConfigMap, p.Provider.Version, p.Shard, p.Shards = name, version, 1, 1
		return p
	}
	for name, c := range map[string]struct {
		change func([]Piece) []Piece
		err    string
	}{
		"all":            {func(p []Piece) []Piece { return p }, ""},
		"one is missing": {func(p []Piece) []Piece { return p[1:] }, "number 1 is missing"},
		"one is twice":   {func(p []Piece) []Piece { return append(p, p[0]) }, "both have the same part"},
		"two versions": {func(p []Piece) []Piece {
			return []Piece{whole(p[0], "a", "v2.13.0"), whole(p[0], "b", "v2.13.1")}
		}, "a and b have two versions of infrastructure-aws, v2.13.0 and v2.13.1: delete the ConfigMap that the release does not have"},
		"one version twice": {func(p []Piece) []Piece {
			b := whole(p[0], "b", "v2.13.0")
			b.Hash = "sha256:x"
			return []Piece{whole(p[0], "a", "v2.13.0"), b}
		}, "a and b have different content for infrastructure-aws v2.13.0: delete the ConfigMap that the release does not have"},
		"the first shards of another version": {func(p []Piece) []Piece {
			return append(p[1:], whole(p[0], "a", "v2.12.0"))
		}, "v2.12.0 in a, and v2.13.0 in infrastructure-aws.2, infrastructure-aws.3 (number 1 is missing): waiting"},
		"a shard of another version":   {func(p []Piece) []Piece { p[1].Provider.Version = "v2.13.1"; return p }, "v2.13.1 in infrastructure-aws.2 (numbers 1, 3 are missing): waiting"},
		"a shard of other content":     {func(p []Piece) []Piece { p[1].Hash = "sha256:x"; return p }, "different content"},
		"a shard of an earlier number": {func(p []Piece) []Piece { p[2].Shards = 4; return p }, "different content"},
		"changed by hand": {func(p []Piece) []Piece {
			p[0].Components = append(p[0].Components, "# more\n"...)
			return p
		}, "somebody changed the content"},
		"without a hash": {func(p []Piece) []Piece {
			for i := range p {
				p[i].Hash = ""
			}
			return p
		}, HashAnnotation},
		"no pieces": {func([]Piece) []Piece { return nil }, "no ConfigMap"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Merge(c.change(pieces()))
			if !strings.Contains(problem(err), c.err) || (c.err == "") != (err == nil) {
				t.Errorf("%v, want %q", err, c.err)
			}
			var incomplete *Incomplete
			if errors.As(err, &incomplete) != (name == "one is missing") {
				t.Errorf("%v", err)
			}
			var overlap *Overlap
			if errors.As(err, &overlap) != strings.Contains(name, " shard") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestRemnant(t *testing.T) {
	shards, err := bundleOf(true, 600_000, 600_000, 600_000).Pack(Packing{Format: PlainText})
	if err != nil {
		t.Fatal(err)
	}
	hash := shards[0].Annotations[HashAnnotation]
	one, err := bundleOf(false).Pack(Packing{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		all  []*corev1.ConfigMap
		hash string
		want []int
	}{
		"all":                   {shards, hash, nil},
		"one is missing":        {shards[1:], hash, []int{1}},
		"two are missing":       {shards[1:2], hash, []int{1, 3}},
		"none is there":         {nil, hash, nil},
		"of other content":      {shards[1:], "sha256:x", nil},
		"no content is known":   {shards[1:], "", nil},
		"beside another":        {append(one, shards[1:]...), hash, nil},
		"one is twice":          {[]*corev1.ConfigMap{shards[1], shards[1]}, hash, nil},
		"a whole one, the same": {one, one[0].Annotations[HashAnnotation], nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			if e := Remnant(c.all, c.hash); e != nil {
				got = e.Missing
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRender(t *testing.T) {
	const sum = "quay.io/a@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	in := doc("Deployment", "name: m, namespace: openshift-cluster-api",
		"spec: {template: {spec: {containers: [{name: manager, image: 'registry.invalid/k:injected', args: ['--x=${X}']}]}}}")
	b := bundleOf(false)
	b.Documents = decoded(t, in+doc("Secret", "name: s", "data: {a: '${UNKNOWN}'}"))
	before := encoded(t, b.Documents)
	got, dropped, err := b.Render(Needs{Values: Values{"X": "1"}, References: References{"k": sum}})
	if err != nil {
		t.Fatal(err)
	}
	want := decoded(t, strings.NewReplacer("registry.invalid/k:injected", sum, "${X}", "1").Replace(in))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if encoded(t, b.Documents) != before {
		t.Error("the bundle itself was changed")
	}
	if len(dropped) != 1 || dropped[0].Object != "Secret/s" {
		t.Error(dropped)
	}
	_, _, err = b.Render(Needs{})
	for _, part := range []string{"variable X", "no image with the key k"} {
		if !strings.Contains(problem(err), part) {
			t.Errorf("%v, want %q, too", err, part)
		}
	}
}

// A provider may have the name of another one and a number: no shard is named as that provider is.
func TestShardsHaveNamesOfTheirOwn(t *testing.T) {
	const kib = 1024
	b := bundleOf(true, 700*kib, 700*kib)
	shards, err := b.Pack(Packing{Format: PlainText})
	if err != nil || len(shards) != 2 {
		t.Fatal(len(shards), err)
	}
	other := b.Provider
	other.Name += "-2"
	if shards[0].Name != b.Provider.Label() || shards[1].Name == other.Label() {
		t.Errorf("%s and %s, beside a provider %s", shards[0].Name, shards[1].Name, other.Label())
	}
}
