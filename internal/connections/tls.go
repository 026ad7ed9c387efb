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

// TLS has the parameters of connections. The zero value is TLS 1.2 and later, with forward secrecy and authenticated ciphers.
type TLS struct {
	// MinVersion is a version of crypto/tls, 0 is 1.2.
	MinVersion uint16
	// CipherSuites are those of TLS 1.2, by their numbers; later versions have their own. Empty: those without CBC.
	CipherSuites []uint16
}

// suites returns the suites of TLS 1.2 with forward secrecy and authenticated ciphers, so without CBC.
func suites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}

// Apply sets these parameters, with HTTP/1.1.
func (t TLS) Apply(config *tls.Config) {
	config.MinVersion, config.CipherSuites = t.MinVersion, t.CipherSuites
	if config.MinVersion == 0 {
		config.MinVersion = tls.VersionTLS12
	}
	if len(config.CipherSuites) == 0 {
		config.CipherSuites = suites()
	}
	config.NextProtos = []string{"http/1.1"} // API servers use nothing else here, and a stream of HTTP/2 has buffers of its own
}

// Complete reports whether the settings leave nothing to a profile.
func (t TLS) Complete() bool { return t.MinVersion != 0 && len(t.CipherSuites) != 0 }

// Choose takes from a cluster's profile what the settings leave open. No profile means Intermediate, as in OpenShift. Of the profile's suites, only those
// are used that Poundlock serves. If none is left, connections use TLS 1.3, whose suites cannot be chosen.
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

// served are the suites of a profile that Poundlock serves, by their numbers.
func served(openSSL []string) []uint16 {
	listed := crypto.OpenSSLToIANACipherSuites(openSSL)
	return slices.DeleteFunc(suites(), func(id uint16) bool { return !slices.Contains(listed, tls.CipherSuiteName(id)) })
}

// leastVersion returns the version of a name, but at least 1.2. It takes an unknown name for a version that is newer than this code.
func leastVersion(name configv1.TLSProtocolVersion) uint16 {
	version, err := crypto.TLSVersion(string(name))
	if err != nil {
		return tls.VersionTLS13
	}
	return max(version, tls.VersionTLS12)
}

// Live has parameters of connections that can change.
type Live struct{ now atomic.Pointer[TLS] }

// NewLive begins with t.
func NewLive(t TLS) *Live {
	l := &Live{}
	l.now.Store(&t)
	return l
}

// Set sets the parameters of later connections, and reports whether they change. Only one goroutine at a time may call it.
func (l *Live) Set(t TLS) bool {
	if now := l.now.Load(); now.MinVersion == t.MinVersion && slices.Equal(now.CipherSuites, t.CipherSuites) {
		return false // a server's session tickets last for as long as its config
	}
	l.now.Store(&t)
	return true
}

// Apply gives each new connection the parameters of the time. The server may change config until it listens.
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
