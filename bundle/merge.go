// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Piece is the content of one ConfigMap: a whole provider, or a shard (one of several ConfigMaps that together carry a provider).
type Piece struct {
	ConfigMap string
	Provider  Provider
	Metadata  []byte
	Images    []Image
	// Components is the YAML of the documents, decompressed.
	Components []byte
	// Hash is "" if the ConfigMap has no hash. ConfigMaps of earlier releases have none.
	Hash string
	// Shard is the number of this shard, from 1. Shards is how many there are.
	Shard, Shards int
}

// Incomplete is the error of a provider whose ConfigMaps (shards) do not all exist yet. It passes once the missing ones exist.
type Incomplete struct {
	Provider      string
	Have, Missing []int
	Shards        int
}

func (e *Incomplete) Error() string {
	return fmt.Sprintf("the content of %s is divided over %d ConfigMaps, and %s missing: waiting until the ConfigMap is "+
		"created", e.Provider, e.Shards, plural(e.Missing))
}

func plural(missing []int) string {
	var out []string
	for _, k := range missing {
		out = append(out, strconv.Itoa(k))
	}
	if len(out) == 1 {
		return "number " + out[0] + " is"
	}
	return "numbers " + strings.Join(out, ", ") + " are"
}

// Unpack returns the content of a ConfigMap. The components are plain, gzip, or zstd (in earlier releases). Unpack decompresses no more than MaxContent bytes.
func Unpack(cm *corev1.ConfigMap) (Piece, error) {
	p := Piece{ConfigMap: cm.Name, Metadata: []byte(cm.Data[metadataKey]), Hash: cm.Annotations[HashAnnotation], Shard: 1, Shards: 1}
	p.Provider = Provider{Name: cm.Labels[NameLabel], Type: Type(cm.Labels[TypeLabel]), Version: cm.Labels[VersionLabel]}
	if platforms := cm.Annotations[PlatformAnnotation]; platforms != "" {
		p.Provider.Platforms = strings.Split(platforms, ",")
	}
	wrap := func(err error) (Piece, error) { return Piece{}, fmt.Errorf("reading ConfigMap %s: %w", cm.Name, err) }
	var err error
	if p.Provider, err = p.Provider.Complete(); err != nil {
		return wrap(err)
	}
	if label := cm.Labels[ProviderLabel]; label != p.Provider.Label() {
		return wrap(fmt.Errorf("label %s is %q, but the labels of the provider's name and type require %q: correct one of the "+
			"labels", ProviderLabel, label, p.Provider.Label()))
	}
	if p.Components, err = components(cm); err != nil {
		return wrap(err)
	}
	if images := cm.Data[imagesKey]; images != "" {
		if err := json.Unmarshal([]byte(images), &p.Images); err != nil {
			return wrap(fmt.Errorf("data.%s: %w", imagesKey, err))
		}
	}
	if shard := cm.Annotations[ShardAnnotation]; shard != "" {
		if p.Shard, p.Shards, err = parseShard(shard); err != nil {
			return wrap(err)
		}
	}
	return p, nil
}

func components(cm *corev1.ConfigMap) ([]byte, error) {
	var found [][]byte
	if text, has := cm.Data[componentsKey]; has {
		if len(text) > MaxContent {
			return nil, fmt.Errorf("data.%s has more than %d bytes, the maximum: bundle fewer objects", componentsKey, MaxContent)
		}
		found = append(found, []byte(text))
	}
	for _, key := range []string{componentsKey, zstdKey} {
		if packed, has := cm.BinaryData[key]; has {
			content, err := decompress(packed, MaxContent)
			if err != nil {
				return nil, fmt.Errorf("binaryData.%s cannot be read: %w. Apply the release's ConfigMap again", key, err)
			}
			found = append(found, content)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the ConfigMap has %d of the keys data.%[2]s, binaryData.%[2]s and binaryData.%[3]s, and needs exactly one: apply the "+
			"release's ConfigMap again", len(found), componentsKey, zstdKey)
	}
	return found[0], nil
}

func parseShard(shard string) (int, int, error) {
	first, second := splitOnce(shard)
	k, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	const most = 100
	if err1 != nil || err2 != nil || k < 1 || k > n || n > most {
		return 0, 0, fmt.Errorf("annotation %s is %q: the value must be K/N, such as 1/3 for the first of three ConfigMaps", ShardAnnotation, shard)
	}
	return k, n, nil
}

// Overlap is the error of a provider that has ConfigMaps of two releases, while those of one release are incomplete. It occurs because a release is applied one
// ConfigMap after the other. It passes once all ConfigMaps are of one release.
type Overlap struct {
	Provider string
	// Sets names each release with its ConfigMaps, as text.
	Sets []string
}

func (e *Overlap) Error() string {
	return fmt.Sprintf("%s has ConfigMaps of different content, %s: waiting until all ConfigMaps are of one release. "+
		"Apply all ConfigMaps of the release that you want, and delete the others",
		e.Provider, strings.Join(e.Sets, ", and "))
}

// Merge makes one bundle of the pieces of one provider, in whatever order they come. It returns Incomplete while shards are missing, and Overlap while there
// are also shards of another release. It returns another error if the pieces are of two versions, or if the content does not match its hash.
func Merge(pieces []Piece) (Bundle, error) {
	if len(pieces) == 0 {
		return Bundle{}, errors.New("there is no ConfigMap")
	}
	pieces = slices.Clone(pieces)
	slices.SortFunc(pieces, func(a, b Piece) int {
		return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.ConfigMap, b.ConfigMap))
	})
	sets := setsOf(pieces)
	for _, set := range sets {
		if err := set.check(); err != nil {
			return Bundle{}, err
		}
	}
	if len(sets) > 1 {
		return Bundle{}, overlap(sets)
	}
	if e := sets[0].incomplete(); e != nil {
		return Bundle{}, e
	}
	return pieces[0].bundle(pieces)
}

// set has the pieces that belong to the same content: they agree in provider, version, hash and number of shards.
type set []Piece

// setsOf groups pieces by the content to which they belong.
func setsOf(pieces []Piece) []set {
	var sets []set
	for _, p := range pieces {
		i := slices.IndexFunc(sets, func(s set) bool {
			return s[0].Provider.Label() == p.Provider.Label() && s[0].Provider.Version == p.Provider.Version && s[0].Hash == p.Hash && s[0].Shards == p.Shards
		})
		if i < 0 {
			i, sets = len(sets), append(sets, nil)
		}
		sets[i] = append(sets[i], p)
	}
	return sets
}

// check returns an error that no further ConfigMap would fix: a shard without a hash, or two pieces that are the same shard.
func (s set) check() error {
	if s[0].Shards > 1 && s[0].Hash == "" {
		return fmt.Errorf("ConfigMap %s has only a part of a provider's content, and lacks annotation %s, which shows the other parts. Apply the "+
			"release's ConfigMaps again",
			s[0].ConfigMap, HashAnnotation)
	}
	have := map[int]string{}
	for _, p := range s {
		if have[p.Shard] != "" {
			return fmt.Errorf("ConfigMaps %s and %s both have the same part of %s: delete the one that the release does not "+
				"have", have[p.Shard], p.ConfigMap, p.Provider.Label())
		}
		have[p.Shard] = p.ConfigMap
	}
	return nil
}

// incomplete returns which shards of the set are missing; nil if none is.
func (s set) incomplete() *Incomplete {
	e := &Incomplete{Provider: s[0].Provider.Label(), Shards: s[0].Shards}
	for k := 1; k <= e.Shards; k++ {
		if !slices.ContainsFunc(s, func(p Piece) bool { return p.Shard == k }) {
			e.Missing = append(e.Missing, k)
			continue
		}
		e.Have = append(e.Have, k)
	}
	if len(e.Missing) == 0 {
		return nil
	}
	return e
}

// String returns a text with the version and the ConfigMaps of the set.
func (s set) String() string {
	var names []string
	for _, p := range s {
		names = append(names, p.ConfigMap)
	}
	out := fmt.Sprintf("%s in %s", s[0].Provider.Version, strings.Join(names, ", "))
	if e := s.incomplete(); e != nil {
		out += fmt.Sprintf(" (%s missing)", plural(e.Missing))
	}
	return out
}

// overlap returns the error for a provider with several sets. While one set is incomplete, the error is Overlap, which passes. If all sets are complete, it is
// an error that does not pass, because nothing will replace the ConfigMaps that have other names.
func overlap(sets []set) error {
	e := &Overlap{Provider: sets[0][0].Provider.Label()}
	waits := false
	for _, s := range sets {
		e.Sets = append(e.Sets, s.String())
		waits = waits || s.incomplete() != nil
	}
	if waits {
		return e
	}
	a, b := sets[0][0], sets[1][0]
	if a.Provider.Version == b.Provider.Version {
		return fmt.Errorf("ConfigMaps %s and %s have different content for %s %s: delete the ConfigMap that the release does not have",
			a.ConfigMap, b.ConfigMap, a.Provider.Label(), a.Provider.Version)
	}
	return fmt.Errorf("ConfigMaps %s and %s have two versions of %s, %s and %s: delete the ConfigMap that the release does not have",
		a.ConfigMap, b.ConfigMap, a.Provider.Label(), a.Provider.Version, b.Provider.Version)
}

// Remnant returns which shards are missing, if all ConfigMaps are shards of the content with this hash. Otherwise it returns nil.
func Remnant(all []*corev1.ConfigMap, hash string) *Incomplete {
	var s set
	for _, cm := range all {
		k, n, err := parseShard(cm.Annotations[ShardAnnotation])
		if err != nil || hash == "" || cm.Annotations[HashAnnotation] != hash || len(s) > 0 && s[0].Shards != n {
			return nil //nolint:nilerr // what cannot be read is no shard of it
		}
		p := Provider{Name: cm.Labels[NameLabel], Type: Type(cm.Labels[TypeLabel]), Version: cm.Labels[VersionLabel]}
		s = append(s, Piece{ConfigMap: cm.Name, Provider: p, Hash: hash, Shard: k, Shards: n})
	}
	if len(s) == 0 || s.check() != nil {
		return nil //nolint:nilerr // Merge reports it
	}
	return s.incomplete()
}

func (p Piece) bundle(all []Piece) (Bundle, error) {
	parts := make([][]byte, 0, len(all))
	size := 0
	for _, piece := range all {
		parts = append(parts, piece.Components)
		if size += len(piece.Components); size > MaxContent {
			return Bundle{}, fmt.Errorf("the ConfigMaps of %s together have more than %d bytes of content, the maximum: leave out objects with "+
				"poundlock bundle --exclude", p.Provider.Label(), MaxContent)
		}
	}
	whole := bytes.Join(parts, []byte("---\n"))
	b := Bundle{Provider: p.Provider, Metadata: p.Metadata, Images: p.Images}
	if p.Hash != "" {
		if hash, err := b.hash(whole); err != nil {
			return Bundle{}, err
		} else if hash != p.Hash {
			return Bundle{}, fmt.Errorf("the content of %s has the hash %s, but annotation %s is %s: somebody changed the content or the annotation. "+
				"Apply the release's ConfigMap again",
				p.Provider.Label(), hash, HashAnnotation, p.Hash)
		}
	}
	var err error
	if b.Documents, err = Decode(whole); err != nil {
		return Bundle{}, fmt.Errorf("reading %s: %w", p.Provider.Label(), err)
	}
	Sort(b.Documents)
	if b.Contract, err = Contract(b.Metadata, b.Provider.Version); err != nil {
		return Bundle{}, fmt.Errorf("reading %s: %w", p.Provider.Label(), err)
	}
	if b.Variables, err = Variables(b.Documents); err != nil {
		return Bundle{}, fmt.Errorf("reading %s: %w", p.Provider.Label(), err)
	}
	return b, nil
}

// Needs is what the documents of a bundle take from the cluster and the release: values of variables, and images.
type Needs struct {
	Values     Values
	References References
	// AllowTags accepts images that are named by a tag. It is for development.
	AllowTags bool
}

// Of returns the part of the needs that the documents of a bundle use.
func (n Needs) Of(b Bundle) Needs {
	out := Needs{Values: Values{}, References: References{}, AllowTags: n.AllowTags}
	for _, v := range b.Variables {
		if value, set := n.Values[v.Name]; set {
			out.Values[v.Name] = value
		}
	}
	for _, image := range b.Images {
		out.References[image.Key] = n.References[image.Key]
	}
	return out
}

// Render returns the documents that an installer applies, with variables evaluated and images set. Documents of kinds that Kinds drops are left out, and listed
// in the second result. The error names everything that is wrong. With an error, the installer must not apply anything.
func (b Bundle) Render(needs Needs) ([]Document, []Entry, error) {
	var problems []error
	var dropped []Entry
	out := make([]Document, 0, len(b.Documents))
	for _, d := range b.Documents {
		if fate, why := FateOf(d.GroupKind()); fate == Dropped {
			dropped = append(dropped, Entry{Action: Removed, Transformation: "dropped-kinds", Object: d.ID(), What: why})
			continue
		}
		rendered, found := d.Evaluate(needs.Values)
		problems = append(problems, found...)
		out = append(out, rendered)
	}
	problems = append(problems, SetImages(out, b.Images, needs.References, needs.AllowTags)...)
	problems = append(problems, Check(out, Namespace)...)
	if err := errors.Join(problems...); err != nil {
		return nil, nil, fmt.Errorf("preparing %s %s: %w", b.Provider.Label(), b.Provider.Version, err)
	}
	return out, dropped, nil
}
