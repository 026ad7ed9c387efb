// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/translation"
)

// before starts a proxy before a server that answers whatever the test wants.
func before(t *testing.T, api http.HandlerFunc) (*Proxy, string) {
	t.Helper()
	upstream := httptest.NewUnstartedServer(api)
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	p, err := New(Options{Log: slog.New(slog.DiscardHandler), Upstream: &rest.Config{
		Host: upstream.URL, BearerToken: "the-pods", TLSClientConfig: rest.TLSClientConfig{
			CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw}),
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, server.URL
}

func ask(t *testing.T, method, url, body string, header ...string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	return answer, string(got), err
}

const (
	machinesPath = "/apis/cluster.x-k8s.io/v1beta2/namespaces/n/machines"
	storedObject = `{"apiVersion":"cluster.hypershift.openshift.io/v1beta2"}`
	readObject   = `{"apiVersion":"cluster.x-k8s.io/v1beta2"}`
)

func respond(media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, body)
	}
}

// An answer is a list only where a list was asked for. Else a member named items is its user's.
func TestListsAndItems(t *testing.T) {
	const stored, read = `{"items":[` + storedObject + `]}`, `{"items":[` + readObject + `]}`
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) { respond("application/json", stored)(w, r) })
	for request, want := range map[string]string{
		"GET " + machinesPath: read, "DELETE " + machinesPath: read, "GET /api/v1/namespaces/n/configmaps": read,
		"GET " + machinesPath + "/m": stored, "DELETE " + machinesPath + "/m": stored, "PATCH " + machinesPath + "/m": stored, "POST " + machinesPath: stored,
	} {
		method, path, _ := strings.Cut(request, " ")
		if _, got, err := ask(t, method, url+path, "", "Content-Type", "application/json"); err != nil || got != want {
			t.Errorf("%s is answered with %s, want %s: %v", request, got, want, err)
		}
	}
}

func TestWhatReachesTheAPIServer(t *testing.T) {
	var got *http.Request
	var body []byte
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		respond("application/json", storedObject)(w, r)
	})
	for _, c := range []struct {
		why, method, path, body string
		header                  []string
		wantURI, wantBody       string
	}{
		{"JSON", "POST", machinesPath + "?fieldManager=cluster.x-k8s.io&labelSelector=cluster.x-k8s.io%2Fa%3Db", readObject, []string{"Content-Type", "application/json"},
			"/apis/cluster.hypershift.openshift.io/v1beta2/namespaces/n/machines?fieldManager=cluster.x-k8s.io&labelSelector=cluster.x-k8s.io%2Fa%3Db", storedObject},
		{"JSON of some length", "PUT", machinesPath + "/m", `{"a":"` + strings.Repeat("x", small) + `","apiVersion":"cluster.x-k8s.io/v1"}`, []string{"Content-Type", "application/json"},
			"/apis/cluster.hypershift.openshift.io/v1beta2/namespaces/n/machines/m",
			`{"a":"` + strings.Repeat("x", small) + `","apiVersion":"cluster.hypershift.openshift.io/v1"}`},
		{"YAML", "POST", machinesPath, "apiVersion: cluster.x-k8s.io/v1beta2\n", []string{"Content-Type", "application/yaml"}, "", storedObject},
		{"YAML like JSON", "PATCH", machinesPath + "/m", "{apiVersion: cluster.x-k8s.io/v1beta2}", []string{"Content-Type", "application/apply-patch+yaml"}, "", storedObject},
		{"an apply in JSON", "PATCH", machinesPath + "/m", readObject, []string{"Content-Type", "application/apply-patch+yaml"}, "", storedObject},
		{"no media type", "DELETE", machinesPath + "/m", readObject, nil, "", storedObject},
		{"no body", "GET", machinesPath + "/m%20", "", nil, "/apis/cluster.hypershift.openshift.io/v1beta2/namespaces/n/machines/m%20", ""},
		{"a body for a subresource, with an offer of another protocol", "PUT", machinesPath + "/m/status", readObject, []string{"Content-Type", "application/json", "Connection", "Upgrade", "Upgrade", "h2c"},
			"/apis/cluster.hypershift.openshift.io/v1beta2/namespaces/n/machines/m/status", storedObject},
		{"an encoded slash", "GET", "/apis%2Fcluster.x-k8s.io%2Fv1beta2/machines", "", nil, "/apis/cluster.hypershift.openshift.io/v1beta2/machines", ""},
		{"an encoded letter", "GET", "/%61pis/cluster.x-k8s.io/v1beta2/machines", "", nil, "/apis/cluster.hypershift.openshift.io/v1beta2/machines", ""},
		{"an encoded slash before a definition", "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions%2Fmachines.cluster.x-k8s.io", "", nil,
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.cluster.hypershift.openshift.io", ""},
		{"encoded twice", "GET", "/%2561pis/cluster.x-k8s.io", "", nil, "/%2561pis/cluster.x-k8s.io", ""},
		{"an encoded slash behind an opaque endpoint", "GET", "/api/v1/namespaces/n/services/s/proxy/a%2Fb", "", nil, "/api/v1/namespaces/n/services/s/proxy/a%2Fb", ""},
		{"another group", "POST", "/apis/apps/v1/x", `{"spec":{"apiGroup":"cluster.x-k8s.io"}}`, []string{"Content-Type", "application/json"}, "", `{"spec":{"apiGroup":"cluster.x-k8s.io"}}`},
		{"an opaque endpoint", "POST", "/api/v1/namespaces/n/services/s/proxy/x", "cluster.x-k8s.io", []string{"Content-Type", "application/json"}, "", "cluster.x-k8s.io"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, answer, err := ask(t, c.method, url+c.path, c.body, append(c.header, "Authorization", "Bearer another", "X-Remote-User", "root", "Accept",
				"application/vnd.kubernetes.protobuf;as=Table,application/json;as=Table, */*", "Accept-Encoding", "gzip")...)
			if err != nil || answer == "" {
				t.Fatal(answer, err)
			}
			if string(body) != c.wantBody || c.wantURI != "" && got.RequestURI != c.wantURI {
				t.Errorf("%s %.200s", got.RequestURI, body)
			}
			if got.Header.Get("Authorization") != "Bearer the-pods" || got.Header.Get("X-Remote-User") != "" || got.Header.Get("X-Forwarded-For") != "" ||
				got.Header.Get("Accept-Encoding") != "" {
				t.Errorf("%v", got.Header)
			}
			if accept := got.Header.Get("Accept"); !translation.EndpointOf(got.URL.Path).Opaque && accept != "application/json;as=Table,*/*" {
				t.Error(accept)
			}
		})
	}
}

// What an API server makes of a name that stands twice in YAML, the JSON that it gets does not show.
func TestYAMLWithANameTwice(t *testing.T) {
	reached := 0
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		reached++
		if body, _ := io.ReadAll(r.Body); string(body) != `{"a":2}` {
			t.Errorf("%s", body)
		}
		respond("application/json", "{}")(w, r)
	})
	for query, want := range map[string]struct {
		code    int
		warning bool
	}{"": {200, true}, "?fieldValidation=Warn": {200, true}, "?fieldValidation=Ignore": {200, false}, "?fieldValidation=Strict": {400, false}} {
		for _, media := range []string{"application/yaml", "application/apply-patch+yaml"} {
			answer, body, err := ask(t, "PATCH", url+machinesPath+"/m"+query, "a: 1\na: 2\n", "Content-Type", media)
			if err != nil || answer.StatusCode != want.code || strings.Contains(answer.Header.Get("Warning"), "already set") != want.warning {
				t.Errorf("%q: %+v %q %v", query, answer, body, err)
			}
			if want.code == 400 && !strings.Contains(body, "already set") {
				t.Error(body)
			}
		}
	}
	if reached != 6 {
		t.Errorf("%d requests reached the API server", reached)
	}
}

func TestYAMLIsAnswered(t *testing.T) {
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept"); !strings.HasPrefix(got, "application/json") {
			t.Errorf("the API server is asked for %s", got)
		}
		if r.URL.Query().Has("limit") {
			respond("application/json", `{"items":["`+strings.Repeat("x", written.largest)+`"]}`)(w, r)
			return
		}
		respond("application/json", storedObject)(w, r)
	})
	for _, c := range []struct {
		query, accept string
		code          int
		media, want   string
	}{
		{"", "application/yaml", 200, "application/yaml", "apiVersion: cluster.x-k8s.io/v1beta2\n"},
		{"", "application/yaml, */*", 200, "application/yaml", "apiVersion: cluster.x-k8s.io/v1beta2\n"},
		{"", "application/json, application/yaml", 200, "application/json", readObject},
		{"?watch=true", "application/yaml", 200, "application/json", ""},
		{"?limit=9", "application/yaml", 406, "application/json", "fewer objects"},
	} {
		answer, body, err := ask(t, "GET", url+machinesPath+c.query, "", "Accept", c.accept)
		if err != nil || answer.StatusCode != c.code || answer.Header.Get("Content-Type") != c.media || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %+v %.200q %v", c.query, c.accept, answer, body, err)
		}
	}
}

// Of the offers to go over to another protocol, an API server takes those of streams: what it does not take up, it overlooks.
func TestAnOfferThatNobodyTakesUp(t *testing.T) {
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Upgrade"); got != "" {
			t.Errorf("the API server is offered %s", got)
		}
		respond("application/json", storedObject)(w, r)
	})
	for _, c := range [][]string{{machinesPath, "h2c"}, {machinesPath, "websocket"}, {machinesPath + "?watch=true", "h2c"},
		{machinesPath + "/m/status", "h2c"}, {"/apis", "TLS/1.2"}} {
		if answer, body, err := ask(t, "GET", url+c[0], "", "Connection", "Upgrade", "Upgrade", c[1]); err != nil || answer.StatusCode != 200 {
			t.Errorf("%v: %+v %q %v", c, answer, body, err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	reached := false
	p, url := before(t, func(http.ResponseWriter, *http.Request) { reached = true })
	for _, c := range []struct {
		why, method, path, body string
		header                  []string
		code                    int
	}{
		{"another host", "GET", machinesPath, "", []string{"Host", "evil.example.com"}, 403},
		{"another host with a port", "GET", machinesPath, "", []string{"Host", "127.0.0.1.nip.io:80"}, 403},
		{"a watch by WebSocket", "GET", machinesPath + "?watch=1", "", []string{"Upgrade", "websocket", "Connection", "Upgrade"}, 406},
		{"CBOR", "POST", machinesPath, "x", []string{"Content-Type", "application/cbor"}, 415},
		{"a compressed body", "POST", machinesPath, "x", []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 415},
		{"malformed JSON", "POST", machinesPath, `{"a":1,}`, []string{"Content-Type", "application/json"}, 400},
		{"truncated JSON", "POST", machinesPath, `{"a":1`, []string{"Content-Type", "application/json"}, 400},
		{"malformed YAML", "POST", machinesPath, `a: [`, []string{"Content-Type", "application/yaml"}, 400},
		{"a name twice", "PATCH", machinesPath + "?fieldValidation=Strict", "a: 1\na: 2", []string{"Content-Type", "application/apply-patch+yaml"}, 400},
		{"a malformed patch", "PATCH", machinesPath, `{}`, []string{"Content-Type", "application/json-patch+json"}, 400},
		{"malformed protobuf", "POST", "/api/v1/namespaces/n/secrets", `{}`, []string{"Content-Type", "application/vnd.kubernetes.protobuf"}, 400},
		{"too long", "PATCH", machinesPath, strings.Repeat(" ", most+1), []string{"Content-Type", "application/json-patch+json"}, 413},
		{"all definitions", "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", nil, 403},
	} {
		t.Run(c.why, func(t *testing.T) {
			answer, body, err := ask(t, c.method, url+c.path, c.body, c.header...)
			if err != nil {
				t.Fatal(err)
			}
			var status metav1.Status
			if err := json.Unmarshal([]byte(body), &status); err != nil || answer.StatusCode != c.code || status.Code != int32(c.code) || status.Kind != "Status" ||
				status.Message == "" || status.Reason == "" {
				t.Errorf("%d %s %v", answer.StatusCode, body, err)
			}
			if reached {
				t.Error("the API server was asked")
			}
		})
	}
	if n := testutil.ToFloat64(p.metrics.errors.WithLabelValues(invalidJSON)); n != 5 {
		t.Errorf("%v errors counted", n)
	}
}

// A malformed body that is sent as it is read breaks the request too.
func TestALongMalformedBody(t *testing.T) {
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			t.Error("the API server read a body to its end")
		}
	})
	answer, body, err := ask(t, "POST", url+machinesPath, `{"a":"`+strings.Repeat("x", 2*small)+`",}`, "Content-Type", "application/json")
	if err != nil || answer.StatusCode != 400 || !strings.Contains(body, "malformed") {
		t.Errorf("%+v %s %v", answer, body, err)
	}
}

// A client that reads OpenAPI's binary form alone is given it, made from a document that was translated.
func TestTheBinaryFormOfOpenAPI(t *testing.T) {
	const asked = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	for _, c := range []struct {
		why, accept, document string
		code                  int
		media                 string
	}{
		{"binary", asked, `{"swagger":"2.0","info":{"title":"t","version":"v"},"paths":{},"definitions":{"io.openshift.hypershift.cluster.v1beta2.Machine":{"type":"object"}}}`, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"},
		{"JSON will do", asked + ", application/json", `{"swagger":"2.0","definitions":{}}`, 200, "application/json"},
		{"not a document", asked, `{"swagger":2}`, 502, "application/json"},
		{"truncated", asked, `{"swagger":"2.0"`, 502, "application/json"},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept"); got != "application/json" {
					t.Errorf("the API server is asked for %s", got)
				}
				respond("application/json", c.document)(w, r)
			})
			answer, body, err := ask(t, "GET", url+"/openapi/v2", "", "Accept", c.accept)
			if err != nil || answer.StatusCode != c.code || answer.Header.Get("Content-Type") != c.media {
				t.Fatalf("%+v %q %v", answer, body, err)
			}
			if c.why != "binary" {
				return
			}
			document := &openapi_v2.Document{}
			if err := proto.Unmarshal([]byte(body), document); err != nil {
				t.Fatal(err)
			}
			if name := document.Definitions.AdditionalProperties[0].Name; name != "io.x-k8s.cluster.v1beta2.Machine" {
				t.Error(name)
			}
		})
	}
}

func TestWhatIsAnswered(t *testing.T) {
	var api http.HandlerFunc
	p, url := before(t, func(w http.ResponseWriter, r *http.Request) { api(w, r) })
	compressed := &bytes.Buffer{}
	z := gzip.NewWriter(compressed)
	_, _ = io.WriteString(z, storedObject)
	z.Close()
	items := strings.Repeat("{},", 30_000) // more than is awaited, and than what is read at a time
	breaking := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			respond("application/json", body)(w, r)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for _, c := range []struct {
		why, path string
		api       http.HandlerFunc
		code      int
		want      string
		broken    bool
	}{
		{"an object", machinesPath, respond("application/json", storedObject), 200, readObject, false},
		{"an error", machinesPath, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(404)
			_, _ = io.WriteString(w,
				`{"kind":"Status","message":"machines.cluster.hypershift.openshift.io \"m\" not found","details":{"group":"cluster.hypershift.openshift.io"}}`)
		}, 404, `{"kind":"Status","message":"machines.cluster.x-k8s.io \"m\" not found","details":{"group":"cluster.x-k8s.io"}}`, false},
		{"an error in plain text", machinesPath, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `Internal Server Error: "/apis/cluster.hypershift.openshift.io/v1beta2/watch": a reason`, 500)
		}, 500, `Internal Server Error: "/apis/cluster.x-k8s.io/v1beta2/watch": a reason` + "\n", false},
		{"the root", "/", respond("application/json", `{"paths":["/apis/cluster.hypershift.openshift.io","/apis/cluster.x-k8s.io","/apis/apps","/apis/cluster.x-k8s.io/v1beta2"]}`), 200,
			`{"paths":["/apis/cluster.x-k8s.io","/apis/apps"]}`, false},
		{"the root, forbidden", "/", respond("application/json", `{"kind":"Status","message":"cluster.hypershift.openshift.io"}`), 200, `{"kind":"Status","message":"cluster.x-k8s.io"}`, false},
		{"OpenAPI, forbidden", "/openapi/v3/apis/cluster.x-k8s.io/v1beta2", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(403)
			_, _ = io.WriteString(w,
				`{"kind":"Status","apiVersion":"v1","message":"forbidden: User \"u\" cannot get path \"/openapi/v3/apis/cluster.hypershift.openshift.io/v1beta2\""}`)
		}, 403, `{"kind":"Status","apiVersion":"v1","message":"forbidden: User \"u\" cannot get path \"/openapi/v3/apis/cluster.x-k8s.io/v1beta2\""}`, false},
		{"discovery, which nobody can watch", "/apis?watch=true", respond("application/json", `{"groups":[{"name":"cluster.hypershift.openshift.io"},{"name":"cluster.x-k8s.io"}]}`), 200, `{"groups":[{"name":"cluster.x-k8s.io"}]}`, false},
		{"the root, which nobody can watch", "/?watch=true", respond("application/json", `{"paths":["/apis/cluster.hypershift.openshift.io","/apis/cluster.x-k8s.io"]}`), 200, `{"paths":["/apis/cluster.x-k8s.io"]}`, false},
		{"a long error in plain text", machinesPath, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("x", longest), 500) }, 502, "more than 65536 bytes", false},
		{"text", machinesPath, respond("text/plain; charset=utf-8", "404 page not found\n"), 200, "404 page not found\n", false},
		{"the index of OpenAPI, called text", "/openapi/v3", respond("text/plain; charset=utf-8", `{"paths":{"apis/cluster.hypershift.openshift.io/v1":{}}}`), 200, `{"paths":{"apis/cluster.x-k8s.io/v1":{}}}`, false},
		{"an opaque answer", "/api/v1/namespaces/n/pods/p/log", respond("application/json", storedObject), 200, storedObject, false},
		{"nothing", machinesPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 204, "", false},
		{"not modified", machinesPath, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(304)
		}, 304, "", false},
		{"an empty body", machinesPath, respond("application/json", ""), 200, "", false},
		{"compressed", machinesPath, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			respond("application/json", compressed.String())(w, r)
		}, 502, "cannot translate", false},
		{"protobuf", machinesPath, respond("application/vnd.kubernetes.protobuf", "k8s\x00"), 502, "cannot translate", false},
		{"truncated JSON", machinesPath, respond("application/json", storedObject[:20]), 502, "cannot translate", false},
		{"truncated in a list", machinesPath, respond("application/json", `{"items":[{},{}`), 502, "cannot translate", false},
		{"malformed JSON", machinesPath, respond("application/json", `{"items":[{},]}`), 502, "cannot translate", false},
		{"something after it", machinesPath, respond("application/json", `{}{}`), 502, "cannot translate", false},
		{"a broken connection", machinesPath, breaking(`{"items":[{},{}]`), 502, "cannot translate", false},
		{"a broken connection behind a document", machinesPath, breaking(`{"items":[{},{}]}`), 502, "reading its answer", false},
		{"a long answer, truncated", machinesPath, respond("application/json", `{"items":[`+items+`{},{}`), 200, "", true},
		{"a long answer, malformed", machinesPath, respond("application/json", `{"items":[`+items+`{},]}`), 200, "", true},
		{"something after a long one", machinesPath, respond("application/json", `{"items":[`+items+`{}]}{}`), 200, "", true},
		{"a broken connection in a long answer", machinesPath, breaking(`{"items":[` + items + `{}`), 200, "", true},
		{"a long answer", machinesPath, respond("application/json", `{"items":[`+items+`{}]}`), 200, `{"items":[` + items + `{}]}`, false},
		{"a truncated frame", machinesPath + "?watch=true", respond("application/json", `{"type":"ADDED","object":{}}`+"\n"+`{"type":"ADDED"`), 200, "", true},
		{"frames", machinesPath + "?watch=1", respond("application/json", `{"type":"ADDED","object":`+storedObject+"}\n{\"type\":\"BOOKMARK\",\"object\":{}}\n"), 200,
			`{"type":"ADDED","object":` + readObject + "}\n{\"type\":\"BOOKMARK\",\"object\":{}}\n", false},
		{"no watch", machinesPath + "?watch=false", respond("application/json", storedObject), 200, readObject, false},
		{"a watch that is refused", machinesPath + "?watch=true", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(410)
			_, _ = io.WriteString(w, `{"kind":"Status","message":"cluster.hypershift.openshift.io","reason":"Expired"}`)
		}, 410, `{"kind":"Status","message":"cluster.x-k8s.io","reason":"Expired"}`, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			api = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Warning", `299 - "cluster.hypershift.openshift.io/v1beta1 Machine is deprecated"`)
				c.api(w, r)
			}
			answer, body, err := ask(t, "GET", url+c.path, "")
			if c.broken {
				if err == nil {
					t.Errorf("the client read %q to its end", body)
				}
				return
			}
			if err != nil || answer.StatusCode != c.code || !strings.Contains(body, c.want) || c.code < 500 && body != c.want {
				t.Errorf("%+v %q %v", answer, body, err)
			}
			if w := answer.Header.Get("Warning"); c.code < 500 && w != `299 - "cluster.x-k8s.io/v1beta1 Machine is deprecated"` {
				t.Error(w)
			}
		})
	}
	if n := testutil.ToFloat64(p.metrics.errors.WithLabelValues(invalidJSON)); n < 10 {
		t.Errorf("%v errors counted", n)
	}
	if n := testutil.ToFloat64(p.metrics.errors.WithLabelValues(unsupportedResource)); n != 3 {
		t.Errorf("%v answers counted that were not asked for", n)
	}
}

// A short answer goes out in one piece, with its length. A long one, and what is not translated, does not wait for its end.
func TestPiecesOfAnswers(t *testing.T) {
	var beginning, rest string
	read := make(chan struct{})
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("length") {
			w.Header().Set("Content-Length", strconv.Itoa(len(beginning)+len(rest)))
		}
		_, _ = io.WriteString(w, beginning)
		_ = http.NewResponseController(w).Flush()
		if r.URL.Query().Has("waits") {
			<-read
		}
		_, _ = io.WriteString(w, rest)
	})
	beginning, rest = storedObject[:5], storedObject[5:]
	for _, path := range []string{machinesPath + "/m", machinesPath + "/m?length", machinesPath, machinesPath + "?length"} {
		answer, body, err := ask(t, "GET", url+path, "")
		if err != nil || body != readObject || answer.ContentLength != int64(len(readObject)) {
			t.Errorf("%s: %+v %q %v", path, answer, body, err)
		}
	}
	long := strings.Repeat("x", 2*lead)
	for path, of := range map[string][2]string{
		machinesPath + "?waits":                               {`{"items":["` + long, `"]}`},
		machinesPath + "?waits&length":                        {`{"items":["` + long, `"]}`},
		machinesPath + "?watch=1&waits":                       {`{"type":"BOOKMARK"}` + "\n", `{"type":"BOOKMARK"}` + "\n"},
		"/api/v1/namespaces/n/pods/p/log?waits":               {"a line\n", "another"},
		"/api/v1/namespaces/n/services/s/proxy/?waits&length": {"a piece", "another"},
	} {
		beginning, rest = of[0], of[1]
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 7)
		if _, err := io.ReadFull(answer.Body, first); err != nil {
			t.Error(path, err)
		}
		read <- struct{}{}
		others, err := io.ReadAll(answer.Body)
		if got := string(first) + string(others); err != nil || got != beginning+rest {
			t.Errorf("%s: %.100q of %d bytes, %v", path, got, len(got), err)
		}
		if known := answer.ContentLength >= 0; known != (strings.HasSuffix(path, "length") && strings.Contains(path, "proxy")) {
			t.Errorf("%s has the length %d", path, answer.ContentLength)
		}
		answer.Body.Close()
	}
}

// The API server directs a client that has an old index of OpenAPI to the document as it is now, and asks one that is too fast to wait.
func TestHeadersOfAnswers(t *testing.T) {
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("hash") {
			http.Redirect(w, r, "/openapi/v3/apis/cluster.hypershift.openshift.io/v1beta2?hash=B", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Retry-After", "7")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]struct {
		code         int
		header, text string
		body         string
	}{
		"/openapi/v3/apis/cluster.x-k8s.io/v1beta2?hash=A": {301, "Location", "/openapi/v3/apis/cluster.x-k8s.io/v1beta2?hash=B", "<a href=\"/openapi/v3/apis/cluster.x-k8s.io/v1beta2?hash=B\">Moved Permanently</a>.\n\n"},
		machinesPath: {429, "Retry-After", "7", "Too many requests, please try again later.\n"},
	} {
		answer, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != want.code || answer.Header.Get(want.header) != want.text || string(body) != want.body {
			t.Errorf("%s: %+v %q %v", path, answer, body, err)
		}
	}
}

// An API server sends connections away to spread them: what it has not read by then is sent again.
func TestAnAPIServerThatSendsConnectionsAway(t *testing.T) {
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != storedObject {
			t.Errorf("%q %v", body, err)
		}
		w.Header().Set("Connection", "close") // GOAWAY, in HTTP/2
		respond("application/json", storedObject)(w, r)
	})
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			for range 20 {
				if answer, body, err := ask(t, "POST", url+machinesPath, readObject, "Content-Type", "application/json"); err != nil ||
					answer.StatusCode != 200 || body != readObject {
					t.Errorf("%+v %q %v", answer, body, err)
				}
			}
		})
	}
	clients.Wait()
}

// An event reaches the client when it happens, and not when a buffer is full; and when the client goes, so does the watch.
func TestAWatchIsNotHeldBack(t *testing.T) {
	events, gone := make(chan string), make(chan struct{})
	_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case e := <-events:
				_, _ = io.WriteString(w, e)
			case <-r.Context().Done():
				close(gone)
				return
			}
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", url+machinesPath+"?watch=true", nil)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for i := range 3 {
		events <- fmt.Sprintf(`{"type":"ADDED","object":{"n":%d}}`, i) + "\n"
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, fmt.Sprint(i)) {
			t.Fatal(line, err)
		}
	}
	cancel()
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the watch goes on at the API server")
	}
}

// A connection that becomes another protocol passes as it is, in HTTP/1.1.
func TestAnUpgrade(t *testing.T) {
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		_, url := before(t, func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 1 || r.Header.Get("Upgrade") != protocol {
				t.Errorf("%s %s", r.Proto, r.Header)
			}
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
			rw.Flush()
			line, _ := rw.ReadString('\n')
			fmt.Fprintf(rw, "echo %s", line)
			rw.Flush()
		})
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /api/v1/namespaces/n/pods/p/exec?command=x HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: %s\r\nContent-Length: 0\r\n\r\n", protocol)
		r := bufio.NewReader(conn)
		answer, err := http.ReadResponse(r, nil)
		if err != nil || answer.StatusCode != 101 {
			t.Fatal(answer, err)
		}
		fmt.Fprintln(conn, "cluster.x-k8s.io")
		if line, err := r.ReadString('\n'); err != nil || line != "echo cluster.x-k8s.io\n" {
			t.Errorf("%q %v", line, err)
		}
	}
}

// A server that stops completes a request, and ends a watch.
func TestDraining(t *testing.T) {
	began, finish := make(chan struct{}, 2), make(chan struct{})
	p, _ := before(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		began <- struct{}{}
		if r.URL.Query().Has("watch") {
			<-r.Context().Done()
			return
		}
		<-finish
		_, _ = io.WriteString(w, storedObject)
	})
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	clients, health := listen(), listen()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, clients, health, nil, time.Minute) }()
	if answer, body, err := ask(t, "GET", "http://"+health.Addr().String()+"/readyz", ""); err != nil || answer.StatusCode != 200 {
		t.Error(body, err)
	}
	long := "http://" + health.Addr().String() + "/readyz?" + strings.Repeat("a", 100<<10)
	if answer, _, err := ask(t, "GET", long, ""); answer == nil || answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Error("a request line of 100 KiB at the port of the probes:", answer, err)
	}
	type result struct {
		body string
		err  error
	}
	get := func(path string) chan result {
		out := make(chan result, 1)
		go func() {
			_, body, err := ask(t, "GET", "http://"+clients.Addr().String()+path, "")
			out <- result{body, err}
		}()
		<-began
		return out
	}
	request, watch := get(machinesPath), get(machinesPath+"?watch=true")
	stop()
	if r := <-watch; r.err != nil && !errors.Is(r.err, io.ErrUnexpectedEOF) && !errors.Is(r.err, io.EOF) { // within its answer, or before its headers
		t.Errorf("a watch ends with %q %v", r.body, r.err)
	}
	close(finish)
	if r := <-request; r.err != nil || r.body != readObject {
		t.Error("a request ends with", r)
	}
	if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

func TestAnAPIServerThatIsNotThere(t *testing.T) {
	p, err := New(Options{Log: slog.New(slog.DiscardHandler), Upstream: &rest.Config{Host: "https://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://127.0.0.1"+machinesPath, nil)
	p.ServeHTTP(w, r)
	var status metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || status.Code != 502 {
		t.Errorf("%s %v", w.Body, err)
	}
}

// The label "resource" has a bounded number of values, whatever clients ask for.
func TestLabels(t *testing.T) {
	m := newMetrics()
	for i := range 3 * resources {
		m.answered("GET", &exchange{resource: m.resource(&exchange{Endpoint: translation.EndpointOf(fmt.Sprintf("/api/v1/r%d", i))})}, 200, time.Second)
	}
	if got := m.resource(&exchange{Endpoint: translation.EndpointOf("/api/v1/" + strings.Repeat("r", 1000))}); got != "other" {
		t.Errorf("a label of %d bytes", len(got))
	}
	if n := testutil.CollectAndCount(m, "hypershift_api_proxy_requests_total"); n != resources+1 {
		t.Error(n)
	}
	problems, err := testutil.CollectAndLint(m)
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
