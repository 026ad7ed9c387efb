// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"
)

// Names are the names by which clients call the server: DNS names for a Service, names or addresses for a server outside the cluster.
type Names struct {
	DNS []string
	IPs []net.IP
}

func (n Names) empty() bool { return len(n.DNS)+len(n.IPs) == 0 }

func (n Names) hosts() []string {
	hosts := append([]string(nil), n.DNS...)
	for _, ip := range n.IPs {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

func contains[T any](list []T, item T, equal func(a, b T) bool) bool {
	for _, have := range list {
		if equal(have, item) {
			return true
		}
	}
	return false
}

// authority is a CA that can sign.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(name string, life time.Duration, now time.Time) (*authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"poundlock"}, CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	}
	valid(template, life, now)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of the CA: %w", err)
	}
	cert, err := issue(template, template, key.Public(), key)
	return &authority{cert: cert, key: key}, err
}

// serving makes a new key and signs a certificate for names. The certificate never outlives its CA.
func (a *authority) serving(names Names, life time.Duration, now time.Time) (*tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{Organization: []string{"poundlock"}, CommonName: "poundlock-webhooks"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    names.DNS,
		IPAddresses: names.IPs,
	}
	valid(template, min(life, a.cert.NotAfter.Sub(now)), now)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of the serving certificate: %w", err)
	}
	leaf, err := issue(template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// made returns the material that results from a plan, without writing it to the Secret.
func made(m material, p plan, name string, life Lifetimes, now time.Time) (material, error) {
	next := material{ca: m.ca, serving: m.serving, previous: p.previous, retire: p.retire}
	var err error
	if p.authority != "" {
		if next.ca, err = newAuthority(name, life.CA, now); err != nil {
			return material{}, err
		}
	}
	if p.serving != "" {
		if next.serving, err = next.ca.serving(p.names, life.Serving, now); err != nil {
			return material{}, err
		}
	}
	return next, nil
}

// valid sets the time during which a certificate is valid. It begins a little in the past, for API servers whose clocks are behind.
func valid(template *x509.Certificate, life time.Duration, now time.Time) {
	template.NotBefore = now.Add(-min(time.Hour, life/10))
	template.NotAfter = now.Add(life)
}

func issue(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", template.Subject.CommonName, err)
	}
	return x509.ParseCertificate(der)
}

// due returns when a certificate must be replaced: at two thirds of its life.
func due(cert *x509.Certificate) time.Time {
	return cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) / 3 * 2)
}

func validAt(cert *x509.Certificate, now time.Time) bool {
	return !now.Before(cert.NotBefore) && now.Before(cert.NotAfter)
}

// issued reports whether ca signed leaf.
func issued(ca, leaf *x509.Certificate) bool { return leaf.CheckSignatureFrom(ca) == nil }

func encodeCertificates(certs ...*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, cert := range certs {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	}
	return out.Bytes()
}

// readCertificates returns the certificates of a bundle that it can read, and an error about the rest.
func readCertificates(bundle []byte) ([]*x509.Certificate, error) {
	var (
		certs []*x509.Certificate
		errs  []error
	)
	for {
		block, rest := pem.Decode(bundle)
		if block == nil {
			break
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err != nil {
			errs = append(errs, err)
		} else {
			certs = append(certs, cert)
		}
		bundle = rest
	}
	if len(bytes.TrimSpace(bundle)) > 0 {
		errs = append(errs, errors.New("some text in the file or field is not a complete PEM block"))
	}
	return certs, errors.Join(errs...)
}

// readPair reads a certificate chain and its key. It is stricter than the standard library: a chain that is cut off in the middle of an intermediate
// certificate is an error, and not a shorter chain.
func readPair(chain, key []byte) (*tls.Certificate, error) {
	if len(chain) == 0 || len(key) == 0 {
		return nil, errors.New("the certificate or its key is empty")
	}
	if _, err := readCertificates(chain); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}
