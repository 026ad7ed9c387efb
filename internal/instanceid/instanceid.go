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
// workspace do not belong to the name: not every controller writes them, and controllers act by the last segment alone. AWS's provider also ignores the
// scheme.
var byPath = []string{"azure", "gce"}

// Key returns the part that all spellings of one instance's provider ID share; "" for an ID that names nothing. It ignores case, white space, and slashes
// that are doubled or at an end. Some controllers ignore these, too, so a Machine with another spelling would be a second Machine of the same instance.
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

// KeyOn returns the Key of an ID as controllers on the platform of a scheme read it. They ignore the scheme of the ID itself, so that an ID with another
// cloud's scheme still names an instance. For an empty scheme, KeyOn equals Key.
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

// Tail returns the end that an instance's ID shares with its provider ID; "" for an ID that names nothing. Several provider IDs may have the same end: Names
// decides which of them names the instance.
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
