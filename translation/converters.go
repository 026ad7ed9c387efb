// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Converter is the URL of a conversion webhook. It converts the standard groups that equal Suffix or end in it.
type Converter struct{ Suffix, URL string }

// Converters are sorted by their suffix, longest first.
type Converters []Converter

// ParseConverters returns the Converters of the values of `--upstream`, which have the form SUFFIX=URL.
func ParseConverters(flags []string) (Converters, error) {
	if len(flags) == 0 {
		return nil, errors.New("no upstream is given: add --upstream cluster.x-k8s.io=https://SERVICE.NAMESPACE.svc/convert")
	}
	var out Converters
	for _, f := range flags {
		suffix, address, _ := strings.Cut(f, "=")
		to, err := url.Parse(address)
		switch {
		case err != nil || to.Scheme != "https" || to.Host == "":
			return nil, fmt.Errorf("--upstream %s is not valid: use SUFFIX=URL, with a URL that begins with https://", f)
		case ToPrivate.Group(suffix) == suffix || strings.HasPrefix(suffix, "."):
			return nil, fmt.Errorf("--upstream %s: the SUFFIX %q is neither %s nor a group beneath it", f, suffix, Standard)
		case slices.ContainsFunc(out, func(c Converter) bool { return c.Suffix == suffix }):
			return nil, fmt.Errorf("--upstream %s: the SUFFIX %q is given twice: remove one of the two flags", f, suffix)
		}
		out = append(out, Converter{suffix, address})
	}
	slices.SortStableFunc(out, func(a, b Converter) int { return cmp.Compare(len(b.Suffix), len(a.Suffix)) })
	return out, nil
}

// Of returns the converter of a standard group. It is the one with the longest matching suffix.
func (c Converters) Of(group string) (Converter, bool) {
	i := slices.IndexFunc(c, func(c Converter) bool { return group == c.Suffix || strings.HasSuffix(group, "."+c.Suffix) })
	if i < 0 {
		return Converter{}, false
	}
	return c[i], true
}
