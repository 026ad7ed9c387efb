// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"
)

// Request is what the client asks the API server for.
type Request struct {
	// Verb is the API server's verb: get, list, watch, create, update, patch, delete or deletecollection. For a path that is no resource, it is the HTTP method in
	// lower case.
	Verb string
	schema.GroupResource
	Subresource, Namespace, Name string
	// DryRun reports whether the request asks that nothing be stored.
	DryRun bool
	// Summary is what a write changes, briefly.
	Summary string
	// URL and Accept together identify a question: requests in which both are equal have equal answers.
	URL, Accept string
}

// Stores reports whether the request asks the server to change something.
func (r Request) Stores() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) && !r.DryRun
}

func (r Request) String() string {
	what := r.GroupResource.String()
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	return strings.Join(slices.DeleteFunc([]string{r.Verb, what, r.Name, r.Summary}, func(s string) bool { return s == "" }), " ")
}

// reader returns the API server's own parser of URLs.
func reader() *apirequest.RequestInfoFactory {
	return &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
}

// read returns what a request asks for. The body can still be read afterwards.
func (w *Wire) read(r *http.Request) (Request, error) {
	info, err := w.reader.NewRequestInfo(r)
	if err != nil {
		return Request{}, err
	}
	out := Request{
		Verb: info.Verb, GroupResource: schema.GroupResource{Group: info.APIGroup, Resource: info.Resource},
		Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
		DryRun: r.URL.Query().Has("dryRun"), URL: r.URL.String(), Accept: r.Header.Get("Accept"),
	}
	if !out.Stores() && !out.DryRun {
		return out, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Request{}, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	out.describe(r.Header.Get("Content-Type"), body)
	return out, nil
}

// describe fills in Summary and, for a creation, the name, from the body of a write. A body in protobuf (Secrets, Leases) is only called that, so the name of
// an object created by it stays unknown.
func (r *Request) describe(contentType string, body []byte) {
	contentType, _, _ = strings.Cut(contentType, ";")
	var content map[string]any
	if strings.HasSuffix(contentType, "protobuf") || yaml.Unmarshal(body, &content) != nil {
		r.Summary = contentType
		return
	}
	if metadata, ok := content["metadata"].(map[string]any); ok && r.Name == "" {
		r.Name, _ = metadata["name"].(string)
	}
	switch {
	case r.Verb == "delete":
		r.DryRun = r.DryRun || content["dryRun"] != nil
		r.Summary = fmt.Sprint(content["propagationPolicy"])
	case strings.HasPrefix(contentType, "application/apply-patch"):
		r.Summary = "apply"
	case r.Verb == "patch":
		r.Summary = brief(leaves("", content))
	}
}

// leaves returns the paths that a merge patch sets, with the values that fit a line. It leaves out resourceVersion, which is a lock and sets nothing.
func leaves(path string, value any) []string {
	switch v := value.(type) {
	case map[string]any:
		var out []string
		for key, below := range v {
			out = append(out, leaves(strings.TrimPrefix(path+"."+key, "."), below)...)
		}
		slices.Sort(out)
		return out
	case []any:
		if path == "metadata.finalizers" {
			return []string{fmt.Sprintf("%s=%v", path, v)}
		}
		return []string{fmt.Sprintf("%s[%d]", path, len(v))}
	}
	if path == "metadata.resourceVersion" {
		return nil
	}
	return []string{fmt.Sprintf("%s=%v", path, value)}
}

func brief(parts []string) string {
	const most = 240
	text := strings.Join(parts, " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
