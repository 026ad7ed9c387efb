// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/translation"
)

// errAnswer is wrapped by an error about an answer in a form that was not asked for.
var errAnswer = errors.New("the API server's answer cannot be translated")

// response translates the headers of an answer, and its body as it passes.
func (p *Proxy) response(r *http.Response) error {
	e := exchangeOf(r.Request.Context())
	for i, w := range r.Header["Warning"] {
		r.Header["Warning"][i] = translation.ToStandard.Prose(w)
	}
	if r.Request.Method == http.MethodHead {
		r.Header.Del("Content-Length") // of what it would be untranslated
		return nil
	}
	if r.StatusCode == http.StatusSwitchingProtocols || e.Opaque || r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Errorf("%w: it is compressed (%s), which was not asked for", errAnswer, encoding)
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case media == "application/json":
	case media == "text/plain" && e.Document == translation.OpenAPI && r.StatusCode == http.StatusOK: // the index is JSON, and called text
	case strings.Contains(media, "protobuf"), strings.Contains(media, "cbor"), strings.Contains(media, "yaml"):
		return fmt.Errorf("%w: it is %s, which was not asked for", errAnswer, media)
	default:
		return nil
	}
	scanner := translation.NewScanner
	if e.watch && r.StatusCode == http.StatusOK {
		scanner = translation.NewFrameScanner
	}
	r.Body = &body{proxy: p, request: r.Request, reader: translation.NewReader(r.Body, scanner(translation.ToStandard, e.Document))}
	if e.binary && r.StatusCode == http.StatusOK {
		return p.binary(r)
	}
	r.ContentLength = -1
	r.Header.Del("Content-Length")
	return nil
}

// openAPIBinary is the one form in which client-go reads version 2 of OpenAPI. The API server makes it from the JSON, which it has too, and calls it in its answer
// by a name that is a media type.
const openAPIBinary, openAPIBinaryType = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

// largest is how long a document of version 2 may be: an API server with hundreds of definitions has one of some 10 MB.
const largest = 64 << 20

// wantsBinary reports whether a client reads OpenAPI's binary form and no other.
func wantsBinary(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return r.Method == http.MethodGet && r.URL.Path == "/openapi/v2" && strings.Contains(accept, openAPIBinary) && !strings.Contains(accept, "json")
}

// binary puts a translated document of OpenAPI's version 2 into its binary form. It needs the whole document, so one is made at a time.
func (p *Proxy) binary(r *http.Response) error {
	p.oneBinary.Lock()
	defer p.oneBinary.Unlock()
	document, err := io.ReadAll(io.LimitReader(r.Body, largest+1))
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return fmt.Errorf("reading the API server's OpenAPI document: %w", err)
	}
	if len(document) > largest {
		return fmt.Errorf("%w: its OpenAPI document is longer than %d bytes", errAnswer, largest)
	}
	parsed, err := openapi_v2.ParseDocument(document)
	if err != nil {
		return fmt.Errorf("%w: its OpenAPI document has no binary form: %w", errAnswer, err)
	}
	content, err := proto.Marshal(parsed)
	if err != nil {
		return fmt.Errorf("%w: its OpenAPI document has no binary form: %w", errAnswer, err)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	r.Header.Set("Content-Type", openAPIBinaryType)
	r.Header.Set("Content-Length", strconv.Itoa(len(content)))
	return nil
}

// body is an answer's. An error that comes from it breaks the connection to the client.
type body struct {
	proxy   *Proxy
	request *http.Request
	reader  *translation.Reader
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.request.Context().Err() == nil && translation.Malformed(err) {
		b.proxy.untranslated(b.request, err)
	}
	return n, err
}

func (b *body) Close() error { return b.reader.Close() }

// refusal is an error that is answered with a Status.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return r.message }

var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotAcceptable: metav1.StatusReasonNotAcceptable,
	http.StatusUnsupportedMediaType: metav1.StatusReasonUnsupportedMediaType, http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusBadGateway: metav1.StatusReasonInternalError,
}

func (p *Proxy) write(w http.ResponseWriter, r *refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(r.code)
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(r.code), Reason: reasons[r.code],
		Message: "poundlock proxy: " + r.message,
	}
	if err := json.NewEncoder(w).Encode(status); err != nil {
		p.log.Debug("Nobody read an answer", "error", err)
	}
}
