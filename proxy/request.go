// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/translation"
)

const (
	// most is how many bytes a body may have that is translated as a whole. It is what an API server accepts: 3 MB.
	most = 3 << 20
	// small is how many bytes a body may have so that it is translated before the request is sent. Then a malformed body never reaches the API server, and the
	// request can have a Content-Length.
	small = 256 << 10
)

// request replaces the body of a client's request by its translation, or by a reader that translates it.
func (p *Proxy) request(r *http.Request, e *exchange) error {
	if e.Opaque || r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return &refusal{http.StatusUnsupportedMediaType, fmt.Sprintf("the API proxy cannot translate a request body with Content-Encoding %q: send "+
			"the body without compression", encoding)}
	}
	media := mediaType(r.Header.Get("Content-Type"))
	switch media {
	case "application/cbor", "application/apply-patch+cbor":
		return &refusal{http.StatusUnsupportedMediaType, "the API proxy cannot translate CBOR: send JSON"}
	case "application/json-patch+json":
		return replace(r, e, func(body []byte) ([]byte, error) { return translation.ToPrivate.Patch(e.Document, body) })
	case "application/vnd.kubernetes.protobuf":
		return replace(r, e, func(body []byte) ([]byte, error) { return translation.ToPrivate.Protobuf(e.Document, body) })
	case "application/yaml", "application/apply-patch+yaml":
		if media == "application/yaml" {
			r.Header.Set("Content-Type", usual)
		}
		return replace(r, e, func(body []byte) ([]byte, error) { return fromYAML(r, e, body) })
	case "", usual, "application/merge-patch+json", "application/strategic-merge-patch+json":
		if r.ContentLength > 0 && r.ContentLength <= small {
			return replace(r, e, func(body []byte) ([]byte, error) { return scanned(e.Document, body) })
		}
		r.Body = translation.NewReader(r.Body, translation.NewScanner(translation.ToPrivate, e.Document))
		r.ContentLength = -1
		r.Header.Del("Content-Length")
	}
	return nil // the API server refuses any other media type
}

// fromYAML returns the translation of a body with the media type of YAML, which may contain JSON. The result is JSON, which no longer shows names that occur
// twice. So the API server's validation of fields cannot find such names, and fromYAML treats them as that validation would.
func fromYAML(r *http.Request, e *exchange, body []byte) ([]byte, error) {
	if !translation.IsJSON(body) || !json.Valid(body) {
		became, twice, err := translation.YAML(body)
		if err != nil {
			return nil, err
		}
		if twice != nil {
			switch r.URL.Query().Get("fieldValidation") {
			case metav1.FieldValidationStrict:
				return nil, &refusal{http.StatusBadRequest, "strict decoding error: " + twice.Error()}
			case metav1.FieldValidationIgnore:
			default:
				e.warning = strings.Join(strings.Fields(twice.Error()), " ") // the text of a header is one line
			}
		}
		body = became
	}
	return scanned(e.Document, body)
}

func scanned(doc translation.Document, body []byte) ([]byte, error) {
	s := translation.NewScanner(translation.ToPrivate, doc)
	out, err := s.Append(make([]byte, 0, len(body)+len(body)/4), body)
	if err != nil {
		return nil, err
	}
	return s.Finish(out)
}

// replace reads the whole body of a request, and replaces it by what translate returns, before the request is sent.
func replace(r *http.Request, e *exchange, translate func([]byte) ([]byte, error)) error {
	begin := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	e.waits(begin)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the request body is longer than %d bytes, the maximum of an API server", most)}
	}
	if err != nil {
		return &refusal{http.StatusBadRequest, "reading the body: " + err.Error()}
	}
	if len(body) > 0 {
		if body, err = translate(body); err != nil {
			return err
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Header.Del("Content-Length")
	return nil
}
