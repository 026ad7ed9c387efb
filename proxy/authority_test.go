// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// selfSigned is a certificate that is its own authority.
func selfSigned(t *testing.T, serial int64) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"api"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: key}
}

// The CA of a pod's ServiceAccount that the kubelet has renewed counts five minutes later.
func TestTheAuthorityIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	trust := func(c tls.Certificate) {
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		serving := selfSigned(t, 1)
		trust(serving)
		connections := make(pipes)
		server := &http.Server{ //nolint:gosec // in memory
			Handler:   http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &serving, nil }},
			ErrorLog:  log.New(io.Discard, "", 0),
		}
		go func() { _ = server.ServeTLS(connections, "", "") }()
		p, err := New(Options{Log: slog.New(slog.DiscardHandler), Upstream: &rest.Config{Host: "https://api", TLSClientConfig: rest.TLSClientConfig{CAFile: file},
			Dial: connections.dial}})
		if err != nil {
			t.Fatal(err)
		}
		check := func(why string, want int) {
			t.Helper()
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+machinesPath, http.NoBody))
			if w.Code != want {
				t.Errorf("%s: %d %s", why, w.Code, w.Body)
			}
			utilnet.CloseIdleConnectionsFor(p.multiple)
		}
		check("the first certificate", http.StatusOK)
		serving = selfSigned(t, 2)
		check("one of an authority that is not in the file", http.StatusBadGateway)
		trust(serving)
		time.Sleep(5 * time.Minute) //nolint:forbidigo // of the bubble's clock
		check("one of an authority that is", http.StatusOK)
		close(connections)
		server.Close()
	})
}
