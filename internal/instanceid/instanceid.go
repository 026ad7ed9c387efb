// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package instanceid

import (
	"slices"
	"strings"
	"unicode"
)

// byPath are the schemes of platforms on which an instance's name is unique only below the segments before it: a resource group, or a project's zone.
// Elsewhere the last segment alone names the instance, as a UUID or an ID of the cloud's. AWS's zone, OpenStack's region, and PowerVS's region, zone and
// workspace are no part of it: not every controller writes them, and controllers act by the end alone. AWS's provider reads past the scheme, too.
var byPath = []string{"azure", "gce"}

// Key is the part that all spellings of one instance's provider ID share; "" for an ID that names nothing. Case, white space and slashes that are doubled or
// at an end are no part of it: some controllers read past them, so a second spelling would be a second Machine of one instance.
func Key(id string) string {
	scheme, segments := parse(id)
	switch {
	case len(segments) == 0:
		return ""
	case slices.Contains(byPath, scheme):
		return join(scheme, segments)
	}
	return segments[len(segments)-1]
}

// KeyOn is the Key of an ID as controllers on the platform of a scheme read it. They look past the scheme of the ID itself, so that an ID with another cloud's
// names an instance all the same. It is Key for a scheme that is empty.
func KeyOn(platform, id string) string {
	_, segments := parse(id)
	switch {
	case platform == "" || len(segments) == 0:
		return Key(id)
	case slices.Contains(byPath, platform):
		return join(platform, segments)
	}
	return segments[len(segments)-1]
}

// Tail is the end that an instance's ID shares with its provider ID; "" for an ID that names nothing. Names decides which of the provider IDs with that end
// names the instance.
func Tail(id string) string {
	_, segments := parse(id)
	if len(segments) == 0 {
		return ""
	}
	return "/" + segments[len(segments)-1]
}

// Scheme is what precedes :// in an ID, in lower case; "" where nothing does.
func Scheme(id string) string {
	scheme, _ := parse(id)
	return scheme
}

// Names reports whether an ID, as a provider's status has it, is that of a provider ID's instance.
func Names(id, providerID string) bool {
	scheme, segments := parse(id)
	switch {
	case len(segments) == 0:
		return false
	case scheme != "":
		return Key(id) == Key(providerID)
	}
	return strings.HasSuffix("/"+join(parse(providerID)), "/"+join("", segments))
}

// parse returns the scheme, if there is one, and the segments after it.
func parse(id string) (scheme string, segments []string) {
	id = strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, id))
	scheme, path, found := strings.Cut(id, "://")
	if !found {
		scheme, path = "", id
	}
	return scheme, strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func join(scheme string, segments []string) string {
	path := strings.Join(segments, "/")
	if scheme == "" {
		return path
	}
	return scheme + "://" + path
}
