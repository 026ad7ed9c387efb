// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"sync/atomic"
)

// Source provides the certificate of a TLS server. Its methods fit, in this order: [tls.Config].GetCertificate, a controller-runtime Runnable that every
// replica runs, and a healthz Checker.
type Source interface {
	// GetCertificate returns the certificate to serve now. It never blocks, and fails only before the first certificate is loaded.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Start keeps the certificate current until ctx is done, and then returns nil. If an error occurs, Ready, metrics and the log report it, and Start retries.
	// The last good certificate is still served.
	Start(ctx context.Context) error
	// NeedLeaderElection returns false, because each replica serves.
	NeedLeaderElection() bool
	// Ready returns nil if a client that trusts the current caBundle can complete a handshake. Otherwise it returns what is missing.
	Ready(*http.Request) error
}

var (
	_ Source = (*SelfManaged)(nil)
	_ Source = (*Files)(nil)
)

// errNoCertificate is the error of a client's handshake before the first certificate is loaded.
var errNoCertificate = errors.New("no serving certificate is loaded yet: Poundlock's /readyz shows the reason")

// served holds the certificate that is served now. The zero value has none.
type served struct {
	current atomic.Pointer[tls.Certificate]
}

func (s *served) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := s.current.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, errNoCertificate
}

// NeedLeaderElection returns false, because each replica serves.
func (*served) NeedLeaderElection() bool { return false }
