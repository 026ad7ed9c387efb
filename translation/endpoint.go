// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Endpoint is what the path of a client's request says about the request.
type Endpoint struct {
	// Path is the path of the request to the API server, without percent-encoding. A group in it, and the name of a CustomResourceDefinition, have their stored
	// names.
	Path string
	// Document is the form of the bodies of request and response.
	Document Document
	// Opaque means that the bodies have a form that is not translated. They pass unchanged in both directions.
	Opaque bool
	// Watch means that the path has the old form of a watch, /watch/.
	Watch bool
	// Group, Resource, Name and Subresource have the names that the client uses. One that the path does not have is "".
	Group, Resource, Name, Subresource string
}

const definitions = "customresourcedefinitions"

// EndpointOf parses the path of a request. The path has no percent-encoding any more, as in an API server: there, `%2F` separates like a slash. EndpointOf
// translates the name of an object only if the object is a CustomResourceDefinition.
func EndpointOf(path string) Endpoint {
	e := Endpoint{Path: path}
	whole := strings.Split(path, "/")
	segments := whole
	if strings.HasPrefix(path, "/") {
		segments = whole[1:]
	}
	switch {
	case segments[0] == "api":
		e.resource(segments, 2)
	case segments[0] == "apis":
		if len(segments) > 1 {
			e.Group = segments[1]
			e.request(whole, &segments[1], Group)
		}
		e.resource(segments, 3)
	case segments[0] == "openapi" && len(segments) > 1 && (segments[1] == "v3" || segments[1] == "v2"):
		e.Document = OpenAPI
		if len(segments) > 3 && segments[1] == "v3" && segments[2] == "apis" {
			e.request(whole, &segments[3], Group)
		}
	case path == "/" || path == "":
		e.Document = Roots
	default:
		e.Opaque = true
	}
	if e.Resource == definitions && e.Group == "apiextensions.k8s.io" && e.Name != "" {
		e.request(whole, &segments[slices.Index(segments, definitions)+1], DefinitionName)
	}
	return e
}

// request translates one segment of a path. segment points into path.
func (e *Endpoint) request(path []string, segment *string, v Value) {
	if becomes := requested(*segment, v); becomes != *segment {
		*segment = becomes
		e.Path = strings.Join(path, "/")
	}
}

// resource parses the segments that follow the version, from the index "from" on.
func (e *Endpoint) resource(segments []string, from int) {
	rest := segments[min(from, len(segments)):]
	if len(rest) > 0 && rest[0] == "watch" {
		e.Watch, rest = true, rest[1:]
	}
	if len(rest) > 2 && rest[0] == "namespaces" && rest[2] != "status" && rest[2] != "finalize" {
		rest = rest[2:]
	}
	for i, s := range rest[:min(3, len(rest))] {
		*[]*string{&e.Resource, &e.Name, &e.Subresource}[i] = s
	}
	e.Document = e.document()
	e.Opaque = e.Group == "" && slices.Contains([]string{"exec", "attach", "portforward", "log", "proxy"}, e.Subresource)
}

func (e *Endpoint) document() Document {
	b, _ := split([]byte(e.Group))
	switch {
	case e.Resource == "":
		return Discovery
	case b != noBase:
		return ClusterAPI
	case e.Group == "apiextensions.k8s.io" && e.Resource == definitions:
		return Definitions
	case e.Resource == "events" && (e.Group == "" || e.Group == "events.k8s.io"):
		return Events
	case e.Group == "authorization.k8s.io":
		return AccessReviews
	}
	return Objects
}

// requested returns the stored name for a name that a client asks for. If the client asks by a stored name itself, requested returns a name of a group that is
// never served. So a client reaches its own objects only by their standard names, and the platform's objects not at all.
func requested(name string, v Value) string {
	switch becomes := ToPrivate.text(v, name); {
	case becomes != name:
		return becomes
	case ToStandard.text(v, name) != name:
		return strings.Replace(name, Private, Foreign, 1)
	}
	return name
}

// Query returns the query of a client's request, translated. Only one parameter has names of groups: the field selector of CustomResourceDefinitions and
// Events. Labels and everything else are the same in the store, and stay. There is one exception: a Table of definitions without their metadata would not show
// which definitions are the platform's, so Query asks for the metadata.
func (e *Endpoint) Query(query string) string {
	if e.Document != Definitions && e.Document != Events {
		return query
	}
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		name, value, _ := strings.Cut(p, "=")
		parameter, err := url.QueryUnescape(name)
		was, bad := url.QueryUnescape(value)
		if err != nil || bad != nil {
			continue
		}
		becomes := was
		switch {
		case parameter == "fieldSelector":
			becomes = e.fieldSelector(was)
		case parameter == "includeObject" && e.Document == Definitions && was == string(metav1.IncludeNone):
			becomes = string(metav1.IncludeMetadata)
		}
		if becomes != was {
			parameters[i] = name + "=" + url.QueryEscape(becomes)
		}
	}
	return strings.Join(parameters, "&")
}

// fieldSelector translates the terms of a field selector that compare a definition's name, or the apiVersion of the object that an Event is about.
func (e *Endpoint) fieldSelector(selector string) string {
	terms := strings.Split(selector, ",")
	for i, term := range terms {
		at := strings.IndexAny(term, "!=")
		if at < 0 {
			continue
		}
		field, value := term[:at], strings.TrimLeft(term[at:], "!=")
		before := term[:len(term)-len(value)]
		switch {
		case e.Document == Definitions && field == "metadata.name":
			terms[i] = before + requested(value, DefinitionName)
		case e.Document == Events && (field == "involvedObject.apiVersion" || field == "regarding.apiVersion" || field == "related.apiVersion"):
			terms[i] = before + ToPrivate.text(Reference, value)
		}
	}
	return strings.Join(terms, ",")
}
