// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// TestAClientHasLimitedConnections: what one has too many is closed at once, and what it closes counts no more.
func TestAClientHasLimitedConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := New(l, 2)
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(f) }()
	defer func() { _ = s.Close() }()
	open := func() (net.Conn, bool) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
		answer := make([]byte, 12)
		_, err = io.ReadFull(c, answer)
		return c, err == nil && string(answer) == "HTTP/1.1 200"
	}
	first, ok := open()
	_, also := open()
	if _, third := open(); !ok || !also || third {
		t.Errorf("the connections answer: %t, %t, %t", ok, also, third)
	}
	_ = first.Close()
	for range 100 {
		if _, ok = open(); ok {
			return
		}
	}
	t.Error("a connection that was closed still counts")
}

// TestTheKernelKeepsLittle: what a client sends and nobody reads, or is sent and does not read, stays small.
func TestTheKernelKeepsLittle(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := New(l, 1)
	defer func() { _ = f.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	c, err := f.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	raw, err := c.(*connection).Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]int{"received": syscall.SO_RCVBUF, "sent": syscall.SO_SNDBUF} {
		var size int
		if failed := raw.Control(func(fd uintptr) { size, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, option) }); failed != nil || err != nil {
			t.Fatal(failed, err)
		}
		if size == 0 || size > 2*kernelBuffer { // Linux doubles what is set, for its own data
			t.Errorf("%s: %d bytes", name, size)
		}
	}
}
