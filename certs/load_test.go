// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// listen answers HTTPS with the certificate of a source, and returns where.
func listen(t *testing.T, source Source) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") }),
		ReadHeaderTimeout: 10 * time.Second,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(tls.NewListener(listener, &tls.Config{GetCertificate: source.GetCertificate, MinVersion: tls.VersionTLS12}))
	}()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return listener.Addr().String()
}

// request makes one request on a connection of its own.
func request(address string, config *tls.Config) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: 20 * time.Second}
	response, err := client.Get("https://" + address)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && string(body) != "yes" {
		return fmt.Errorf("the answer is %q", body)
	}
	return err
}

// load is a number of clients that repeat a request.
type load struct {
	clients      []atomic.Int64 // requests that each has finished
	done, failed atomic.Int64
	first        atomic.Pointer[error]
	stop         func()
}

func startLoad(t *testing.T, clients int, request func() error) *load {
	l := &load{clients: make([]atomic.Int64, clients)}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := request(); err != nil {
					l.failed.Add(1)
					l.first.CompareAndSwap(nil, &err)
				}
				l.done.Add(1)
				l.clients[i].Add(1)
			}
		})
	}
	l.stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(l.stop)
	return l
}

// round returns when each client has begun and finished n requests.
func (l *load) round(t *testing.T, n int64) {
	t.Helper()
	goal := make([]int64, len(l.clients))
	for i := range l.clients {
		goal[i] = l.clients[i].Load() + n + 1
	}
	for i := range l.clients {
		eventually(t, "every client finishes its requests", func() bool { return l.clients[i].Load() >= goal[i] })
	}
}

func (l *load) firstError() error {
	if first := l.first.Load(); first != nil {
		return *first
	}
	return nil
}
