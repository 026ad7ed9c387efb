// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sync/semaphore"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/internal/fair"
)

// guarded serves a handler behind a guard with `turns` slots.
func guarded(t *testing.T, turns int, next http.HandlerFunc) (*guard, *atomic.Bool, *httptest.Server) {
	t.Helper()
	stopping := &atomic.Bool{}
	g := newGuard(next, newLimits(int64(turns), 1<<20), stopping.Load)
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return g, stopping, s
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = fmt.Fprintf(w, "%d bytes", len(body))
}

func TestAReplicaThatStopsClosesItsConnections(t *testing.T) {
	_, stopping, s := guarded(t, 1, echo)
	for _, stops := range []bool{false, true} {
		stopping.Store(stops)
		r, err := s.Client().Post(s.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.Close != stops {
			t.Errorf("stopping: %t, closes: %t", stops, r.Close)
		}
	}
}

func TestAReviewHasToArrive(t *testing.T) {
	g, _, s := guarded(t, 1, echo)
	g.body = 50 * time.Millisecond
	for _, announced := range []int{1 << 20, 1000} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", announced); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		answer, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
			t.Errorf("%d bytes announced: %v: %q", announced, err, answer)
		}
	}
}

// oneTurn returns a server that judges one review at a time and has little patience. A review of the path /slow keeps the turn, from arrived until release.
func oneTurn(t *testing.T) (g *guard, s *httptest.Server, arrived, release chan struct{}) {
	t.Helper()
	arrived, release = make(chan struct{}), make(chan struct{})
	g, _, s = guarded(t, 1, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(arrived)
			<-release
		}
		echo(w, r)
	})
	g.patience = 20 * time.Millisecond
	return g, s, arrived, release
}

func TestAReviewWaitsForItsTurn(t *testing.T) {
	_, s, arrived, release := oneTurn(t)
	status := func(path string) int {
		r, err := s.Client().Post(s.URL+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	slow := make(chan int)
	go func() { slow <- status("/slow") }()
	<-arrived
	if got := status("/fast"); got != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", got)
	}
	close(release)
	if got := <-slow; got != http.StatusOK {
		t.Errorf("the one before: %d", got)
	}
	if got := status("/fast"); got != http.StatusOK {
		t.Errorf("afterwards: %d", got)
	}
}

// TestAReviewWithoutRoomIsCounted: otherwise no metric and no alert would show that the API server refuses requests.
func TestAReviewWithoutRoomIsCounted(t *testing.T) {
	for without, l := range map[string]*limits{"room for its body": newLimits(8, 4), "a turn": newLimits(1, 1<<20)} {
		if without == "a turn" && !l.all.turns.TryAcquire(1) {
			t.Fatal("another client's review is not judged")
		}
		m, err := newMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		g := (&handler{route: Route{Name: "cluster-api"}, metrics: m}).guarded(l, func() bool { return false })
		g.patience = time.Millisecond
		answer := httptest.NewRecorder()
		g.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{ }")))
		if n := testutil.ToFloat64(m.failures.WithLabelValues("cluster-api", failureRoom)); n != 1 || answer.Code != http.StatusServiceUnavailable {
			t.Errorf("without %s: HTTP %d, %v failures counted, want 503 and 1", without, answer.Code, n)
		}
	}
}

// TestAReviewComesAgain: an API server's client sends a review again that found no room.
func TestAReviewComesAgain(t *testing.T) {
	g, s, arrived, release := oneTurn(t)
	var once sync.Once
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.ServeHTTP(w, r)
		if r.URL.Path == "/review" {
			once.Do(func() { close(release) })
		}
	})
	c, err := rest.UnversionedRESTClientFor(&rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(path string) error { return c.Post().AbsPath(path).Body([]byte("{}")).Do(t.Context()).Error() }
	slow := make(chan error, 1)
	go func() { slow <- send("/slow") }()
	<-arrived
	if err := errors.Join(send("/review"), <-slow); err != nil {
		t.Error(err)
	}
}

// TestAReviewWaitsOnce: what a review has waited for room, it does not wait again for its turn. Otherwise no time would be left for its lookups.
func TestAReviewWaitsOnce(t *testing.T) {
	l := newLimits(8, 1<<20)
	g := newGuard(http.HandlerFunc(echo), l, func() bool { return false })
	own, leave := l.enter("10.0.0.1:1")
	defer leave()
	if !l.huge.TryAcquire(1) {
		t.Fatal("another client's huge review is not judged")
	}
	waits := &waiting{left: time.Millisecond}
	if _, ok := g.turn(t.Context(), own, 100*bytesOfTurn, waits); ok || waits.left > 0 {
		t.Errorf("it has its turn: %t; %s are left", ok, waits.left)
	}
}

// TestAnIdleConnectionIsKept: an API server keeps one for 90 seconds, and a review that it sends while this side closes the connection is lost. Without a limit
// of their own, idle connections would be closed after the time for a request.
func TestAnIdleConnectionIsKept(t *testing.T) {
	if s := limited(nil); s.IdleTimeout <= 90*time.Second || s.ReadTimeout <= 0 || s.ReadHeaderTimeout <= 0 || s.WriteTimeout <= 0 {
		t.Errorf("an idle connection is kept for %s; requests may take %s, answers %s", s.IdleTimeout, s.ReadTimeout, s.WriteTimeout)
	}
}

// TestAHugeReviewWithoutTurnsKeepsNothing: otherwise the first one that finds no turns would have all later ones refused.
func TestAHugeReviewWithoutTurnsKeepsNothing(t *testing.T) {
	l := newLimits(8, 1<<20)
	g := newGuard(http.HandlerFunc(echo), l, func() bool { return false })
	own, leave := l.enter("10.0.0.1:1")
	defer leave()
	if !l.all.turns.TryAcquire(8) {
		t.Fatal("other clients' reviews are not judged")
	}
	if _, ok := g.turn(t.Context(), own, 100*bytesOfTurn, &waiting{left: time.Millisecond}); ok {
		t.Error("it has turns that others have")
	}
	l.all.turns.Release(8)
	if done, ok := g.turn(t.Context(), own, 100*bytesOfTurn, &waiting{left: time.Millisecond}); !ok {
		t.Error("the next one has no turn, although none is judged")
	} else {
		done()
	}
}

// TestAHugeReviewWaitsForOneOfEachClient: however many huge reviews another client sends, one comes before this client's.
func TestAHugeReviewWaitsForOneOfEachClient(t *testing.T) {
	l := newLimits(8, 1<<20)
	g := newGuard(http.HandlerFunc(echo), l, func() bool { return false })
	type turn struct {
		client string
		leave  func()
	}
	got := make(chan turn)
	flood, end := l.enter("10.0.0.1:9")
	defer end()
	send := func(client string) {
		own, left := l.enter(client + ":1")
		go func() {
			defer left()
			if leave, ok := g.turn(t.Context(), own, 100*bytesOfTurn, &waiting{left: time.Minute}); ok {
				got <- turn{client, leave}
			}
		}()
	}
	send("10.0.0.1")
	first := <-got
	for range 3 {
		send("10.0.0.1")
	}
	queued := func(s *semaphore.Weighted) bool { return !s.TryAcquire(0) }
	eventually(t, "the others of the first client wait", func() bool { return queued(flood.huge) })
	send("10.0.0.2")
	eventually(t, "the second client's waits", func() bool { return queued(l.huge) })
	first.leave()
	second := <-got
	if second.client != "10.0.0.2" {
		t.Errorf("the next is judged for %s", second.client)
	}
	second.leave()
	for range 3 {
		(<-got).leave()
	}
}

// TestAnAPIServerClosesItsConnections: if the server closed first, it could lose a review that is on its way.
func TestAnAPIServerClosesItsConnections(t *testing.T) {
	if client := utilnet.SetTransportDefaults(&http.Transport{}).IdleConnTimeout; idleDeadline <= client {
		t.Errorf("the server closes after %s, its clients after %s", idleDeadline, client)
	}
}

// TestASlowClientTakesNoTurn: a client that announces a body and does not send it keeps nobody waiting.
func TestASlowClientTakesNoTurn(t *testing.T) {
	g, _, s := guarded(t, 1, echo)
	g.patience = 20 * time.Millisecond
	for range 5 {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		r, err := s.Client().Post(s.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Fatalf("status %d", r.StatusCode)
		}
	}
}

// TestBodiesHaveLimitedRoom: of all that one client sends at the same time, only half of the room is kept, and another client finds the other half. What was
// answered has room again.
func TestBodiesHaveLimitedRoom(t *testing.T) {
	release := make(chan struct{})
	held := make(chan struct{}, 10)
	shared := newLimits(100, 1000)
	g := newGuard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held <- struct{}{}
		<-release
		echo(w, r)
	}), shared, func() bool { return false })
	g.patience = 20 * time.Millisecond
	send := func(client string, n int) int {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", n)))
		r.RemoteAddr = client + ":1234"
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Code
	}
	answers := make(chan int)
	for range 4 {
		go func() { answers <- send("10.0.0.1", 100) }()
		<-held
	}
	if got := send("10.0.0.1", 200); got != http.StatusServiceUnavailable {
		t.Errorf("more than half of the room: %d", got)
	}
	go func() { answers <- send("10.0.0.2", 400) }()
	select {
	case <-held:
	case got := <-answers:
		t.Errorf("another client: %d", got)
	}
	close(release)
	for range 5 {
		if got := <-answers; got != http.StatusOK {
			t.Errorf("one that was there: %d", got)
		}
	}
	if got := send("10.0.0.1", 450); got != http.StatusOK {
		t.Errorf("afterwards: %d", got)
	}
	if len(shared.clients) != 0 {
		t.Errorf("%d clients are kept", len(shared.clients))
	}
}

// TestAnAnswerHasToBeTaken: the connection of a client that sends reviews and reads no answers ends.
func TestAnAnswerHasToBeTaken(t *testing.T) {
	g := newGuard(http.HandlerFunc(echo), newLimits(1, 1<<20), func() bool { return false })
	g.body = 50 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(fair.New(l, 1)) }()
	defer func() { _ = s.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	reviews := []byte(strings.Repeat("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 1000))
	for err == nil {
		_, err = c.Write(reviews)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server keeps the connection")
	}
}

// TestTurnsBySize: of large reviews, only a few are judged at the same time, and only one that takes all turns of its client.
func TestTurnsBySize(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	g := newGuard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}), newLimits(8, 64<<20), func() bool { return false })
	g.patience = 20 * time.Millisecond
	answers := make(chan int)
	send := func(client string, n int) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", n)))
		r.RemoteAddr = client + ":1234"
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		answers <- w.Code
	}
	started := func(what string, want bool, client string, n int) {
		t.Helper()
		go send(client, n)
		select {
		case <-arrived:
			if !want {
				t.Errorf("%s is judged", what)
			}
		case got := <-answers:
			if want || got != http.StatusServiceUnavailable {
				t.Errorf("%s: %d", what, got)
			}
		}
	}
	started("half of a client's turns", true, "10.0.0.1", 2*bytesOfTurn-1)
	started("more than the other half", false, "10.0.0.1", 2*bytesOfTurn)
	started("the other half", true, "10.0.0.1", bytesOfTurn)
	started("another client's huge review", true, "10.0.0.2", 100*bytesOfTurn)
	release <- struct{}{}
	release <- struct{}{}
	release <- struct{}{}
	for range 3 {
		<-answers
	}
	started("a huge review", true, "10.0.0.1", 100*bytesOfTurn)
	started("a second huge review", false, "10.0.0.2", 100*bytesOfTurn)
	started("a small one beside it", true, "10.0.0.2", 1)
	close(release)
	for range 2 {
		<-answers
	}
	go send("10.0.0.2", 100*bytesOfTurn)
	<-arrived
	<-answers
}
