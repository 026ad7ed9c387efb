// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package instanceid

import (
	"slices"
	"strings"
	"unicode"
)

// byPath are the schemes of platforms on which the last segment of a provider ID does not identify the instance: the name is unique only together with the
// segments before it (a resource group, or a project's zone). On other platforms the last segment identifies the instance, as a UUID or an ID of the cloud.
// Some of those platforms have more segments: AWS's zone, OpenStack's region, and PowerVS's region, zone and workspace. These do not identify the instance,
// because not every controller writes them, and controllers act by the last segment only. AWS's provider also ignores the scheme.
var byPath = []string{"azure", "gce"}

// Key returns the part that all spellings of one instance's provider ID share; "" for an ID that names nothing. It ignores case, white space, and doubled,
// leading and trailing slashes. Some controllers ignore these, too, so a Machine with another spelling would be a second Machine of the same instance.
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

// KeyOn returns the Key of an ID, in the way in which controllers on a platform read the ID. platform is the platform's scheme, which replaces the scheme of
// the ID: the controllers ignore the latter, so an ID with another cloud's scheme still names an instance. For an empty platform, KeyOn equals Key.
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

// Tail returns the last segment of an ID, with a slash before it; "" for an ID that names nothing. An instance's ID and its provider ID have the same Tail. But
// provider IDs of several instances may have the same Tail, too: Names decides which of them names the instance.
func Tail(id string) string {
	_, segments := parse(id)
	if len(segments) == 0 {
		return ""
	}
	return "/" + segments[len(segments)-1]
}

// Scheme returns what precedes :// in an ID, in lower case; "" if the ID has no ://.
func Scheme(id string) string {
	scheme, _ := parse(id)
	return scheme
}

// Names reports whether id, from a provider's status, and providerID name the same instance.
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

// parse returns the scheme of an ID, "" if there is none, and the segments after it, all in lower case.
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
