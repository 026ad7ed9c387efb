// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/translation"
)

// Options are the parameters of New.
type Options struct {
	// Upstream is the API server, and the identity that requests have there.
	Upstream *rest.Config
	// Registerer takes the metrics. Nil means nobody.
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Proxy is a handler for the client's requests.
type Proxy struct {
	base     *url.URL
	reverse  httputil.ReverseProxy
	multiple http.RoundTripper // HTTP/2
	upgraded http.RoundTripper // HTTP/1.1, which alone can become another protocol
	metrics  *metrics
	log      *slog.Logger
	// oneForm is held while another form is made of a whole answer, which takes several times the memory of the document.
	oneForm sync.Mutex
	drained context.Context // done once watches shall end
	drain   context.CancelFunc
}

// New makes a proxy. It does not connect.
func New(o Options) (*Proxy, error) {
	base, _, err := rest.DefaultServerUrlFor(o.Upstream)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	p := &Proxy{base: base, metrics: newMetrics(), log: o.Log}
	p.drained, p.drain = context.WithCancel(context.Background())
	if p.multiple, err = transport(o.Upstream); err != nil {
		return nil, err
	}
	if p.upgraded, err = transport(o.Upstream, "http/1.1"); err != nil {
		return nil, err
	}
	if o.Registerer != nil {
		if err := o.Registerer.Register(p.metrics); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	p.reverse = httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p, ModifyResponse: p.response, ErrorHandler: p.failed, BufferPool: &buffers{},
		ErrorLog: slog.NewLogLogger(unpassed{o.Log.Handler()}, slog.LevelWarn),
	}
	return p, nil
}

// transport is client-go's, which reads tokens and certificates again when they change. Answers are not compressed: they are translated.
func transport(upstream *rest.Config, protocols ...string) (http.RoundTripper, error) {
	c := rest.CopyConfig(upstream)
	c.DisableCompression, c.Timeout, c.NextProtos = true, 0, protocols
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // client-go shares one transport among all users of its own dialer
	}
	t, err := rest.TransportFor(c)
	if err != nil {
		return nil, fmt.Errorf("making a transport to the API server: %w", err)
	}
	bounded(t)
	return t, nil
}

// ahead is how much of an answer the API server may send before it is read. net/http's 4 MB would be held for each client that reads slowly.
const ahead = 128 << 10

// bounded sets ahead as the limit, on a transport that nobody else has. The option is read for each connection, and copied when the transport is replaced
// because of another CA.
func bounded(t http.RoundTripper) {
	for {
		wrapped, is := t.(utilnet.RoundTripperWrapper)
		if !is {
			break
		}
		t = wrapped.WrappedRoundTripper()
	}
	if inner, is := t.(*http.Transport); is {
		inner.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: ahead}
	}
}

// exchange is one request and its answer.
type exchange struct {
	translation.Endpoint
	watch    bool
	form     *form        // what is to be made of the answer's JSON, if anything
	upgrade  string       // the protocol that the connection shall go over to
	resource string       // as the metrics have it
	warning  string       // about the request, for its answer
	left     int          // how much of a whole answer has not been written yet
	waited   atomic.Int64 // nanoseconds for the API server and the client; headers may be flushed while the body is waited for
}

// waits adds the time since then to the time spent waiting for the API server or the client.
func (e *exchange) waits(since time.Time) { e.waited.Add(int64(time.Since(since))) }

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := &exchange{Endpoint: translation.EndpointOf(r.URL.Path), upgrade: r.Header.Get("Upgrade")}
	e.watch = e.Resource != "" && (e.Watch || e.Name == "" && r.Method == http.MethodGet && r.URL.RawQuery != "" && watched(r.URL.Query()))
	if !e.streams() {
		e.upgrade = "" // an offer that an API server does not accept, such as h2c
		r.Header.Del("Upgrade")
	}
	e.form = wanted(r, e)
	e.resource = p.metrics.resource(e)
	begin := time.Now()
	recorded := &recorder{ResponseWriter: w, exchange: e}
	defer func() { p.metrics.answered(r.Method, e, recorded.code, time.Since(begin)) }()
	if refusal := p.refuse(r, e); refusal != nil {
		p.write(recorded, refusal)
		return
	}
	ctx := context.WithValue(r.Context(), exchangeKey{}, e)
	if e.watch || e.upgrade != "" {
		lasting, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(p.drained, cancel)()
		ctx = lasting
	}
	r = r.WithContext(ctx)
	if err := p.request(r, e); err != nil {
		p.failed(recorded, r, err)
		return
	}
	p.reverse.ServeHTTP(recorded, r)
}

// streams reports whether an API server may take up the client's offer of another protocol: it has WebSocket for watches, and SPDY, too, for what is behind an
// object.
func (e *exchange) streams() bool {
	websocket := strings.EqualFold(e.upgrade, "websocket")
	return e.Opaque || e.watch && websocket || e.Subresource != "" && (websocket || strings.HasPrefix(strings.ToUpper(e.upgrade), "SPDY/"))
}

// watched reports whether an API server takes the query for a watch, by the parameter `watch`. Only a resource can be watched: discovery ignores the
// parameter.
func watched(query url.Values) bool {
	values, has := query["watch"]
	return has && !strings.EqualFold(values[0], "false") && values[0] != "0"
}

// refuse is the answer to a request that never reaches the API server.
func (p *Proxy) refuse(r *http.Request, e *exchange) *refusal {
	switch {
	case !loopback(r.Host):
		return &refusal{http.StatusForbidden, fmt.Sprintf("the proxy answers to loopback addresses and not to the host %q: connect to 127.0.0.1", r.Host)}
	case e.upgrade != "" && e.Subresource == "" && !e.Opaque:
		return &refusal{http.StatusNotAcceptable, "a watch by WebSocket cannot be translated: watch by plain HTTP"}
	case e.Document == translation.Definitions && e.Name == "" && r.Method == http.MethodDelete:
		return &refusal{http.StatusForbidden,
			"deleting a collection of CustomResourceDefinitions would delete the platform's too, which are hidden here: delete them by name"}
	}
	return nil
}

// loopback reports whether a host is a loopback address. It keeps a page in a browser from using the proxy by a name that resolves to it: the page's requests
// have another host.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// rewrite directs a request to the API server.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	e := exchangeOf(r.In.Context())
	out := r.Out
	out.Host, out.URL.Host, out.URL.Scheme = "", p.base.Host, p.base.Scheme
	// The path gets one spelling. In the client's own spelling, an encoded path might have no group for the proxy, but have one for the API server.
	out.URL.Path, out.URL.RawPath = strings.TrimSuffix(p.base.Path, "/")+e.Path, ""
	if e.Opaque { // the server behind the path may distinguish an encoded slash from a plain one
		out.URL.RawPath = strings.TrimSuffix(p.base.EscapedPath(), "/") + r.In.URL.EscapedPath()
	}
	out.URL.RawQuery = e.Query(r.In.URL.RawQuery)
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Remote-") {
			out.Header.Del(name)
		}
	}
	out.Header.Del("Authorization") // the pod's identity counts
	out.Header.Del("Accept-Encoding")
	if !e.Opaque {
		out.Header.Del("Range") // a range of the untranslated answer would be meaningless
	}
	if accept := out.Header["Accept"]; len(accept) > 0 && !e.Opaque && (len(accept) > 1 || accept[0] != usual) {
		out.Header.Set("Accept", accepted(accept))
	}
}

// accepted returns the media types to ask for. It replaces each that cannot be translated by JSON, with the same parameters.
func accepted(accept []string) string {
	var out []string
	for a := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, parameters, has := strings.Cut(strings.TrimSpace(a), ";")
		if slices.ContainsFunc([]string{"protobuf", "cbor", "yaml"}, func(s string) bool { return strings.Contains(media, s) }) {
			media = usual
		}
		if has {
			media += ";" + parameters
		}
		if !slices.Contains(out, media) {
			out = append(out, media)
		}
	}
	return strings.Join(out, ",")
}

// RoundTrip implements http.RoundTripper.
func (p *Proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	e := exchangeOf(r.Context())
	defer e.waits(time.Now())
	if e.upgrade != "" {
		return p.upgraded.RoundTrip(r)
	}
	return p.multiple.RoundTrip(r)
}

// failed answers what could not be passed on.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
	case errors.Is(err, context.Canceled) && p.drained.Err() != nil:
		refused = &refusal{http.StatusServiceUnavailable, "the proxy is stopping: ask again"}
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		refused = &refusal{499, "the client closed the connection"} // nobody reads this answer: it is for the metrics
	case errors.Is(err, errAnswer):
		p.untranslated(r, err)
		refused = &refusal{http.StatusBadGateway, err.Error()}
	case translation.Malformed(err):
		p.untranslated(r, err)
		refused = &refusal{http.StatusBadRequest, err.Error()}
	default:
		p.log.Warn("Proxy request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		refused = &refusal{http.StatusBadGateway, "the API server cannot be reached through the proxy: " + err.Error()}
	}
	p.write(w, refused)
}

// untranslated counts an error and logs it.
func (p *Proxy) untranslated(r *http.Request, err error) {
	if p.metrics.untranslated(err) == unsupportedResource {
		p.log.Warn("Unsupported resource type", "method", r.Method, "path", r.URL.Path, "error", err)
		return
	}
	p.log.Error("Translation error", "method", r.Method, "path", r.URL.Path, "error", err)
}

// buffers are httputil.ReverseProxy's.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

// unpassed logs the error of httputil.ReverseProxy when an answer breaks off, under the name that such things have here.
type unpassed struct{ slog.Handler }

func (u unpassed) Handle(ctx context.Context, r slog.Record) error {
	r.AddAttrs(slog.String("error", r.Message))
	r.Message = "Proxy request failed"
	return u.Handler.Handle(ctx, r)
}

// recorder remembers the code of an answer, and how long the client took to receive it.
type recorder struct {
	http.ResponseWriter
	exchange *exchange
	code     int
}

// Write also flushes the end of a whole answer: the client need not wait until the request is cleared away.
func (r *recorder) Write(b []byte) (int, error) {
	defer r.exchange.waits(time.Now())
	n, err := r.ResponseWriter.Write(b)
	if r.exchange.left > 0 && err == nil {
		if r.exchange.left -= n; r.exchange.left == 0 {
			_ = http.NewResponseController(r.ResponseWriter).Flush() // what cannot be written now cannot be written later
		}
	}
	return n, err
}

// FlushError is for http.ResponseController.
func (r *recorder) FlushError() error {
	defer r.exchange.waits(time.Now())
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// received is the body of an answer. Reading it waits for the API server.
type received struct {
	io.ReadCloser
	exchange *exchange
}

func (r received) Read(b []byte) (int, error) {
	defer r.exchange.waits(time.Now())
	return r.ReadCloser.Read(b)
}

func (r *recorder) WriteHeader(code int) {
	if r.code == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
