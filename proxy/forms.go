// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/translation"
)

// form is a form other than JSON in which a client asks for an answer. The API server could answer in this form, too, but the proxy asks for JSON, because only
// JSON can be translated.
type form struct {
	media string
	of    func(document []byte) ([]byte, error)
	// largest is how many bytes the JSON document may have to be converted to the form.
	largest int
}

// binary is the form in which client-go reads version 2 of OpenAPI. The media type that client-go asks for is not a valid one, so the API server answers with
// another name for it. The document of an API server with hundreds of definitions has some 10 MB.
var binary = &form{"application/com.github.proto-openapi.spec.v2.v1.0+protobuf", func(document []byte) ([]byte, error) {
	parsed, err := openapi_v2.ParseDocument(document)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(parsed)
}, 64 << 20}

const binaryAsked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

// written is YAML, for which people ask. The conversion takes many times the memory of its document.
var written = &form{"application/yaml", yaml.JSONToYAML, 1 << 20}

// wanted returns the form for which a client asks, if that is not JSON; nil otherwise.
func wanted(r *http.Request, e *exchange) *form {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	first, _, _ := strings.Cut(accept, ",")
	switch {
	case r.Method != http.MethodGet || e.Opaque || e.watch: // only for a GET: a write must not be reported as refused because its answer is too long
	case r.URL.Path == "/openapi/v2" && strings.Contains(accept, binaryAsked) && !strings.Contains(accept, "json"):
		return binary
	case mediaType(first) == written.media:
		return written
	}
	return nil
}

// whole converts a translated answer to another form. It needs the whole document in memory, so it runs for only one answer at a time.
func (p *Proxy) whole(r *http.Response, translated *translation.Reader, f *form) error {
	p.oneForm.Lock()
	defer p.oneForm.Unlock()
	document, err := io.ReadAll(io.LimitReader(translated, int64(f.largest)+1))
	if err != nil {
		err = within(translated, err)
	}
	if err = errors.Join(err, translated.Close()); err != nil {
		return fmt.Errorf("%w: %w", errAnswer, err)
	}
	if len(document) > f.largest {
		return &refusal{http.StatusNotAcceptable,
			fmt.Sprintf("an answer of more than %d bytes cannot be converted to %s: accept application/json, or request fewer objects with the "+
				"parameter limit", f.largest, f.media)}
	}
	content, err := f.of(document)
	if err != nil {
		return fmt.Errorf("%w: the answer cannot be converted to %s: %w", errAnswer, f.media, err)
	}
	setBody(r, content)
	r.Header.Set("Content-Type", f.media)
	return nil
}
