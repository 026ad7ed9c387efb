// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/poundlock/poundlock/policies/authority"
)

// Handler serves a cloud to Clients, and to people with curl: text for people, JSON for a client that accepts it. It authenticates nobody: serve it on
// loopback.
func Handler(c *Cloud) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, strings.ReplaceAll(help, "HERE", "http://"+r.Host))
	})
	mux.Handle("GET /instances", shown(func(r *http.Request) (page, error) {
		all, err := c.Instances(r.Context())
		return instancesOf(all, r.URL.Query().Get("machine")), err
	}))
	mux.Handle("POST /instances/{id}/{act}", shown(func(r *http.Request) (page, error) {
		return done{}, c.Act(r.Context(), r.PathValue("id"), Act(r.PathValue("act")))
	}))
	mux.Handle("GET /ledger", shown(func(r *http.Request) (page, error) {
		all, err := c.Ledger(r.Context())
		return callsOf(all, r.URL.Query()), err
	}))
	mux.Handle("GET /audit", shown(func(r *http.Request) (page, error) { return auditPage{c.Audit(r.Context())}, nil }))
	mux.Handle("GET /faults", shown(func(r *http.Request) (page, error) {
		all, err := c.Faults(r.Context())
		return faults(all), err
	}))
	mux.Handle("POST /faults", shown(func(r *http.Request) (page, error) {
		all, err := readFaults(r)
		if err != nil {
			return nil, err
		}
		return done{}, c.Inject(r.Context(), all...)
	}))
	mux.Handle("DELETE /faults", shown(func(r *http.Request) (page, error) { return done{}, c.Heal(r.Context()) }))
	mux.Handle("GET /settings", shown(func(r *http.Request) (page, error) {
		s, err := c.Settings(r.Context())
		return likeness(s), err
	}))
	mux.Handle("PATCH /settings", shown(func(r *http.Request) (page, error) { return c.reconfigure(r) }))
	mux.Handle("POST /call/{caller}/{verb}", shown(func(r *http.Request) (page, error) { return c.serve(r) }))
	return mux
}

func instancesOf(all []Instance, machine string) instances {
	out := instances{}
	for _, i := range all {
		if machine == "" || machine == i.Machine.Name {
			out = append(out, i)
		}
	}
	return out
}

func callsOf(all []Call, query url.Values) calls {
	is := func(key, value string) bool { return query.Get(key) == "" || query.Get(key) == value }
	out := calls{}
	for _, c := range all {
		if is("machine", c.Machine.Name) && is("caller", string(c.Caller)) && is("verb", string(c.Verb)) {
			out = append(out, c)
		}
	}
	return out
}

// request is the body of a controller's call.
type request struct {
	Machine Machine `json:"machine"`
	Order   Order   `json:"order,omitzero"`
	Key     Key     `json:"key,omitzero"`
}

func (c *Cloud) serve(r *http.Request) (page, error) {
	caller := authority.API(r.PathValue("caller"))
	if caller.Other() == authority.Unset {
		return nil, refuse(Malformed, "the caller %q is unknown: use %s or %s", caller, authority.MachineAPI, authority.ClusterAPI)
	}
	var in request
	if err := read(r, &in); err != nil {
		return nil, err
	}
	switch api := c.As(caller); Verb(r.PathValue("verb")) {
	case Launch:
		i, err := api.Launch(r.Context(), in.Machine, in.Order)
		return one{i}, err
	case Describe:
		i, err := api.Describe(r.Context(), in.Machine, in.Key)
		return one{i}, err
	case Terminate:
		return done{}, api.Terminate(r.Context(), in.Machine, in.Key.ID)
	}
	return nil, refuse(Malformed, "the verb %q is unknown: use %s, %s or %s", r.PathValue("verb"), Launch, Describe, Terminate)
}

func (c *Cloud) reconfigure(r *http.Request) (page, error) {
	s, err := c.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	if err := read(r, &s); err != nil {
		return nil, err
	}
	return likeness(s), c.Configure(r.Context(), s)
}

// readFaults reads one fault, or a list of faults, from the body of a request.
func readFaults(r *http.Request) ([]Fault, error) {
	raw, err := body(r)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(raw, []byte("[")) {
		var all []Fault
		err = strictly(raw, &all)
		return all, err
	}
	var fault Fault
	err = strictly(raw, &fault)
	return []Fault{fault}, err
}

func read(r *http.Request, into any) error {
	raw, err := body(r)
	if err != nil {
		return err
	}
	return strictly(raw, into)
}

func body(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, refuse(Malformed, "reading the request: %v", err)
	}
	return bytes.TrimSpace(raw), nil
}

// shown returns a handler that answers with a page, or with the error of get.
func shown(get func(*http.Request) (page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := get(r)
		code := http.StatusOK
		if err != nil {
			e := asError(err)
			p, code = trouble{e}, e.Code.status()
		}
		if strings.Contains(r.Header.Get("Accept"), "application/json") || r.URL.Query().Get("output") == "json" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(p.data())
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, p.text())
	})
}

// status returns the HTTP status for a Code.
func (c Code) status() int {
	switch c {
	case NotFound:
		return http.StatusNotFound
	case LimitExceeded:
		return http.StatusTooManyRequests
	case IncorrectState:
		return http.StatusConflict
	case Malformed:
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: Unavailable, Message: err.Error()}
}

// Client is a cloud in another process. Make one with Dial.
type Client struct {
	url  string
	http *http.Client
}

// Dial returns a Client of the cloud that serves at an address, such as 127.0.0.1:7000. It makes no call.
func Dial(address string) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the cloud runs on this host
	transport.MaxIdleConnsPerHost = 16
	return &Client{url: "http://" + address, http: &http.Client{Transport: transport}}
}

// URL returns the address at which a person finds the cloud's pages.
func (c *Client) URL() string { return c.url }

// As returns the cloud as that API's controllers see it.
func (c *Client) As(caller authority.API) API { return line{c, caller} }

// line is the API through which one caller uses a cloud in another process.
type line struct {
	client *Client
	caller authority.API
}

func (l line) Launch(ctx context.Context, m Machine, o Order) (Instance, error) {
	return l.call(ctx, Launch, request{Machine: m, Order: o})
}

func (l line) Describe(ctx context.Context, m Machine, k Key) (Instance, error) {
	return l.call(ctx, Describe, request{Machine: m, Key: k})
}

func (l line) Terminate(ctx context.Context, m Machine, id string) error {
	_, err := l.call(ctx, Terminate, request{Machine: m, Key: Key{ID: id}})
	return err
}

func (l line) call(ctx context.Context, verb Verb, in request) (Instance, error) {
	var i Instance
	err := l.client.do(ctx, http.MethodPost, "/call/"+string(l.caller)+"/"+string(verb), in, &i)
	return i, err
}

// Instances returns every instance that ever existed, also the terminated ones, in the order of their launch.
func (c *Client) Instances(ctx context.Context) (all []Instance, err error) {
	err = c.do(ctx, http.MethodGet, "/instances", nil, &all)
	return all, err
}

// Ledger returns the calls that the ledger keeps, oldest first.
func (c *Client) Ledger(ctx context.Context) (all []Call, err error) {
	err = c.do(ctx, http.MethodGet, "/ledger", nil, &all)
	return all, err
}

// Audit returns an error that lists everything that should not have happened; nil if there is nothing.
func (c *Client) Audit(ctx context.Context) error {
	var wrong []string
	if err := c.do(ctx, http.MethodGet, "/audit", nil, &wrong); err != nil {
		return err
	}
	return accusation(wrong)
}

// Act does to an instance, by hand, what no controller asked for.
func (c *Client) Act(ctx context.Context, id string, act Act) error {
	return c.do(ctx, http.MethodPost, "/instances/"+url.PathEscape(id)+"/"+url.PathEscape(string(act)), nil, nil)
}

// Inject adds faults. Each fault waits for a call to which it applies.
func (c *Client) Inject(ctx context.Context, faults ...Fault) error {
	return c.do(ctx, http.MethodPost, "/faults", faults, nil)
}

// Faults returns the faults that still wait for a call.
func (c *Client) Faults(ctx context.Context) (all []Fault, err error) {
	err = c.do(ctx, http.MethodGet, "/faults", nil, &all)
	return all, err
}

// Heal removes all faults. A call that hangs then ends with a transient error.
func (c *Client) Heal(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "/faults", nil, nil)
}

// Settings returns the settings of the cloud: its times and limits.
func (c *Client) Settings(ctx context.Context) (s Settings, err error) {
	err = c.do(ctx, http.MethodGet, "/settings", nil, &s)
	return s, err
}

// Configure replaces the settings.
func (c *Client) Configure(ctx context.Context, s Settings) error {
	return c.do(ctx, http.MethodPatch, "/settings", s, nil)
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("asking the simulated cloud: %w", err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("reading the simulated cloud's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return failure(answer.Status, raw)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(raw, out)
}

func failure(status string, raw []byte) error {
	e := &Error{}
	if json.Unmarshal(raw, e) != nil || e.Code == "" {
		return fmt.Errorf("the simulated cloud answered %s: %s", status, raw)
	}
	return e
}
