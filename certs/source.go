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

// Source is what a TLS server needs of its certificate. Its methods fit, in this order: [tls.Config].GetCertificate,
// a controller-runtime Runnable that every replica runs, and a healthz Checker.
type Source interface {
	// GetCertificate returns the certificate to serve now. It never blocks; it fails only before the first
	// certificate is loaded.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Start keeps the certificate current until ctx is done, and then returns nil. Ready,
	// metrics and the log report an error meanwhile, and Start retries: the last good certificate stays in service.
	Start(ctx context.Context) error
	// NeedLeaderElection is false: each replica serves.
	NeedLeaderElection() bool
	// Ready is nil when a client that trusts the current caBundle completes a handshake; else it names what is missing.
	Ready(*http.Request) error
}

var (
	_ Source = (*SelfManaged)(nil)
	_ Source = (*Files)(nil)
)

// errNoCertificate is what a client's handshake fails with before the first certificate is loaded.
var errNoCertificate = errors.New("no serving certificate is loaded yet; /readyz shows what Poundlock waits for")

// served is the one certificate in service. The zero value has none.
type served struct {
	current atomic.Pointer[tls.Certificate]
}

func (s *served) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := s.current.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, errNoCertificate
}

// NeedLeaderElection is false: each replica serves.
func (*served) NeedLeaderElection() bool { return false }
