// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/poundlock/poundlock/bundle"
)

// Selection is what the ConfigMaps of a release want to have installed in a cluster.
type Selection struct {
	// Bundles are in the order in which they are installed: core, bootstrap, control plane, infrastructure.
	Bundles []bundle.Bundle
	// Problems are the reasons why no new content is applied, by provider; "" is the key for the set as a whole.
	Problems map[string]error
}

// Carries reports whether a ConfigMap carries a provider. The provider's label is not enough for that: objects of a provider have this label too, and may be
// ConfigMaps.
func Carries(cm *corev1.ConfigMap) bool {
	if cm.Labels[InstalledByLabel] != "" || cm.Labels[RecordLabel] != "" || cm.Labels[bundle.ProviderLabel] == "" {
		return false
	}
	for _, label := range []string{bundle.NameLabel, bundle.TypeLabel, bundle.VersionLabel} {
		if cm.Labels[label] != "" {
			return true
		}
	}
	_, plain := cm.Data["components"]
	return plain || len(cm.BinaryData) > 0
}

// Select returns the providers that the ConfigMaps carry for a platform, and what is wrong with these providers. Nothing new may be applied while there is a
// problem, because a set that was tested together is installed together.
func Select(all []corev1.ConfigMap, platform string) Selection {
	s := Selection{Problems: map[string]error{}}
	pieces, sizes := map[string][]bundle.Piece{}, map[string]int{}
	for i := range all {
		cm := &all[i]
		if !Carries(cm) {
			continue
		}
		label := cm.Labels[bundle.ProviderLabel]
		if !forPlatform(cm, platform) {
			continue
		}
		if sizes[label] > bundle.MaxContent { // the provider's content is refused: no more of it is kept in memory
			continue
		}
		piece, err := bundle.Unpack(cm)
		if err != nil {
			s.problem(label, err)
			continue
		}
		pieces[label] = append(pieces[label], piece)
		sizes[label] += len(piece.Components)
		if sizes[label] > bundle.MaxContent {
			s.problem(label, fmt.Errorf("the content of the ConfigMaps of %s has more than %d bytes after decompression, the maximum: leave out "+
				"objects with poundlock bundle --exclude", label, bundle.MaxContent))
			pieces[label] = nil
		}
	}
	for _, label := range slices.Sorted(maps.Keys(pieces)) {
		if s.Problems[label] != nil { // a missing part would follow from this problem, and would be reported as a wait
			continue
		}
		merged, err := bundle.Merge(pieces[label])
		if err != nil {
			s.problem(label, err)
			continue
		}
		s.Bundles = append(s.Bundles, bundle.On(platform, []bundle.Bundle{merged})...)
	}
	Order(s.Bundles)
	if len(s.Problems) == 0 {
		s.problem("", errors.Join(bundle.Preflight(s.Bundles)...))
	}
	return s
}

// forPlatform reports whether a ConfigMap may be for this platform. So ConfigMaps of other platforms are skipped before they are read, because a broken
// provider of another cloud is no reason to stop.
func forPlatform(cm *corev1.ConfigMap, platform string) bool {
	p, err := providerOf(cm)
	return err != nil || len(p.Platforms) == 0 || slices.Contains(p.Platforms, platform)
}

// providerOf returns the provider that a ConfigMap carries according to its labels and annotations.
func providerOf(cm *corev1.ConfigMap) (bundle.Provider, error) {
	p := bundle.Provider{Name: cm.Labels[bundle.NameLabel], Type: bundle.Type(cm.Labels[bundle.TypeLabel]), Version: cm.Labels[bundle.VersionLabel]}
	if cm.Annotations[bundle.PlatformAnnotation] != "" {
		p.Platforms = splitList(cm.Annotations[bundle.PlatformAnnotation])
	}
	return p.Complete()
}

func splitList(list string) []string {
	var out []string
	for _, one := range strings.Split(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

func (s *Selection) problem(label string, err error) {
	if err != nil {
		s.Problems[label] = errors.Join(s.Problems[label], err)
	}
}

// Order sorts bundles by type and name.
func Order(all []bundle.Bundle) {
	slices.SortStableFunc(all, func(a, b bundle.Bundle) int {
		return cmp.Or(
			cmp.Compare(slices.Index(bundle.Types, a.Provider.Type), slices.Index(bundle.Types, b.Provider.Type)),
			cmp.Compare(a.Provider.Name, b.Provider.Name),
		)
	})
}

// Remnants returns the providers whose content became ready and has lost ConfigMaps (shards) since, by label, with the missing shards. kept is the content that
// became ready, by label.
func Remnants(all []corev1.ConfigMap, kept map[string][]corev1.ConfigMap) map[string]*bundle.Incomplete {
	there := map[string][]*corev1.ConfigMap{}
	for i := range all {
		label := all[i].Labels[bundle.ProviderLabel]
		there[label] = append(there[label], &all[i])
	}
	out := map[string]*bundle.Incomplete{}
	for label, last := range kept {
		if e := bundle.Remnant(there[label], last[0].Annotations[bundle.HashAnnotation]); e != nil {
			out[label] = e
		}
	}
	return out
}

// Waiting reports whether an error passes by itself once the release is applied completely or the Infrastructure names the platform. In these errors, a shard
// or the core provider is missing, ConfigMaps belong to two releases, or the platform is unknown.
func Waiting(err error) bool {
	var incomplete *bundle.Incomplete
	var overlap *bundle.Overlap
	var mixed *Mixed
	var unplaced *Unplaced
	return errors.As(err, &unplaced) || errors.As(err, &incomplete) || errors.As(err, &overlap) || errors.As(err, &mixed) || errors.Is(err, bundle.ErrNoCore)
}

// Mixed is the error that a provider's ConfigMap is marked for another release than the ConfigMap of the images or of the values.
type Mixed struct {
	Provider, ProviderRelease string
	Beside, BesideRelease     string
}

func (m *Mixed) Error() string {
	return fmt.Sprintf("annotation %[5]s marks ConfigMap %[1]s for release %[2]s, and ConfigMap %[3]s for release %[4]s: waiting until both are of "+
		"one release. "+
		"Apply all ConfigMaps of the release that you want, or correct the annotation",
		m.Provider, m.ProviderRelease, m.Beside, m.BesideRelease, bundle.ReleaseAnnotation)
}

// SameRelease returns Mixed if a provider's ConfigMap for the platform is marked for another release than one of the ConfigMaps in beside: the images, or the
// values of variables. Each of them may be sound, but nobody has tested them together. A ConfigMap without a mark is valid with every release. So is kept
// content, which has its own images and values.
func SameRelease(all []corev1.ConfigMap, platform string, beside []corev1.ConfigMap) error {
	for i := range all {
		cm := &all[i]
		release := cm.Annotations[bundle.ReleaseAnnotation]
		if release == "" || !Carries(cm) || !forPlatform(cm, platform) {
			continue
		}
		for j := range beside {
			if other := beside[j].Annotations[bundle.ReleaseAnnotation]; other != "" && other != release {
				return &Mixed{cm.Name, release, beside[j].Name, other}
			}
		}
	}
	return nil
}

// References reads the images of the release from their ConfigMap cm, which is nil if it does not exist.
func References(cm *corev1.ConfigMap) (bundle.References, error) {
	const key = "images.json"
	if cm == nil || cm.Data[key] == "" {
		return nil, fmt.Errorf("ConfigMap %s has no key %s, so the release's images are unknown. Create the key, with a JSON object that maps each "+
			"image key to an image", bundle.ImagesConfigMap, key)
	}
	var out bundle.References
	if err := json.Unmarshal([]byte(cm.Data[key]), &out); err != nil {
		return nil, fmt.Errorf("reading %s of ConfigMap %s: %w", key, bundle.ImagesConfigMap, err)
	}
	return out, nil
}
