// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"net"
	"sync"
)

// kernelBuffer is the limit for what the kernel keeps of a connection, in each direction. The kernel's own limits are megabytes, which a client could fill
// that sends faster than its reviews are judged, or reads no answers; and it counts them as the container's memory.
const kernelBuffer = 128 << 10

// Listener is a listener that closes a connection at once if its client, by IP address, has too many.
type Listener struct {
	net.Listener
	most int

	mu      sync.Mutex
	clients map[string]int
}

// New returns a listener for the connections of l. Each client may have `most` connections.
func New(l net.Listener, most int) *Listener {
	return &Listener{Listener: l, most: most, clients: map[string]int{}}
}

// Accept returns the next connection of a client that may have one more.
func (f *Listener) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // http.Server recognizes the listener's errors
		}
		if host := Host(c.RemoteAddr().String()); f.admit(host) {
			if own, is := c.(*net.TCPConn); is {
				_ = own.SetReadBuffer(kernelBuffer) // without it, the kernel's own limit counts
				_ = own.SetWriteBuffer(kernelBuffer)
			}
			return &connection{Conn: c, leave: sync.OnceFunc(func() { f.leave(host) })}, nil
		}
		_ = c.Close()
	}
}

func (f *Listener) admit(host string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[host] >= f.most {
		return false
	}
	f.clients[host]++
	return true
}

func (f *Listener) leave(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[host]--; f.clients[host] == 0 {
		delete(f.clients, host)
	}
}

// connection counts for its client until it is closed.
type connection struct {
	net.Conn
	leave func()
}

func (h *connection) Close() error {
	h.leave()
	return h.Conn.Close()
}

// Host returns the IP address of a client.
func Host(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
