// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"crypto/tls"
	"slices"
	"sync/atomic"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/crypto"
)

// TLS has the TLS parameters of connections. The zero value means TLS 1.2 and later, with cipher suites that have forward secrecy and authenticated encryption.
type TLS struct {
	// MinVersion is a version number of crypto/tls. 0 means TLS 1.2.
	MinVersion uint16
	// CipherSuites are the suites of TLS 1.2, by their numbers. TLS 1.3 has its own suites. Empty means all suites that Poundlock serves, which have no CBC.
	CipherSuites []uint16
}

// suites returns the suites of TLS 1.2 that Poundlock serves: those with forward secrecy and authenticated encryption, so without CBC.
func suites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}

// Apply sets these parameters in config, and HTTP/1.1 as the only protocol.
func (t TLS) Apply(config *tls.Config) {
	config.MinVersion, config.CipherSuites = t.MinVersion, t.CipherSuites
	if config.MinVersion == 0 {
		config.MinVersion = tls.VersionTLS12
	}
	if len(config.CipherSuites) == 0 {
		config.CipherSuites = suites()
	}
	config.NextProtos = []string{"http/1.1"} // API servers use only HTTP/1.1 for webhooks, and an HTTP/2 stream would have buffers of its own
}

// Complete reports whether the settings leave nothing to a profile.
func (t TLS) Complete() bool { return t.MinVersion != 0 && len(t.CipherSuites) != 0 }

// Choose returns the settings, completed from a cluster's TLS security profile. No profile means Intermediate, as in OpenShift. Of the profile's suites, Choose
// takes those that Poundlock serves. If the profile has none of them, connections use TLS 1.3, whose suites cannot be chosen.
func Choose(settings TLS, profile *configv1.TLSSecurityProfile) TLS {
	spec, out := specOf(profile), settings
	if len(out.CipherSuites) == 0 {
		out.CipherSuites = served(spec.Ciphers)
	}
	switch {
	case out.MinVersion != 0:
	case len(out.CipherSuites) == 0:
		out.MinVersion = tls.VersionTLS13
	default:
		out.MinVersion = leastVersion(spec.MinTLSVersion)
	}
	return out
}

func specOf(profile *configv1.TLSSecurityProfile) configv1.TLSProfileSpec {
	if profile != nil && profile.Type == configv1.TLSProfileCustomType && profile.Custom != nil {
		return profile.Custom.TLSProfileSpec
	}
	if profile != nil && configv1.TLSProfiles[profile.Type] != nil {
		return *configv1.TLSProfiles[profile.Type]
	}
	return *configv1.TLSProfiles[crypto.DefaultTLSProfileType]
}

// served returns, by their numbers, those of a profile's suites that Poundlock serves. openSSL are the profile's suites by their names in OpenSSL.
func served(openSSL []string) []uint16 {
	listed := crypto.OpenSSLToIANACipherSuites(openSSL)
	return slices.DeleteFunc(suites(), func(id uint16) bool { return !slices.Contains(listed, tls.CipherSuiteName(id)) })
}

// leastVersion returns the number of a TLS version, but at least TLS 1.2. For an unknown name it returns TLS 1.3, because the name may be newer than this code.
func leastVersion(name configv1.TLSProtocolVersion) uint16 {
	version, err := crypto.TLSVersion(string(name))
	if err != nil {
		return tls.VersionTLS13
	}
	return max(version, tls.VersionTLS12)
}

// Live has TLS parameters that may change while servers run.
type Live struct{ now atomic.Pointer[TLS] }

// NewLive returns a Live whose first parameters are t.
func NewLive(t TLS) *Live {
	l := &Live{}
	l.now.Store(&t)
	return l
}

// Set replaces the parameters for later connections, and reports whether they differ from the present ones. Only one goroutine at a time may call it.
func (l *Live) Set(t TLS) bool {
	if now := l.now.Load(); now.MinVersion == t.MinVersion && slices.Equal(now.CipherSuites, t.CipherSuites) {
		return false // keep the config: a server's session tickets last only as long as its config
	}
	l.now.Store(&t)
	return true
}

// Apply makes config give each new connection the parameters that l has at that time. The server may still change config until it listens.
func (l *Live) Apply(config *tls.Config) {
	type made struct {
		of     *TLS
		config *tls.Config
	}
	var last atomic.Pointer[made]
	l.now.Load().Apply(config)
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := l.now.Load()
		if m := last.Load(); m != nil && m.of == now {
			return m.config, nil
		}
		c := config.Clone()
		c.GetConfigForClient = nil
		now.Apply(c)
		last.Store(&made{now, c})
		return c, nil
	}
}
