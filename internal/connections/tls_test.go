// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
)

func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		of   TLS
		min  uint16
		many int
	}{
		"nothing said":      {TLS{}, tls.VersionTLS12, 6},
		"a later version":   {TLS{MinVersion: tls.VersionTLS13}, tls.VersionTLS13, 6},
		"suites of its own": {TLS{CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}}, tls.VersionTLS12, 1},
	} {
		config := &tls.Config{NextProtos: []string{"h2"}} //nolint:gosec // what is tested
		c.of.Apply(config)
		if config.MinVersion != c.min || len(config.CipherSuites) != c.many || len(config.NextProtos) != 1 || config.NextProtos[0] != "http/1.1" {
			t.Errorf("%s: %+v", name, config)
		}
		for _, id := range config.CipherSuites {
			if suite := tls.CipherSuiteName(id); strings.Contains(suite, "CBC") {
				t.Errorf("%s: %s", name, suite)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	const one = tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
	custom := func(least configv1.TLSProtocolVersion, ciphers ...string) *configv1.TLSSecurityProfile {
		return &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType,
			Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: least, Ciphers: ciphers}}}
	}
	named := func(name configv1.TLSProfileType) *configv1.TLSSecurityProfile {
		return &configv1.TLSSecurityProfile{Type: name}
	}
	for sentence, c := range map[string]struct {
		settings TLS
		profile  *configv1.TLSSecurityProfile
		want     TLS
	}{
		"no profile is Intermediate":                       {want: TLS{tls.VersionTLS12, suites()}},
		"a profile without a type is Intermediate":         {profile: named(""), want: TLS{tls.VersionTLS12, suites()}},
		"a profile of an unknown type is Intermediate":     {profile: named("Future"), want: TLS{tls.VersionTLS12, suites()}},
		"Custom without a list is Intermediate":            {profile: named("Custom"), want: TLS{tls.VersionTLS12, suites()}},
		"Intermediate":                                     {profile: named("Intermediate"), want: TLS{tls.VersionTLS12, suites()}},
		"Old loses CBC, key exchange by RSA, 1.0 and 1.1":  {profile: named("Old"), want: TLS{tls.VersionTLS12, suites()}},
		"Modern has no suite of TLS 1.2":                   {profile: named("Modern"), want: TLS{MinVersion: tls.VersionTLS13}},
		"Custom with a suite":                              {profile: custom("VersionTLS12", "ECDHE-RSA-AES256-GCM-SHA384"), want: TLS{tls.VersionTLS12, []uint16{one}}},
		"Custom with a suite, and 1.3":                     {profile: custom("VersionTLS13", "ECDHE-RSA-AES256-GCM-SHA384"), want: TLS{tls.VersionTLS13, []uint16{one}}},
		"Custom with CBC beside it":                        {profile: custom("VersionTLS11", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-GCM-SHA384"), want: TLS{tls.VersionTLS12, []uint16{one}}},
		"Custom with nothing but CBC":                      {profile: custom("VersionTLS12", "ECDHE-RSA-AES128-SHA"), want: TLS{MinVersion: tls.VersionTLS13}},
		"Custom with a name that nobody knows":             {profile: custom("VersionTLS12", "ROT13", "ECDHE-RSA-AES256-GCM-SHA384"), want: TLS{tls.VersionTLS12, []uint16{one}}},
		"Custom with a version that came later":            {profile: custom("VersionTLS14", "ECDHE-RSA-AES256-GCM-SHA384"), want: TLS{tls.VersionTLS13, []uint16{one}}},
		"Custom without a version":                         {profile: custom("", "ECDHE-RSA-AES256-GCM-SHA384"), want: TLS{tls.VersionTLS12, []uint16{one}}},
		"a version of the settings, and a profile's suite": {TLS{MinVersion: tls.VersionTLS13}, custom("VersionTLS12", "ECDHE-RSA-AES256-GCM-SHA384"), TLS{tls.VersionTLS13, []uint16{one}}},
		"suites of the settings, and a profile's version":  {TLS{CipherSuites: []uint16{one}}, named("Old"), TLS{tls.VersionTLS12, []uint16{one}}},
		"suites of the settings, and Modern":               {TLS{CipherSuites: []uint16{one}}, named("Modern"), TLS{tls.VersionTLS13, []uint16{one}}},
		"all of the settings":                              {TLS{tls.VersionTLS12, []uint16{one}}, named("Modern"), TLS{tls.VersionTLS12, []uint16{one}}},
	} {
		got := Choose(c.settings, c.profile)
		if got.MinVersion != c.want.MinVersion || !slices.Equal(got.CipherSuites, c.want.CipherSuites) {
			t.Errorf("%s: %+v, want %+v", sentence, got, c.want)
		}
	}
}

// A server that runs takes what is set later, with what its config got after Apply.
func TestLive(t *testing.T) {
	live := NewLive(TLS{})
	config := &tls.Config{} //nolint:gosec // what is tested
	live.Apply(config)
	signed := httptest.NewTLSServer(nil)
	defer signed.Close()
	config.Certificates = signed.TLS.Certificates
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func(c net.Conn) {
				_ = c.(*tls.Conn).Handshake()
				_ = c.Close()
			}(c)
		}
	}()
	trusted := x509.NewCertPool()
	trusted.AddCert(signed.Certificate())
	connect := func(with *tls.Config) bool {
		with.RootCAs, with.ServerName = trusted, "example.com"
		c, err := tls.Dial("tcp", l.Addr().String(), with)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	old := func() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12} }
	cbc := old()
	cbc.CipherSuites = []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}
	if connect(cbc) || !connect(old()) || !connect(&tls.Config{}) { //nolint:gosec // a client's default
		t.Error("at first: want TLS 1.2 without CBC, and 1.3")
	}
	if live.Set(TLS{}) {
		t.Error("the same is no change")
	}
	if !live.Set(TLS{MinVersion: tls.VersionTLS13}) || connect(old()) || !connect(&tls.Config{}) { //nolint:gosec // a client's default
		t.Error("afterwards: want TLS 1.3 alone")
	}
	first, _ := config.GetConfigForClient(nil)
	if again, _ := config.GetConfigForClient(nil); first != again {
		t.Error("one config for as long as nothing changes: its session tickets last no longer")
	}
}
