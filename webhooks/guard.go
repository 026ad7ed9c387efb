// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/poundlock/poundlock/internal/fair"
)

// Limits for clients of the server. Anyone who reaches the port may connect, because by default an API server presents no client certificate. So one client
// gets at most half of everything: an API server has an address of its own, and its reviews find room whatever another client sends.
const (
	// bodyDeadline is the time within which a review must arrive. API servers send a review as a whole and at once.
	bodyDeadline = 5 * time.Second
	// answerDeadline is longer than any webhook's timeout, which Kubernetes limits to 30 s. Once the answer is made, its client has bodyDeadline to take it.
	answerDeadline = 35 * time.Second
	// mostReviews is how many turns there are for reviews that are judged at the same time, so that clients can use only a limited part of the process. Further
	// reviews wait for a turn (patience). A review takes milliseconds, so 256 turns suffice for thousands of reviews a second. A review gets its turn once it has
	// arrived, because a client that sends slowly would otherwise keep a turn for bodyDeadline.
	mostReviews = 256
	// bytesOfTurn is how much of a body one turn is for. Decoding may need a hundred times the size of a body that was made for that, so a review takes as many
	// turns as it has parts of this size (turnsOf).
	bytesOfTurn = 16 << 10
	// mostBytes is the limit for the bodies of all reviews that have arrived, at least in part, and are not answered. A review has some ten thousand bytes.
	mostBytes = 64 << 20
	// patience is how long a review waits, for room and for its turn together, before it gets the status 503. Two seconds leave time for the lookups before the
	// API server's timeout (TimeoutSeconds).
	patience = 2 * time.Second
)

// limits are what the reviews of all routes share: their turns and the room for their bodies.
type limits struct {
	reviews, bytes int64
	all            room
	// huge is the turn of the reviews that need more turns than one client has. One of them is judged at a time, of all clients together.
	huge *semaphore.Weighted

	mu      sync.Mutex
	clients map[string]*sender
}

// room is what may be used at the same time.
type room struct{ turns, bytes *semaphore.Weighted }

// sender is the room of one client, by its IP address, and how many of its reviews are there. Its huge reviews wait for limits.huge one at a time, so that
// those of another client wait behind one of them and not behind all.
type sender struct {
	room
	huge    *semaphore.Weighted
	present int
}

func newRoom(turns, bytes int64) room {
	return room{semaphore.NewWeighted(turns), semaphore.NewWeighted(bytes)}
}

func newLimits(reviews, bytes int64) *limits {
	return &limits{reviews: reviews, bytes: bytes, all: newRoom(reviews, bytes), huge: semaphore.NewWeighted(1), clients: map[string]*sender{}}
}

// enter returns the room of a client, and the function that ends its use.
func (l *limits) enter(address string) (own *sender, leave func()) {
	host := fair.Host(address)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.clients[host]
	if c == nil {
		c = &sender{room: newRoom(l.share(), l.bytes/2), huge: semaphore.NewWeighted(1)}
		l.clients[host] = c
	}
	c.present++
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.present--; c.present == 0 {
			delete(l.clients, host)
		}
	}
}

// share returns how many turns one client has.
func (l *limits) share() int64 { return max(l.reviews/2, 1) }

// turnsOf returns how many turns a review takes, by the size of its body, and whether it is a huge one, which takes all turns of its client.
func (l *limits) turnsOf(size int) (turns int64, huge bool) {
	turns = 1 + int64(size)/bytesOfTurn
	return min(turns, l.share()), turns > l.share()
}

// guard limits how many reviews the process answers at the same time, how much room their bodies take and how long each connection may take. It makes API
// servers use another replica while this one stops.
type guard struct {
	next   http.Handler
	limits *limits
	// draining reports whether the process was asked to stop.
	draining func() bool
	// full is called for each review that is refused because there is no room for it.
	full           func()
	body, patience time.Duration
}

func newGuard(next http.Handler, l *limits, draining func() bool) *guard {
	return &guard{next: next, limits: l, draining: draining, full: func() {}, body: bodyDeadline, patience: patience}
}

// errNoRoom is the end of a body for which there is no room.
var errNoRoom = errors.New("too many reviews at the same time: try again in a moment")

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.draining() {
		// With this header the API server sends its next review on another connection, to another replica. On this connection the review might arrive just when the
		// connection is closed, and be lost.
		w.Header().Set("Connection", "close")
	}
	until(w, g.body, answerDeadline)
	own, left := g.limits.enter(r.RemoteAddr)
	defer left()

	waits := &waiting{left: g.patience}
	body := &counted{Reader: http.MaxBytesReader(w, r.Body, maxBody), acquire: func(n int64) bool {
		return waits.both(r.Context(), own.bytes, g.limits.all.bytes, n)
	}}
	defer func() {
		own.bytes.Release(body.held)
		g.limits.all.bytes.Release(body.held)
	}()
	arrived := read(body, r.ContentLength)
	if arrived.err == nil {
		until(w, 0, answerDeadline) // else the deadline also ends the rest of the body, which Go's server reads before it closes the connection
		// The last part of the answer is written after the handler. Then Go's server takes the limit off, and the connection's next review has its own.
		defer func() { until(w, 0, g.body) }()
	}
	if errors.Is(arrived.err, errNoRoom) {
		g.refuse(w)
		return
	}
	leave, ok := g.turn(r.Context(), own, len(arrived.all), waits)
	if !ok {
		g.refuse(w)
		return
	}
	defer leave()
	whole := *r // Go's server still needs the request that it has, to end the connection
	whole.Body = arrived
	g.next.ServeHTTP(w, &whole)
}

// refuse answers a review for which there is no room. With this header an API server sends the review again until the webhook's timeout (client-go's
// rest.Request). Without it, the API server would refuse the user's request at once.
func (g *guard) refuse(w http.ResponseWriter) {
	g.full()
	w.Header().Set("Retry-After", "1")
	http.Error(w, errNoRoom.Error(), http.StatusServiceUnavailable)
}

// turn waits for the turns of a review, and returns the function that gives them back; false if it has to wait too long.
func (g *guard) turn(ctx context.Context, own *sender, size int, waits *waiting) (leave func(), ok bool) {
	turns, huge := g.limits.turnsOf(size)
	give := func() {}
	if huge {
		// First, because a review that waits for another huge one must keep no turns from others.
		if !waits.both(ctx, own.huge, g.limits.huge, 1) {
			return nil, false
		}
		give = func() {
			g.limits.huge.Release(1)
			own.huge.Release(1)
		}
	}
	if !waits.both(ctx, own.turns, g.limits.all.turns, turns) {
		give()
		return nil, false
	}
	return func() {
		own.turns.Release(turns)
		g.limits.all.turns.Release(turns)
		give()
	}, true
}

// waiting is how long one review may still wait.
type waiting struct{ left time.Duration }

// both takes n of both semaphores, first of the client's own; false if there is no room within the time that is left.
func (w *waiting) both(ctx context.Context, own, all *semaphore.Weighted, n int64) bool {
	if !w.acquire(ctx, own, n) {
		return false
	}
	if !w.acquire(ctx, all, n) {
		own.Release(n)
		return false
	}
	return true
}

func (w *waiting) acquire(ctx context.Context, s *semaphore.Weighted, n int64) bool {
	if s.TryAcquire(n) {
		return true
	}
	began := time.Now()
	defer func() { w.left -= time.Since(began) }()
	ctx, cancel := context.WithTimeout(ctx, w.left)
	defer cancel()
	return s.Acquire(ctx, n) == nil
}

// counted is a body. Each part of it that arrives takes room.
type counted struct {
	io.Reader
	acquire func(int64) bool
	held    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if n > 0 {
		if !c.acquire(int64(n)) {
			return 0, errNoRoom
		}
		c.held += int64(n)
	}
	return n, err
}

// until limits how long reading from a connection and writing to it may take; 0 means no limit. If a read times out after the body has arrived, Go's server
// considers the connection closed. So a handler that has read the body calls until again without a limit for reading.
func until(w http.ResponseWriter, read, write time.Duration) {
	at := func(d time.Duration) time.Time {
		if d == 0 {
			return time.Time{}
		}
		return time.Now().Add(d)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(at(read)) // a writer without a connection has no deadlines, and needs none
	_ = control.SetWriteDeadline(at(write))
}
