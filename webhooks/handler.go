// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// maxBody is the maximum size of a body. It is more than an API server sends: a requested object of at most 3 MiB, the stored object, and the review around
// them.
const maxBody = 8 << 20

// handler answers the reviews of one route.
type handler struct {
	route   Route
	reader  reader
	lookups Lookups
	// gather is the time limit for all lookups of one review together.
	gather  time.Duration
	metrics *metrics
	log     logr.Logger
}

// guarded returns the handler behind a guard, whose refusals it counts.
func (h *handler) guarded(l *limits, draining func() bool) *guard {
	g := newGuard(h, l, draining)
	g.full = func() { h.metrics.failures.WithLabelValues(h.route.Name, failureRoom).Inc() }
	return g
}

// ServeHTTP answers one review. A body that is no review gets the status 400 and a sentence.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	h.metrics.inFlight.Inc()
	defer h.metrics.inFlight.Dec()
	req, status, err := receive(w, r)
	if err != nil {
		h.metrics.failures.WithLabelValues(h.route.Name, failureBody).Inc()
		http.Error(w, err.Error(), status)
		return
	}
	response := h.answer(r.Context(), req)
	h.metrics.reviews.WithLabelValues(h.route.Name, strconv.FormatBool(response.Allowed)).Observe(time.Since(began).Seconds())
	h.send(w, req, response)
}

// delivery is a body that has arrived, or what arrived of it and the error that ended it.
type delivery struct {
	*bytes.Reader
	all []byte
	err error
}

func (d *delivery) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if errors.Is(err, io.EOF) && d.err != nil {
		err = d.err
	}
	return n, err
}

func (*delivery) Close() error { return nil }

// read reads a body to its end. The parsed objects point into the body, so its buffer is not reused for another review.
func read(body io.Reader, promised int64) *delivery {
	b := bytes.NewBuffer(make([]byte, 0, roomFor(promised)))
	_, err := b.ReadFrom(body)
	return &delivery{bytes.NewReader(b.Bytes()), b.Bytes(), err}
}

// receive reads the review. If it returns an error, the integer is the HTTP status for the answer.
func receive(w http.ResponseWriter, r *http.Request) (*request, int, error) {
	if r.Method != http.MethodPost {
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("the method %s is not supported: POST an AdmissionReview", r.Method)
	}
	body, arrived := r.Body.(*delivery)
	if !arrived {
		body = read(http.MaxBytesReader(w, r.Body, maxBody), r.ContentLength)
	}
	if body.err != nil {
		if tooLarge := new(http.MaxBytesError); errors.As(body.err, &tooLarge) {
			return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is larger than %d bytes", tooLarge.Limit)
		}
		return nil, http.StatusBadRequest, fmt.Errorf("reading the body: %w", body.err)
	}
	req, err := parse(body.all)
	return req, http.StatusBadRequest, err
}

// answer returns the decision on one review. Any failure, even a panic, leads to an answer: a refusal, or a warning if the route's failure policy is Ignore.
func (h *handler) answer(ctx context.Context, req *request) (response *admissionv1.AdmissionResponse) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error(fmt.Errorf("panic: %v", p), "review failed", "uid", req.UID, "stack", string(debug.Stack()))
			response = h.undecided(h.open(), failurePanic, http.StatusInternalServerError, metav1.StatusReasonInternalError,
				"Poundlock failed while it checked this request. Poundlock's log has the reason, with the review's uid "+string(req.UID))
		}
	}()
	if h.route.Probe {
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{h.route.answer()}}
	}
	c, err := h.reader.change(h.route, req)
	if errors.Is(err, errNotOurs) {
		return &admissionv1.AdmissionResponse{Allowed: true}
	}
	if err != nil {
		return h.undecided(h.open(), failureRequest, http.StatusBadRequest, metav1.StatusReasonBadRequest, "Poundlock cannot read this request: "+err.Error())
	}
	if h.route.Mutating {
		return h.fill(ctx, c)
	}
	return h.judge(ctx, c)
}

// judge returns the answer of a validating route: it looks up the facts that the route's rules need, and evaluates the rules.
func (h *handler) judge(ctx context.Context, c policies.Change) *admissionv1.AdmissionResponse {
	c, doubts, err := h.facts(ctx, c, h.route.Rules.Needs(c))
	if err != nil {
		return h.unknown(c, err)
	}
	verdicts := h.route.Rules.Judge(c)
	h.metrics.judged(c, verdicts)
	return judged(c, verdicts, doubts)
}

// fill returns the answer of a mutating route: it looks up the facts that the route's defaulters need, and evaluates the defaulters.
func (h *handler) fill(ctx context.Context, c policies.Change) *admissionv1.AdmissionResponse {
	c, _, err := h.facts(ctx, c, h.route.Defaulters.Needs(c))
	if err != nil {
		return h.unknown(c, err)
	}
	response, err := defaulted(c.New, h.route.Defaulters.Patches(c))
	if err != nil {
		return h.undecided(h.open(), failureDefault, http.StatusInternalServerError, metav1.StatusReasonInternalError,
			"Poundlock cannot fill in its defaults: "+err.Error())
	}
	return response
}

// defaulted returns an answer that contains the defaults as a patch.
func defaulted(o *policies.Object, patches []policies.Patch) (*admissionv1.AdmissionResponse, error) {
	r := &admissionv1.AdmissionResponse{Allowed: true}
	if len(patches) == 0 {
		return r, nil
	}
	ops, err := policies.Operations(o, patches)
	if err != nil {
		return nil, err
	}
	if r.Patch, err = json.Marshal(ops); err != nil {
		return nil, fmt.Errorf("writing the patch: %w", err)
	}
	kind := admissionv1.PatchTypeJSONPatch
	r.PatchType = &kind
	return r, nil
}

// facts looks up the facts that needs names, all within h.gather. It returns the change with these facts, and sentences about facts that could not be looked up
// (Lookups.gather).
func (h *handler) facts(ctx context.Context, c policies.Change, needs policies.Need) (policies.Change, []string, error) {
	if needs == 0 && !emptiesNamespace(c) {
		return c, nil, nil
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, h.gather)
	defer cancel()
	c, doubts, err := h.lookups.gather(ctx, c, needs)
	h.metrics.gathers.WithLabelValues(h.route.Name).Observe(time.Since(began).Seconds())
	h.metrics.doubts.WithLabelValues(h.route.Name).Add(float64(len(doubts)))
	return c, doubts, err
}

// unknown returns the answer if a fact is missing on which the decision depends. On a route that fails open, it admits the request with a warning, else it
// refuses the request. Two kinds of requests are refused on every route: those that add the finalizer after which a controller has an instance created
// (authority.Begins), and a Machine of a MachineSet if the MachineSets or their Machines could not be read (errNotBegun).
func (h *handler) unknown(c policies.Change, err error) *admissionv1.AdmissionResponse {
	h.log.Error(err, "review not decided", "route", h.route.Name)
	asked := "which API is authoritative for this object"
	if c.Kind == controlplane.Kind {
		asked = "the Machines and Nodes of the control plane"
	}
	follows := "so nothing was changed; try again in a moment"
	open := h.open() && !authority.Begins(c) && !errors.Is(err, errNotBegun)
	if open {
		follows = "and the request is carried out anyway"
	}
	return h.undecided(open, failureFacts, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
		fmt.Sprintf("Poundlock could not look up %s, %s (%s)", asked, follows, unanswered(err)))
}

// unanswered returns why a lookup failed, in words for the user whose request is under review: what was looked up, and the error. If the API server was late,
// it replaces the client's part of the error, because each client words a timeout differently.
func unanswered(err error) string {
	late := errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		strings.Contains(err.Error(), "would exceed context deadline") // the error of the client's own rate limit, which has no type
	if !late {
		return err.Error()
	}
	cause := err
	for !clients(cause) && errors.Unwrap(cause) != nil {
		cause = errors.Unwrap(cause)
	}
	return strings.TrimSuffix(err.Error(), cause.Error()) + "the API server did not answer in time"
}

// clients reports whether an error was made by a client of the API server. The errors inside such an error are not for users.
func clients(err error) bool {
	switch err.(type) { //nolint:errorlint // of this error itself, and of none that it wraps
	case *url.Error, apierrors.APIStatus:
		return true
	}
	return strings.HasPrefix(err.Error(), "client rate limiter")
}

// open reports whether the API server admits a request that this route does not answer.
func (h *handler) open() bool { return h.route.FailurePolicy == admissionregistrationv1.Ignore }

// undecided returns an answer that admits a request with a warning if open is true, and else refuses the request.
func (h *handler) undecided(open bool, failure string, code int32, reason metav1.StatusReason, text string) *admissionv1.AdmissionResponse {
	h.metrics.failures.WithLabelValues(h.route.Name, failure).Inc()
	if open {
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: fit([]sentence{{text: "not checked: " + text}})}
	}
	return refused(code, reason, text)
}

// refused returns the answer that refuses a request because no decision could be made, with a sentence for the user.
func refused(code int32, reason metav1.StatusReason, text string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: text,
	}}
}

func (h *handler) send(w http.ResponseWriter, req *request, response *admissionv1.AdmissionResponse) {
	response.UID = req.UID
	w.Header().Set("Content-Type", "application/json")
	err := json.NewEncoder(w).Encode(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	})
	if err != nil && !errors.Is(err, io.ErrClosedPipe) {
		h.log.V(1).Info("the API server did not wait for the answer to a review", "uid", req.UID, "error", err.Error())
	}
}

// roomFor returns the initial size of a body's buffer: the announced length, but at most 64 KiB, which is enough for a common review, and bytes.Buffer's
// minimum for a read. Announcing a length costs the sender nothing, so a larger buffer grows only with the bytes that arrive.
func roomFor(promised int64) int64 { return min(max(promised, 0), 64<<10) + bytes.MinRead }
