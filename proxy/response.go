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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/poundlock/poundlock/translation"
)

// errAnswer is wrapped by an error about an answer that cannot be translated, such as one in a form that the proxy did not ask for.
var errAnswer = errors.New("the API proxy cannot translate the API server's answer")

// response translates the headers of an answer, and replaces its body by one that is translated while it passes.
func (p *Proxy) response(r *http.Response) error {
	e := exchangeOf(r.Request.Context())
	for i, w := range r.Header["Warning"] {
		r.Header["Warning"][i] = translation.ToStandard.Prose(w)
	}
	if !e.Opaque {
		r.Header.Del("Accept-Ranges")
		if to := r.Header.Get("Location"); to != "" { // of an OpenAPI document that has changed since the client read the index
			r.Header.Set("Location", translation.ToStandard.Path(to))
		}
	}
	if e.warning != "" {
		if w, err := utilnet.NewWarningHeader(299, "-", e.warning); err == nil {
			r.Header.Add("Warning", w)
		}
	}
	if r.Request.Method == http.MethodHead {
		r.Header.Del("Content-Length") // it would be the length of the untranslated answer
		return nil
	}
	if r.StatusCode == http.StatusSwitchingProtocols || r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil
	}
	length := r.ContentLength
	r.ContentLength = -1 // makes httputil.ReverseProxy pass on each piece as it comes, even if the header has a length
	if e.Opaque {
		return nil
	}
	r.Body = received{r.Body, e}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Errorf("%w: the answer is compressed (%s), although the proxy did not request that", errAnswer, encoding)
	}
	media := mediaType(r.Header.Get("Content-Type"))
	switch {
	case media == usual:
	case media == "text/plain" && e.Document == translation.OpenAPI && r.StatusCode == http.StatusOK: // the index of OpenAPI is JSON, but has this media type
	case (media == "text/plain" || media == "text/html") && r.StatusCode >= http.StatusMultipleChoices:
		return sentence(r)
	case strings.Contains(media, "protobuf"), strings.Contains(media, "cbor"), strings.Contains(media, "yaml"):
		return fmt.Errorf("%w: the answer is %s, although the proxy did not request that", errAnswer, media)
	default:
		return nil
	}
	scanner, frames := translation.NewScanner, false
	switch method := r.Request.Method; {
	case e.watch && r.StatusCode == http.StatusOK:
		scanner, frames = translation.NewFrameScanner, true
	case e.Name == "" && (method == http.MethodGet || method == http.MethodDelete): // the answer to the deletion of a collection is the list of deleted objects
		scanner = translation.NewListScanner
	}
	translated := translation.NewReader(r.Body, scanner(translation.ToStandard, e.Document))
	if e.form != nil && r.StatusCode == http.StatusOK {
		return p.whole(r, translated, e.form)
	}
	r.Header.Del("Content-Length")
	r.Body = &body{proxy: p, request: r.Request, reader: translated}
	if frames || length > lead {
		return nil
	}
	return leading(r, e, translated)
}

// lead is how many bytes of a document are translated before the client gets any of them. A client cannot use a part of a document. A document shorter than
// lead is sent in one piece and with its length, which costs client and proxy less than several pieces. If it cannot be translated, the client gets an error
// instead of an answer that breaks off.
const lead = 16 << 10

func leading(r *http.Response, e *exchange, translated *translation.Reader) error {
	length, whole, err := translated.Lead(lead)
	if err != nil {
		if err = within(translated, err); translation.Malformed(err) {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		return fmt.Errorf("reading its answer: %w", err)
	}
	if whole {
		setLength(r, length)
		e.left = length
	}
	return nil
}

// usual is the media type of nearly all bodies.
const usual = "application/json"

// mediaType returns a media type without its parameters.
func mediaType(whole string) string {
	if whole == usual {
		return usual
	}
	media, _, _ := mime.ParseMediaType(whole)
	return media
}

// longest is how many bytes an error in plain text may have. An API server's error is one sentence.
const longest = 64 << 10

// sentence translates the body of an error or a redirection that the API server answers in plain text.
func sentence(r *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(r.Body, longest+1))
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return fmt.Errorf("reading the API server's error: %w", err)
	}
	if len(text) > longest {
		return fmt.Errorf("%w: the answer is %s with more than %d bytes of text", errAnswer, r.Status, longest)
	}
	setBody(r, []byte(translation.ToStandard.Prose(string(text))))
	return nil
}

func setBody(r *http.Response, content []byte) {
	r.Body = io.NopCloser(bytes.NewReader(content))
	setLength(r, len(content))
}

func setLength(r *http.Response, length int) {
	r.ContentLength = int64(length)
	r.Header.Set("Content-Length", strconv.Itoa(length))
}

// body is the translated body of an answer. If a Read returns an error, the connection to the client breaks.
type body struct {
	proxy   *Proxy
	request *http.Request
	reader  *translation.Reader
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.reader.Read(p)
	if err == nil || errors.Is(err, io.EOF) || b.request.Context().Err() != nil {
		return n, err
	}
	if err = within(b.reader, err); translation.Malformed(err) {
		b.proxy.untranslated(b.request, err)
	}
	return n, err
}

// within returns an error about the answer if the API server broke off within a document. It returns any other error unchanged.
func within(r *translation.Reader, err error) error {
	if middle := r.Whole(); middle != nil && !translation.Malformed(err) {
		return fmt.Errorf("%w: %w", middle, err)
	}
	return err
}

func (b *body) Close() error { return b.reader.Close() }

// refusal is an error that the client gets as a Status.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return r.message }

var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusForbidden: metav1.StatusReasonForbidden,
	http.StatusNotAcceptable:        metav1.StatusReasonNotAcceptable,
	http.StatusUnsupportedMediaType: metav1.StatusReasonUnsupportedMediaType, http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusBadGateway: metav1.StatusReasonInternalError, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
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
