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
	// Upstream has the address of the API server, and the identity of the proxy's requests to it.
	Upstream *rest.Config
	// Registerer is where the metrics are registered. Nil means nowhere.
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Proxy is the HTTP handler for the client's requests.
type Proxy struct {
	base     *url.URL
	reverse  httputil.ReverseProxy
	multiple http.RoundTripper // HTTP/2
	upgraded http.RoundTripper // HTTP/1.1: only it can switch to another protocol
	metrics  *metrics
	log      *slog.Logger
	// oneForm is held while a whole answer is converted to another form, which takes several times the memory of the document.
	oneForm sync.Mutex
	drained context.Context // done once watches have to end
	drain   context.CancelFunc
}

// New returns a Proxy. It does not connect to the API server.
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

// transport returns client-go's transport, which reads tokens and certificates again when they change. It asks for no compression, because the proxy translates
// the answers.
func transport(upstream *rest.Config, protocols ...string) (http.RoundTripper, error) {
	c := rest.CopyConfig(upstream)
	c.DisableCompression, c.Timeout, c.NextProtos = true, 0, protocols
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // client-go shares one transport among all users of its own dialer
	}
	t, err := rest.TransportFor(c)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the API server: %w", err)
	}
	bounded(t)
	return t, nil
}

// ahead is how many bytes of an answer the API server may send before the proxy reads them. net/http's default of 4 MB would be held for each client that reads
// slowly.
const ahead = 128 << 10

// bounded sets the limit "ahead" on a transport. The transport must not be shared. The option is read for each connection. It is copied when the transport is
// replaced because of another CA.
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
	form     *form        // the form to which the answer's JSON is converted, nil for none
	upgrade  string       // the protocol to which the connection should switch
	resource string       // the value of the metrics' label
	warning  string       // a warning about the request, to be sent with its answer
	left     int          // how many bytes of a whole answer are not written yet
	waited   atomic.Int64 // nanoseconds of waiting for the API server and the client; atomic, because headers may be flushed while the proxy waits for the body
}

// waits adds the time that has passed since "since" to the time spent waiting for the API server or the client.
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
		e.upgrade = "" // an API server does not accept this offer, such as h2c
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

// streams reports whether an API server may accept the client's offer of another protocol. An API server has WebSocket for watches, and both WebSocket and SPDY
// for subresources of an object.
func (e *exchange) streams() bool {
	websocket := strings.EqualFold(e.upgrade, "websocket")
	return e.Opaque || e.watch && websocket || e.Subresource != "" && (websocket || strings.HasPrefix(strings.ToUpper(e.upgrade), "SPDY/"))
}

// watched reports whether an API server treats a request with this query as a watch, because of the parameter `watch`. The caller checks that the path is that
// of a resource: discovery ignores the parameter.
func watched(query url.Values) bool {
	values, has := query["watch"]
	return has && !strings.EqualFold(values[0], "false") && values[0] != "0"
}

// refuse returns the answer to a request that must not reach the API server, nil for any other request.
func (p *Proxy) refuse(r *http.Request, e *exchange) *refusal {
	switch {
	case !loopback(r.Host):
		return &refusal{http.StatusForbidden, fmt.Sprintf("the request is for the host %q, but the API proxy serves only loopback addresses: connect "+
			"to 127.0.0.1", r.Host)}
	case e.upgrade != "" && e.Subresource == "" && !e.Opaque:
		return &refusal{http.StatusNotAcceptable, "the API proxy cannot translate a watch over WebSocket: use a watch over plain HTTP"}
	case e.Document == translation.Definitions && e.Name == "" && r.Method == http.MethodDelete:
		return &refusal{http.StatusForbidden,
			"deleting a collection of CustomResourceDefinitions would also delete those that the API proxy hides: delete each by its name"}
	}
	return nil
}

// loopback reports whether a host is a loopback address. The check protects against a web page that uses a DNS name that resolves to the proxy's address: the
// page's requests have that name as their host.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// rewrite makes the request to the API server from the client's request.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	e := exchangeOf(r.In.Context())
	out := r.Out
	out.Host, out.URL.Host, out.URL.Scheme = "", p.base.Host, p.base.Scheme
	// The path is sent in one canonical spelling. With the client's spelling, an encoded path might have no group for the proxy, but have one for the API
	// server.
	out.URL.Path, out.URL.RawPath = strings.TrimSuffix(p.base.Path, "/")+e.Path, ""
	if e.Opaque { // the server that gets the path may distinguish an encoded slash from a plain one
		out.URL.RawPath = strings.TrimSuffix(p.base.EscapedPath(), "/") + r.In.URL.EscapedPath()
	}
	out.URL.RawQuery = e.Query(r.In.URL.RawQuery)
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Remote-") {
			out.Header.Del(name)
		}
	}
	out.Header.Del("Authorization") // only the pod's identity counts
	out.Header.Del("Accept-Encoding")
	if !e.Opaque {
		out.Header.Del("Range") // a range would count bytes of the untranslated answer
	}
	if accept := out.Header["Accept"]; len(accept) > 0 && !e.Opaque && (len(accept) > 1 || accept[0] != usual) {
		out.Header.Set("Accept", accepted(accept))
	}
}

// accepted returns the media types to ask the API server for. It replaces each media type that cannot be translated by JSON, and keeps its parameters.
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

// failed sends the client an error for a request that could not be passed on.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
	case errors.Is(err, context.Canceled) && p.drained.Err() != nil:
		refused = &refusal{http.StatusServiceUnavailable, "the API proxy is stopping: repeat the request"}
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		refused = &refusal{499, "the client closed the connection"} // only for the metrics: nobody reads this answer
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

// untranslated counts an error about a body that could not be translated, and logs it.
func (p *Proxy) untranslated(r *http.Request, err error) {
	if p.metrics.untranslated(err) == unsupportedResource {
		p.log.Warn("Unsupported resource type", "method", r.Method, "path", r.URL.Path, "error", err)
		return
	}
	p.log.Error("Translation error", "method", r.Method, "path", r.URL.Path, "error", err)
}

// buffers is the pool of buffers for httputil.ReverseProxy.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }

// unpassed logs httputil.ReverseProxy's error when an answer breaks off, with the message that the proxy has for such errors.
type unpassed struct{ slog.Handler }

func (u unpassed) Handle(ctx context.Context, r slog.Record) error {
	r.AddAttrs(slog.String("error", r.Message))
	r.Message = "Proxy request failed"
	return u.Handler.Handle(ctx, r)
}

// recorder records the status code of an answer, and how long the client took to receive it.
type recorder struct {
	http.ResponseWriter
	exchange *exchange
	code     int
}

// Write also flushes after the last byte of a whole answer. So the client need not wait until the request is cleaned up.
func (r *recorder) Write(b []byte) (int, error) {
	defer r.exchange.waits(time.Now())
	n, err := r.ResponseWriter.Write(b)
	if r.exchange.left > 0 && err == nil {
		if r.exchange.left -= n; r.exchange.left == 0 {
			_ = http.NewResponseController(r.ResponseWriter).Flush() // ignore an error: a later write would fail, too
		}
	}
	return n, err
}

// FlushError implements flushing for http.ResponseController.
func (r *recorder) FlushError() error {
	defer r.exchange.waits(time.Now())
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// received is the body of an answer. It counts the time of a Read as waiting for the API server.
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

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
