// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/translation"
)

// converter is an upstream that only sets versions, and remembers its requests.
type converter struct {
	mu   sync.Mutex
	sent []string
	// spoil changes the answer, or writes another one in its place.
	spoil func(w http.ResponseWriter, r *apiextensionsv1.ConversionReview) bool
}

func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path != "/convert" { // the probe has another path
		http.NotFound(w, r)
		return
	}
	c.sent = append(c.sent, string(body))
	review := &apiextensionsv1.ConversionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		panic(err)
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, o := range review.Request.Objects {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(o.Raw); err != nil {
			panic(err)
		}
		u.SetAPIVersion(review.Request.DesiredAPIVersion)
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: u})
	}
	review.Request = nil
	if c.spoil != nil && c.spoil(w, review) {
		return
	}
	if err := json.NewEncoder(w).Encode(review); err != nil {
		panic(err)
	}
}

func (c *converter) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sent)
}

// listening serves a converter, and returns its URL and the file of its CA.
func (c *converter) listening(t *testing.T) (address, ca string) {
	t.Helper()
	server := httptest.NewTLSServer(c)
	t.Cleanup(server.Close)
	return server.URL + "/convert", authority(t, server)
}

func authority(t *testing.T, server *httptest.Server) string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca
}

func quick(t *testing.T, ca string, upstreams ...string) *Shim {
	t.Helper()
	s, err := New(Options{Upstreams: upstreams, Trust: rest.TLSClientConfig{CAFile: ca}, Log: slog.New(slog.DiscardHandler),
		Backoff: time.Millisecond, MaxBytes: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask posts a body as the API server does.
func ask(t *testing.T, s *Shim, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/convert", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

const (
	p = translation.Private
	s = translation.Standard
)

func reviewOf(version, desired string, objects ...string) string {
	return fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/%s","request":{"uid":"u-1","desiredAPIVersion":%q,"objects":[%s]}}`,
		version, desired, strings.Join(objects, ","))
}

func machine(apiVersion, name string) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":"Machine","metadata":{"name":%q,"namespace":"n","uid":"m-1"}}`, apiVersion, name)
}

// Group names in the objects are the standard ones for the converter, and the private ones for the API server. Labels, annotations and finalizers are the same
// for both.
func TestObjectsAreTranslatedBothWays(t *testing.T) {
	c := &converter{}
	address, ca := c.listening(t)
	shim := quick(t, ca, s+"="+address)
	object := func(group, version, owner string) string {
		return fmt.Sprintf(`{"apiVersion":"%[1]s/%[2]s","kind":"Machine","metadata":{"name":"m","namespace":"n","uid":"m-1",
			"labels":{"cluster.x-k8s.io/cluster-name":"%[4]s","apiVersion":"%[4]s/v1"},
			"annotations":{"cluster.x-k8s.io/conversion-data":"{\"apiVersion\":\"%[4]s/v1\"}","cluster.x-k8s.io/paused":"cluster.x-k8s.io/v1"},
			"finalizers":["machine.cluster.x-k8s.io"],
			"ownerReferences":[{"apiVersion":"%[1]s/v1beta1","kind":"MachineSet","name":"s","uid":"1"},{"apiVersion":"%[3]s/v1","kind":"Cluster","name":"platform","uid":"2"}],
			"managedFields":[{"manager":"m","operation":"Update","apiVersion":"%[1]s/v1beta1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:%[4]s/v1":{}}}}}]},
			"spec":{"infrastructureRef":{"apiGroup":"infrastructure.%[1]s","kind":"AWSMachine","name":"i"},"bootstrap":{"configRef":{"apiVersion":"bootstrap.%[1]s/v1beta1","kind":"K","name":"b"}},
			"template":{"metadata":{"labels":{"apiVersion":"%[4]s/v1"}}},"other":{"apiVersion":"hypershift.openshift.io/v1beta1"}},
			"status":{"nodeRef":{"apiVersion":"v1"},"failureMessage":"%[4]s/v1 is text"}}`, group, version, owner, p)
	}
	w := ask(t, shim, reviewOf("v1", p+"/v1beta2", object(p, "v1beta1", s), object(p, "v1alpha4", s)))
	if w.Code != http.StatusOK || c.calls() != 1 {
		t.Fatal(w.Code, w.Body, c.sent)
	}
	equal(t, "the converter was sent", c.sent[0], reviewOf("v1", s+"/v1beta2", object(s, "v1beta1", translation.Foreign),
		object(s, "v1alpha4", translation.Foreign)))
	equal(t, "the API server got", w.Body.String(),
		fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u-1","convertedObjects":[%s,%s],"result":{"status":"Success"}}}`,
			object(p, "v1beta2", s), object(p, "v1beta2", s)))
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	var is, should any
	if err := json.Unmarshal([]byte(got), &is); err != nil {
		t.Fatalf("%s: %s: %s", what, err, got)
	}
	if err := json.Unmarshal([]byte(want), &should); err != nil {
		t.Fatal(err, want)
	}
	if d := gocmp.Diff(should, is); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestAnswers(t *testing.T) {
	good := reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"), machine(p+"/v1beta1", "b"))
	respond := func(code int, body string) func(http.ResponseWriter, *apiextensionsv1.ConversionReview) bool {
		return func(w http.ResponseWriter, _ *apiextensionsv1.ConversionReview) bool {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		}
	}
	change := func(f func(*apiextensionsv1.ConversionReview)) func(http.ResponseWriter, *apiextensionsv1.ConversionReview) bool {
		return func(_ http.ResponseWriter, r *apiextensionsv1.ConversionReview) bool {
			f(r)
			return false
		}
	}
	object := func(r *apiextensionsv1.ConversionReview) *unstructured.Unstructured {
		return r.Response.ConvertedObjects[1].Object.(*unstructured.Unstructured)
	}
	for why, c := range map[string]struct {
		body   string
		suffix string // the suffix of the groups of the only upstream
		spoil  func(http.ResponseWriter, *apiextensionsv1.ConversionReview) bool

		code    int      // 200 if 0
		names   []string // of the converted objects, with their versions
		message string   // if it failed
		errors  string   // the error type that is counted
		calls   int
	}{
		"version v1":      {body: good, names: []string{"a v1beta2", "b v1beta2"}, calls: 1},
		"version v1beta1": {body: reviewOf("v1beta1", p+"/v1beta2", machine(p+"/v1beta1", "a")), names: []string{"a v1beta2"}, calls: 1},
		"no objects":      {body: reviewOf("v1", p+"/v1beta2")},
		"objects that have the version already keep their place, and no converter sees them": {
			body:  reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta2", "a"), machine(p+"/v1beta1", "b"), machine(p+"/v1beta2", "c")),
			names: []string{"a v1beta2", "b v1beta2", "c v1beta2"}, calls: 1,
		},
		"nothing to convert": {body: reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta2", "a")), names: []string{"a v1beta2"}},
		"objects of several versions": {
			body: reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"), machine(p+"/v1alpha4", "b")), names: []string{"a v1beta2", "b v1beta2"}, calls: 1,
		},
		"another uid from the converter": {
			body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { r.Response.UID = "u-2" }), names: []string{"a v1beta2", "b v1beta2"},
			errors: uidMismatch, calls: 1,
		},

		"to a standard version":           {body: reviewOf("v1", s+"/v1beta2", machine(p+"/v1beta1", "a")), message: "request.desiredAPIVersion", errors: invalidRequest},
		"to a version of another group":   {body: reviewOf("v1", "apps/v1", machine(p+"/v1beta1", "a")), message: "request.desiredAPIVersion", errors: invalidRequest},
		"to an empty version":             {body: reviewOf("v1", "", machine(p+"/v1beta1", "a")), message: "request.desiredAPIVersion", errors: invalidRequest},
		"to a group without a version":    {body: reviewOf("v1", p, machine(p+"/v1beta1", "a")), message: "request.desiredAPIVersion", errors: invalidRequest},
		"to a malformed version":          {body: reviewOf("v1", p+"/v1/v2", machine(p+"/v1beta1", "a")), message: "request.desiredAPIVersion", errors: invalidRequest},
		"an object of a standard group":   {body: reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"), machine(s+"/v1beta1", "b")), message: "request.objects[1].apiVersion", errors: invalidRequest},
		"an object of another group":      {body: reviewOf("v1", p+"/v1beta2", machine("apps/v1", "a")), message: "request.objects[0].apiVersion", errors: invalidRequest},
		"a group that no upstream is for": {body: reviewOf("v1", "ipam."+p+"/v1beta2", machine("ipam."+p+"/v1beta1", "a")), suffix: "bootstrap." + s, message: "--upstream ipam.cluster.x-k8s.io=URL", errors: notConfigured},

		"the converter fails": {
			body: good, message: `URL answered "Failure": cannot convert cluster.hypershift.openshift.io/v1beta1 Machine`, errors: upstreamFailed, calls: 1,
			spoil: change(func(r *apiextensionsv1.ConversionReview) {
				r.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: "cannot convert cluster.x-k8s.io/v1beta1 Machine"}
			}),
		},
		"the converter refuses":                  {body: good, spoil: respond(http.StatusBadRequest, ""), message: "URL answered 400 Bad Request", errors: upstreamFailed, calls: 1},
		"the converter is somewhere else":        {body: good, spoil: respond(http.StatusMovedPermanently, ""), message: "URL answered 301", errors: upstreamFailed, calls: 1},
		"the converter breaks":                   {body: good, spoil: respond(http.StatusInternalServerError, ""), message: "URL answered 500", errors: upstreamFailed, calls: 1},
		"the converter's answer is no JSON":      {body: good, spoil: respond(http.StatusOK, "hello"), message: "URL cannot be translated", errors: translationFailed, calls: 1},
		"the converter's answer is cut off":      {body: good, spoil: respond(http.StatusOK, `{"kind":"ConversionReview"`), message: "URL cannot be translated", errors: translationFailed, calls: 1},
		"the converter's answer is empty":        {body: good, spoil: respond(http.StatusOK, ""), message: "URL cannot be translated", errors: translationFailed, calls: 1},
		"the converter's answer is too large":    {body: good, spoil: respond(http.StatusOK, `"`+strings.Repeat("x", 300_000)+`"`), message: "URL cannot be translated", errors: translationFailed, calls: 1},
		"the converter's answer is no review":    {body: good, spoil: respond(http.StatusOK, `{"kind":"Status","apiVersion":"v1"}`), message: "URL answered with no review", errors: translationFailed, calls: 1},
		"the converter's answer has no response": {body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { r.Response = nil }), message: "has no response", errors: translationFailed, calls: 1},
		"an object is missing": {
			body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) {
				r.Response.ConvertedObjects = r.Response.ConvertedObjects[1:]
			}),
			message: "1 objects instead of 2", errors: translationFailed, calls: 1,
		},
		"the order changed": {
			body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { slices.Reverse(r.Response.ConvertedObjects) }), message: "does not match the request",
			errors: translationFailed, calls: 1,
		},
		"a version is not what was asked for": {
			body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { object(r).SetAPIVersion(s + "/v1alpha4") }), message: "convertedObjects[1]",
			errors: translationFailed, calls: 1,
		},
		"a kind changed":      {body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { object(r).SetKind("MachineSet") }), message: "convertedObjects[1]", errors: translationFailed, calls: 1},
		"a name changed":      {body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { object(r).SetName("c") }), message: "convertedObjects[1]", errors: translationFailed, calls: 1},
		"a uid changed":       {body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { object(r).SetUID("c") }), message: "convertedObjects[1]", errors: translationFailed, calls: 1},
		"a namespace is gone": {body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { object(r).SetNamespace("") }), message: " Machine b (uid", errors: translationFailed, calls: 1},
		"a namespace is new":  {body: good, spoil: change(func(r *apiextensionsv1.ConversionReview) { object(r).SetNamespace("c") }), message: "convertedObjects[1]", errors: translationFailed, calls: 1},

		"no JSON":                  {body: "hello", code: http.StatusBadRequest, errors: invalidRequest},
		"an empty body":            {body: "", code: http.StatusBadRequest, errors: invalidRequest},
		"a review that is cut off": {body: good[:len(good)-2], code: http.StatusBadRequest, errors: invalidRequest},
		"something behind it":      {body: good + "{}", code: http.StatusBadRequest, errors: invalidRequest},
		"another kind":             {body: strings.Replace(good, "ConversionReview", "AdmissionReview", 1), code: http.StatusBadRequest, errors: invalidRequest},
		"another group":            {body: strings.Replace(good, "apiextensions.k8s.io", "admission.k8s.io", 1), code: http.StatusBadRequest, errors: invalidRequest},
		"another version":          {body: strings.Replace(good, "k8s.io/v1", "k8s.io/v2", 1), code: http.StatusBadRequest, errors: invalidRequest},
		"no request":               {body: `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, code: http.StatusBadRequest, errors: invalidRequest},
		"an object that is a list": {body: reviewOf("v1", p+"/v1beta2", `[]`), code: http.StatusBadRequest, errors: invalidRequest},
		"too large":                {body: reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", strings.Repeat("x", 100_000))), code: http.StatusRequestEntityTooLarge, errors: invalidRequest},
	} {
		t.Run(why, func(t *testing.T) {
			upstream := &converter{spoil: c.spoil}
			address, ca := upstream.listening(t)
			shim := quick(t, ca, cmp.Or(c.suffix, s)+"="+address)
			w := ask(t, shim, c.body)
			if w.Code != cmp.Or(c.code, http.StatusOK) {
				t.Errorf("answered %d: %s", w.Code, w.Body)
			}
			for _, errorType := range []string{unavailable, translationFailed, upstreamFailed, notConfigured, uidMismatch, invalidRequest, overloaded} {
				want := 0.0
				if errorType == c.errors {
					want = 1
				}
				if got := testutil.ToFloat64(shim.metrics.errors.WithLabelValues(errorType)); got != want {
					t.Errorf("counted %v errors of the type %s", got, errorType)
				}
			}
			want := map[string]int{"success": 1}
			if c.errors != "" { // a review that was counted as an error did not succeed
				want = map[string]int{"failure": 1}
			}
			if got := results(t, shim.metrics.requests); !maps.Equal(got, want) {
				t.Errorf("counted the results %v", got)
			}
			if got := upstream.calls(); got != c.calls {
				t.Errorf("the converter was called %d times", got)
			}
			if c.code != 0 {
				return
			}
			answer := &apiextensionsv1.ConversionReview{}
			if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil || answer.Response == nil || answer.Kind != "ConversionReview" || answer.Response.UID != "u-1" {
				t.Fatal(err, w.Body)
			}
			if want := regexp.MustCompile(`"apiVersion":"(apiextensions[^"]*)"`).FindStringSubmatch(c.body)[1]; answer.APIVersion != want {
				t.Errorf("a review of %s was answered with one of %s", want, answer.APIVersion)
			}
			result := answer.Response.Result
			if message := strings.ReplaceAll(result.Message, address, "URL"); (c.message == "") != (result.Status == metav1.StatusSuccess) ||
				!strings.Contains(message, c.message) {
				t.Errorf("the result is %s: %s", result.Status, message)
			}
			var names []string
			for _, o := range answer.Response.ConvertedObjects {
				u := &unstructured.Unstructured{}
				if err := u.UnmarshalJSON(o.Raw); err != nil {
					t.Fatal(err)
				}
				names = append(names, u.GetName()+" "+strings.TrimPrefix(u.GetAPIVersion(), p+"/"))
			}
			if d := gocmp.Diff(c.names, names); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWhatIsNoReview(t *testing.T) {
	c := &converter{}
	address, ca := c.listening(t)
	shim := quick(t, ca, s+"="+address)
	for why, r := range map[string]struct {
		method, media string
		code          int
	}{
		"a GET":              {http.MethodGet, "application/json", http.StatusMethodNotAllowed},
		"a PUT":              {http.MethodPut, "application/json", http.StatusMethodNotAllowed},
		"YAML":               {http.MethodPost, "application/yaml", http.StatusUnsupportedMediaType},
		"no type":            {http.MethodPost, "", http.StatusUnsupportedMediaType},
		"a malformed type":   {http.MethodPost, "application/json; ;", http.StatusUnsupportedMediaType},
		"JSON with a params": {http.MethodPost, "application/json; charset=utf-8", http.StatusOK},
	} {
		t.Run(why, func(t *testing.T) {
			q := httptest.NewRequestWithContext(t.Context(), r.method, "/convert", strings.NewReader(reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"))))
			q.Header.Set("Content-Type", r.media)
			w := httptest.NewRecorder()
			shim.ServeHTTP(w, q)
			if w.Code != r.code || (w.Code == http.StatusMethodNotAllowed) != (w.Header().Get("Allow") == http.MethodPost) {
				t.Error(w.Code, w.Header(), w.Body)
			}
		})
	}
}

// A transient failure is retried, and the API server gets no error.
func TestATransientFailureIsTriedAgain(t *testing.T) {
	for why, fail := range map[string]func(http.ResponseWriter){
		"502":                      func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"503":                      func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"504":                      func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) },
		"429":                      func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
		"a connection that breaks": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"an answer that breaks off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"kind":"ConversionReview",`)
		},
	} {
		t.Run(why, func(t *testing.T) {
			c, failures := &converter{}, 2
			c.spoil = func(w http.ResponseWriter, _ *apiextensionsv1.ConversionReview) bool {
				if failures--; failures >= 0 {
					fail(w)
				}
				return failures >= 0
			}
			address, ca := c.listening(t)
			shim := quick(t, ca, s+"="+address)
			w := ask(t, shim, reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a")))
			if !strings.Contains(w.Body.String(), `"Success"`) || c.calls() != 3 || c.sent[0] != c.sent[2] {
				t.Error(w.Body, c.sent)
			}
			if n := testutil.ToFloat64(shim.metrics.requests.WithLabelValues("v1beta1", "v1beta2", "machine", "success")); n != 1 {
				t.Errorf("%v requests succeeded", n)
			}
		})
	}
}

// If a converter is away for longer than the API server waits, the answer names it.
func TestAnUpstreamThatStaysAway(t *testing.T) {
	var log bytes.Buffer
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	upstream := "https://" + l.Addr().String() + "/convert"
	shim, err := New(Options{Upstreams: []string{s + "=" + upstream}, Budget: 50 * time.Millisecond, Backoff: time.Millisecond,
		Log: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w := ask(t, shim, reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a")))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "the converter "+upstream+" is unavailable: ") ||
		!strings.Contains(w.Body.String(), `"Failure"`) {
		t.Error(w.Code, w.Body)
	}
	if !strings.Contains(log.String(), `"level":"ERROR","msg":"Upstream webhook unavailable"`) || !strings.Contains(log.String(), upstream) {
		t.Error(&log)
	}
	if n := testutil.ToFloat64(shim.metrics.errors.WithLabelValues(unavailable)); n != 1 {
		t.Errorf("counted %v", n)
	}
}

// If a converter hangs, the shim gives up on it after an attempt's time, and asks another replica.
func TestAnUpstreamThatHangs(t *testing.T) {
	let := make(chan struct{})
	var calls atomic.Int32
	c := &converter{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			<-let
			return
		}
		c.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer close(let)
	shim, err := New(Options{
		Upstreams: []string{s + "=" + server.URL + "/convert"}, Trust: rest.TLSClientConfig{CAFile: authority(t, server)},
		Attempt: 200 * time.Millisecond, Backoff: time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(t, shim, reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"))); !strings.Contains(w.Body.String(), `"Success"`) {
		t.Error(w.Body)
	}
}

// Reviews beyond the concurrency are sent back with a Retry-After.
func TestTooManyAtOnce(t *testing.T) {
	let, inside := make(chan struct{}), make(chan struct{})
	c := &converter{spoil: func(http.ResponseWriter, *apiextensionsv1.ConversionReview) bool {
		inside <- struct{}{}
		<-let
		return false
	}}
	address, ca := c.listening(t)
	shim, err := New(Options{Upstreams: []string{s + "=" + address}, Trust: rest.TLSClientConfig{CAFile: ca}, Concurrency: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	review := reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"))
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- ask(t, shim, review) }()
	<-inside
	if w := ask(t, shim, review); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Error(w.Code, w.Header())
	}
	close(let)
	if w := <-first; w.Code != http.StatusOK {
		t.Error(w.Code)
	}
	go func() { <-inside }()
	if w := ask(t, shim, review); w.Code != http.StatusOK {
		t.Error("a slot was not given back:", w.Code)
	}
	if n := testutil.ToFloat64(shim.metrics.errors.WithLabelValues(overloaded)); n != 1 {
		t.Errorf("counted %v", n)
	}
}

// A caller that stops sending loses its slot after an attempt's time.
func TestABodyThatDoesNotCome(t *testing.T) {
	c := &converter{}
	address, ca := c.listening(t)
	shim, err := New(Options{Upstreams: []string{s + "=" + address}, Trust: rest.TLSClientConfig{CAFile: ca}, Concurrency: 1, Attempt: 100 * time.Millisecond,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(shim)
	defer server.Close()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprint(connection, "POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil || answer.StatusCode != http.StatusRequestTimeout {
		t.Fatal(answer, err)
	}
	if w := ask(t, shim, reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"))); w.Code != http.StatusOK {
		t.Error(w.Code, w.Body)
	}
}

// A caller that sends slowly keeps no slot from others.
func TestABodyOnItsWayTakesNoSlot(t *testing.T) {
	c := &converter{}
	address, ca := c.listening(t)
	shim, err := New(Options{Upstreams: []string{s + "=" + address}, Trust: rest.TLSClientConfig{CAFile: ca}, Concurrency: 1,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	body, sender := io.Pipe()
	slow := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/convert", body)
	slow.Header.Set("Content-Type", "application/json")
	first := httptest.NewRecorder()
	ended := make(chan struct{})
	go func() {
		shim.ServeHTTP(first, slow)
		close(ended)
	}()
	review := reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"))
	_, _ = io.WriteString(sender, review[:1]) // returns once it is read
	if w := ask(t, shim, review); w.Code != http.StatusOK {
		t.Error(w.Code, w.Body)
	}
	_, _ = io.WriteString(sender, review[1:])
	_ = sender.Close()
	if <-ended; first.Code != http.StatusOK {
		t.Error(first.Code, first.Body)
	}
}

// results returns the counts of a counter's requests by their label "result".
func results(t *testing.T, requests *prometheus.CounterVec) map[string]int {
	t.Helper()
	registry, n := prometheus.NewPedanticRegistry(), map[string]int{}
	registry.MustRegister(requests)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "result" {
					n[label.GetValue()] += int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return n
}

// The metrics have the names and labels that the document fixes, and finitely many series.
func TestMetrics(t *testing.T) {
	c := &converter{}
	address, ca := c.listening(t)
	registry := prometheus.NewPedanticRegistry()
	shim, err := New(Options{Upstreams: []string{s + "=" + address}, Trust: rest.TLSClientConfig{CAFile: ca}, Registerer: registry,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, shim, reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a")))
	ask(t, shim, reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"), machine(p+"/v1alpha4", "b")))
	ask(t, shim, reviewOf("v1", p+"/v1beta2"))
	ask(t, shim, "hello")
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP hypershift_conversion_webhook_requests_total Conversion requests that the shim answered, by version, resource and result. A request that is not a conversion request has the label values unknown.
# TYPE hypershift_conversion_webhook_requests_total counter
hypershift_conversion_webhook_requests_total{from_version="mixed",resource="machine",result="success",to_version="v1beta2"} 1
hypershift_conversion_webhook_requests_total{from_version="none",resource="none",result="success",to_version="v1beta2"} 1
hypershift_conversion_webhook_requests_total{from_version="unknown",resource="unknown",result="failure",to_version="unknown"} 1
hypershift_conversion_webhook_requests_total{from_version="v1beta1",resource="machine",result="success",to_version="v1beta2"} 1
# HELP hypershift_conversion_webhook_errors_total Conversion requests that failed, by the type of the error: at most one error for each request.
# TYPE hypershift_conversion_webhook_errors_total counter
hypershift_conversion_webhook_errors_total{error_type="invalid-request"} 1
hypershift_conversion_webhook_errors_total{error_type="overloaded"} 0
hypershift_conversion_webhook_errors_total{error_type="translation-failed"} 0
hypershift_conversion_webhook_errors_total{error_type="upstream-failed"} 0
hypershift_conversion_webhook_errors_total{error_type="upstream-not-configured"} 0
hypershift_conversion_webhook_errors_total{error_type="upstream-uid-mismatch"} 0
hypershift_conversion_webhook_errors_total{error_type="upstream-webhook-unavailable"} 0
`), "hypershift_conversion_webhook_requests_total", "hypershift_conversion_webhook_errors_total"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(err, problems)
	}
	for i := range 2 * most {
		ask(t, shim, reviewOf("v1", p+"/v1", machine(fmt.Sprintf("%s/v%d", p, i), "a")))
	}
	ask(t, shim, reviewOf("v1", p+"/v1", machine(p+"/v1"+strings.Repeat("1", 1000), "a")))
	text, err := testutil.CollectAndFormat(shim.metrics.requests, expfmt.TypeTextPlain, "hypershift_conversion_webhook_requests_total")
	if err != nil || strings.Contains(string(text), strings.Repeat("1", 100)) {
		t.Error("a label of any length:", err)
	}
	if n := testutil.CollectAndCount(shim.metrics.requests); n > most+1 {
		t.Errorf("%d series", n)
	}
}

// certificate is a certificate that never changes.
type certificate struct {
	tls.Certificate
	missing error
}

func (c *certificate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return &c.Certificate, c.missing
}
func (c *certificate) Ready(*http.Request) error { return c.missing }

// A replica becomes ready once an upstream has answered, and stays so when the upstream is lost. A review in progress is answered before the shim ends, and so
// is one that arrives while the shim is no longer ready.
func TestServe(t *testing.T) {
	let, inside := make(chan struct{}), make(chan struct{}, 1)
	c := &converter{spoil: func(http.ResponseWriter, *apiextensionsv1.ConversionReview) bool {
		inside <- struct{}{}
		<-let
		return false
	}}
	upstream := httptest.NewUnstartedServer(c)
	upstream.StartTLS()
	defer upstream.Close()
	shim, err := New(Options{Upstreams: []string{s + "=" + upstream.URL + "/convert"}, Trust: rest.TLSClientConfig{CAFile: authority(t, upstream)},
		Backoff: time.Millisecond, Delay: 2 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	reviews, health := listen(t), listen(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() {
		served <- shim.Serve(ctx, reviews, health, &certificate{Certificate: upstream.TLS.Certificates[0]}, nil, time.Minute)
	}()
	until(t, "ready", func() bool { return get(t, health, "/readyz") == http.StatusOK })
	if code := get(t, health, "/healthz"); code != http.StatusOK {
		t.Error("healthz", code)
	}
	long, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+health.Addr().String()+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	long.Header.Set("X-Long", strings.Repeat("a", 100<<10))
	if r, err := http.DefaultClient.Do(long); err != nil || r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Error("a header of 100 KiB at the port of the probes:", r, err)
	} else {
		r.Body.Close()
	}
	with := upstream.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	with.MaxVersion, with.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}
	if c, err := tls.Dial("tcp", reviews.Addr().String(), with); err == nil {
		c.Close()
		t.Error("a connection with a CBC suite")
	}
	answer := make(chan int)
	review := func() {
		r, err := upstream.Client().Post("https://"+reviews.Addr().String()+"/convert", "application/json",
			strings.NewReader(reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a"))))
		if err != nil {
			t.Error(err)
			answer <- 0
			return
		}
		r.Body.Close()
		answer <- r.StatusCode
	}
	go review()
	<-inside
	stop()
	until(t, "draining", func() bool { return get(t, health, "/readyz") == http.StatusServiceUnavailable })
	close(let)
	if code := <-answer; code != http.StatusOK {
		t.Error("a review that had begun was answered", code)
	}
	upstream.Client().CloseIdleConnections()
	go review()
	if code := <-answer; code != http.StatusOK {
		t.Error("a review that came before everybody knew that this replica ends was answered", code)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// If an upstream accepts a connection and answers nothing, the shim tries again.
func TestAnUpstreamThatHangsAtFirst(t *testing.T) {
	var asked atomic.Int32
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			<-r.Context().Done()
		}
	}))
	defer upstream.Close()
	shim, err := New(Options{
		Upstreams: []string{s + "=" + upstream.URL + "/convert"}, Trust: rest.TLSClientConfig{CAFile: authority(t, upstream)},
		Attempt: 100 * time.Millisecond, Backoff: time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	shim.look(ctx, upstreamOf(shim))
	if !shim.reached.Load() || asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// TestAnAPIServerClosesItsConnections: if the shim closed first, it could lose a review that is on its way.
func TestAnAPIServerClosesItsConnections(t *testing.T) {
	if client := utilnet.SetTransportDefaults(&http.Transport{}).IdleConnTimeout; idleDeadline <= client {
		t.Errorf("the shim closes after %s, its clients after %s", idleDeadline, client)
	}
}

func upstreamOf(s *Shim) upstream { return upstream{s.converters[0], s.client} }

func TestReady(t *testing.T) {
	shim := quick(t, "", s+"=https://127.0.0.1:1/convert")
	ready := func(certificate error) int {
		w := httptest.NewRecorder()
		shim.ready(w, certificate)
		return w.Code
	}
	if ready(nil) != http.StatusServiceUnavailable {
		t.Error("ready before any upstream has answered")
	}
	shim.reached.Store(true)
	if ready(nil) != http.StatusOK {
		t.Error("not ready")
	}
	if ready(io.EOF) != http.StatusServiceUnavailable {
		t.Error("ready without a certificate")
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func get(t *testing.T, at net.Listener, path string) int {
	t.Helper()
	r, err := http.Get("http://" + at.Addr().String() + path)
	if err != nil {
		return 0
	}
	r.Body.Close()
	return r.StatusCode
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("%s: %s", what, err)
	}
}
