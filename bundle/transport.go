// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits of the size of ConfigMaps.
const (
	// MaxConfigMap is the greatest size of a ConfigMap's data that an API server accepts.
	MaxConfigMap = 1_048_576
	// MaxApplied is the greatest size of an object's annotations that an API server accepts. After a plain `kubectl apply`, one annotation contains the whole
	// object.
	MaxApplied = 262_144
	// MaxContent is the greatest size of the components after decompression.
	MaxContent = 16 << 20
)

// Format is how the components of a bundle are packed.
type Format string

// The formats. Auto means plain text if a plain `kubectl apply` of the ConfigMap works, and gzip otherwise.
const (
	Auto      Format = "auto"
	PlainText Format = "plain"
	Gzip      Format = "gzip"
)

// Packing says how ConfigMaps are made of a bundle.
type Packing struct {
	Format Format
	// Whole forbids shards (several ConfigMaps for one provider). A bundle that does not fit into one ConfigMap is then an error.
	Whole bool
	// Reserved is how many bytes are left free in each ConfigMap.
	Reserved int
}

// OwnAnnotations are the annotations that only Pack writes.
var OwnAnnotations = []string{CompressedAnnotation, HashAnnotation, ShardAnnotation, PlatformAnnotation, ReleaseAnnotation}

// Keys of a ConfigMap's data. The first two are those of the upstream contract.
const (
	metadataKey   = "metadata"
	componentsKey = "components"
	zstdKey       = "components-zstd"
	imagesKey     = "images"
)

// TooLarge is the error of a provider that does not fit into a ConfigMap.
type TooLarge struct {
	Provider     string
	Actual, Most int
	Format       Format
	// Largest are the largest objects, as text.
	Largest []string
	Remedy  string
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s has %d bytes as %s, and the maximum is %d: %s. The largest objects are %s",
		e.Provider, e.Actual, e.Format, e.Most, e.Remedy, strings.Join(e.Largest, ", "))
}

// Pack returns the ConfigMaps of a bundle: one, or several (shards) if one is too small. No ConfigMap has more than MaxConfigMap bytes. Equal bundles give
// equal ConfigMaps.
func (b Bundle) Pack(p Packing) ([]*corev1.ConfigMap, error) {
	components, err := Encode(b.Documents)
	if err != nil {
		return nil, err
	}
	if len(components) > MaxContent {
		return nil, b.tooLarge(len(components), MaxContent, PlainText, "leave out objects with --exclude")
	}
	hash, err := b.hash(components)
	if err != nil {
		return nil, err
	}
	format := p.Format
	if format == Auto || format == "" {
		one, err := b.configMap(components, PlainText, hash)
		if err != nil {
			return nil, err
		}
		format = Gzip
		if appliedSize(one) <= MaxApplied {
			format = PlainText
		}
	}
	one, err := b.configMap(components, format, hash)
	if err != nil {
		return nil, err
	}
	if size := Size(one); size <= MaxConfigMap-p.Reserved {
		return []*corev1.ConfigMap{one}, nil
	} else if p.Whole {
		return nil, b.tooLarge(size, MaxConfigMap, format, orGzip(format, "leave out objects with --exclude, use --format gzip, or allow several "+
			"ConfigMaps with --shards auto", "leave out objects with --exclude, or allow several ConfigMaps with --shards auto"))
	}
	return b.shards(format, hash, MaxConfigMap-p.Reserved)
}

// orGzip returns the remedy for a format: gzip if the format is gzip already, and otherwise plain, which also recommends gzip.
func orGzip(format Format, plain, gzip string) string {
	if format == Gzip {
		return gzip
	}
	return plain
}

// shards divides the documents into runs of about the same size, one for each ConfigMap. It makes the fewest runs with which no ConfigMap exceeds "most" bytes.
func (b Bundle) shards(format Format, hash string, most int) ([]*corev1.ConfigMap, error) {
	sizes := make([]int, len(b.Documents))
	for i, d := range b.Documents {
		text, err := d.YAML()
		if err != nil {
			return nil, err
		}
		sizes[i] = len(text)
	}
	for n := 2; ; n++ {
		runs := cut(sizes, n)
		shards := make([]*corev1.ConfigMap, 0, len(runs))
		largest := 0
		for k, run := range runs {
			components, err := Encode(b.Documents[run[0]:run[1]])
			if err != nil {
				return nil, err
			}
			shard, err := b.configMap(components, format, hash)
			if err != nil {
				return nil, err
			}
			if k > 0 { // the first shard keeps the name, so that it replaces the ConfigMap of an earlier release, which nobody would delete
				shard.Name = fmt.Sprintf("%s.%d", shard.Name, k+1) // cannot collide: no name of a provider has a dot
			}
			shard.Annotations[ShardAnnotation] = fmt.Sprintf("%d/%d", k+1, len(runs))
			largest = max(largest, Size(shard))
			shards = append(shards, shard)
		}
		if largest <= most {
			return shards, nil
		}
		if n >= len(b.Documents) {
			return nil, b.tooLarge(largest, most, format, "one object alone is too large for a ConfigMap: leave it out with "+
				"--exclude"+orGzip(format, ", shorten its descriptions, or use --format gzip",
				" or shorten its descriptions"))
		}
	}
}

// cut divides sizes into at most n runs of about the same sum, and returns the bounds of each. The k-th run ends where the sum reaches k/n of the total.
func cut(sizes []int, n int) [][2]int {
	total, sum, from := 0, 0, 0
	for _, size := range sizes {
		total += size
	}
	var runs [][2]int
	for i, size := range sizes {
		sum += size
		if i+1 < len(sizes) && sum*n >= total*(len(runs)+1) {
			runs = append(runs, [2]int{from, i + 1})
			from = i + 1
		}
	}
	return append(runs, [2]int{from, len(sizes)})
}

func (b Bundle) configMap(components []byte, format Format, hash string) (*corev1.ConfigMap, error) {
	images, err := json.MarshalIndent(b.Images, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the list of images: %w", err)
	}
	annotations := maps.Clone(b.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[HashAnnotation] = hash
	if len(b.Provider.Platforms) > 0 {
		annotations[PlatformAnnotation] = strings.Join(b.Provider.Platforms, ",")
	}
	if b.Release != "" {
		annotations[ReleaseAnnotation] = b.Release
	}
	cm := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: b.Provider.Label(), Namespace: Namespace, Annotations: annotations,
			Labels: map[string]string{
				ProviderLabel: b.Provider.Label(), NameLabel: b.Provider.Name, TypeLabel: string(b.Provider.Type), VersionLabel: b.Provider.Version,
			},
		},
		Data: map[string]string{metadataKey: string(b.Metadata), imagesKey: string(images) + "\n"},
	}
	switch format {
	case PlainText:
		cm.Data[componentsKey] = string(components)
	case Gzip:
		packed, err := compress(components)
		if err != nil {
			return nil, err
		}
		cm.BinaryData = map[string][]byte{componentsKey: packed}
		annotations[CompressedAnnotation] = "true"
	default:
		return nil, fmt.Errorf("format %q is unknown: use auto, plain or gzip", format)
	}
	return cm, nil
}

// hash returns the hash of everything that an installer reads. It covers the content before compression, so that it stays the same when a compressor changes.
func (b Bundle) hash(components []byte) (string, error) {
	images, err := json.Marshal(b.Images)
	if err != nil {
		return "", fmt.Errorf("writing the list of images: %w", err)
	}
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(b.Provider.Label()), []byte(b.Provider.Version), b.Metadata, images, components} {
		fmt.Fprintf(sum, "%d\n", len(part))
		sum.Write(part)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// Size returns the size that counts against MaxConfigMap: the sum of the data's values.
func Size(cm *corev1.ConfigMap) int {
	size := 0
	for _, value := range cm.Data {
		size += len(value)
	}
	for _, value := range cm.BinaryData {
		size += len(value)
	}
	return size
}

// appliedSize returns the size that counts against MaxApplied after `kubectl apply`: the annotations, and one more annotation with the whole object.
func appliedSize(cm *corev1.ConfigMap) int {
	whole, err := json.Marshal(cm)
	if err != nil {
		return MaxApplied + 1
	}
	size := len(whole) + 1 + len(corev1.LastAppliedConfigAnnotation)
	for key, value := range cm.Annotations {
		size += len(key) + len(value)
	}
	return size
}

func (b Bundle) tooLarge(actual, most int, format Format, remedy string) error {
	type sized struct {
		id   string
		size int
	}
	var all []sized
	for _, d := range b.Documents {
		if text, err := d.YAML(); err == nil {
			all = append(all, sized{d.ID(), len(text)})
		}
	}
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.size, a.size) })
	var largest []string
	for _, one := range all[:min(3, len(all))] {
		largest = append(largest, fmt.Sprintf("%s (%d bytes)", one.id, one.size))
	}
	return &TooLarge{Provider: b.Provider.Label(), Actual: actual, Most: most, Format: format, Largest: largest, Remedy: remedy}
}
