// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"time"
)

// material is the content of the Secret, as far as it can be read.
type material struct {
	ca       *authority          // nil if it cannot sign
	previous []*x509.Certificate // CAs that may still have valid leaves, and the certificate of a current CA that cannot sign
	retire   time.Time           // when the previous CAs' last leaves have expired; zero if unknown
	serving  *tls.Certificate
	damage   []string // sentences about what could not be read or is not Poundlock's
}

func (m material) leaf() *x509.Certificate {
	if m.serving == nil {
		return nil
	}
	return m.serving.Leaf
}

// trust returns the CAs that a caBundle must hold at the instant now, the signing one first.
func (m material) trust(now time.Time) []*x509.Certificate {
	trust := m.signing()
	for _, cert := range m.previous {
		if !m.retired(cert, now) {
			trust = append(trust, cert)
		}
	}
	return trust
}

func (m material) signing() []*x509.Certificate {
	if m.ca == nil {
		return nil
	}
	return []*x509.Certificate{m.ca.cert}
}

// retired reports whether a replaced CA can have no valid leaf any more. If the date for that (retire) is unknown, only the CA's own expiry counts.
func (m material) retired(cert *x509.Certificate, now time.Time) bool {
	return !now.Before(cert.NotAfter) || !m.retire.IsZero() && !now.Before(m.retire)
}

// readMaterial reads the content of the Secret. It never fails: what cannot be read is left out, and is named in damage.
func readMaterial(data map[string][]byte, retire, name string) material {
	m := material{}
	m.ca, m.previous = readAuthority(data, name, &m.damage)
	if previous, err := readCertificates(data[keyPrevious]); err != nil {
		m.damage = append(m.damage, fmt.Sprintf("%s is partly unreadable: %v", keyPrevious, err))
		m.previous = append(m.previous, ownOnly(previous, name)...)
	} else {
		m.previous = append(m.previous, ownOnly(previous, name)...)
	}
	if pair, err := readPair(data[keyServing], data[keyServingKey]); err != nil {
		m.damage = append(m.damage, fmt.Sprintf("%s and %s are not a key pair: %v", keyServing, keyServingKey, err))
	} else {
		m.serving = pair
	}
	m.retire, _ = time.Parse(time.RFC3339, retire)
	return m
}

// readAuthority returns the CA if it can sign. If only the CA's certificate is left, it returns that certificate in the second result, because it must stay
// trusted.
func readAuthority(data map[string][]byte, name string, damage *[]string) (*authority, []*x509.Certificate) {
	certs, err := readCertificates(data[keyCA])
	if err != nil || len(certs) != 1 {
		*damage = append(*damage, fmt.Sprintf("%s does not contain exactly one certificate", keyCA))
		return nil, ownOnly(certs, name)
	}
	if !own(certs[0], name) {
		*damage = append(*damage, fmt.Sprintf("%s has the CA %q, which Poundlock did not create for this Secret", keyCA, certs[0].Subject.CommonName))
		return nil, nil
	}
	pair, err := readPair(data[keyCA], data[keyCAKey])
	if err != nil {
		*damage = append(*damage, fmt.Sprintf("%s does not belong to %s: %v", keyCAKey, keyCA, err))
		return nil, certs
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		*damage = append(*damage, fmt.Sprintf("%s cannot sign", keyCAKey))
		return nil, certs
	}
	return &authority{cert: certs[0], key: signer}, nil
}

// own reports whether Poundlock made a CA for the Secret for which name stands (authorityName).
func own(cert *x509.Certificate, name string) bool {
	return cert.IsCA && cert.Subject.CommonName == name
}

func ownOnly(certs []*x509.Certificate, name string) []*x509.Certificate {
	var mine []*x509.Certificate
	for _, cert := range certs {
		if own(cert, name) {
			mine = append(mine, cert)
		}
	}
	return mine
}

// plan says what must change in the Secret. The zero value means that nothing must change.
type plan struct {
	authority string              // why a new CA is made; "" if none is
	serving   string              // why a new serving certificate is signed; "" if none is
	names     Names               // the names of the new serving certificate
	previous  []*x509.Certificate // the replaced CAs that stay in the Secret
	retire    time.Time           // when the CAs in previous leave the caBundles
	changed   bool                // the Secret must be written
}

// decide returns what must change in the Secret at the instant now. trusted are the CAs in the caBundles.
//
// When a CA is added, the Secret is written before the caBundles. When a CA is removed, it is written after them. So the Secret always has every CA of
// Poundlock's that a caBundle has. If it lacks one, that CA was lost, because the Secret was deleted or an older one was restored. Replicas may serve leaves of
// a lost CA, so the CA is adopted until these leaves have expired.
func decide(m material, trusted []*x509.Certificate, name string, want Names, life Lifetimes, now time.Time) plan {
	p := plan{names: want, retire: m.retire}
	p.authority = whyAuthority(m.ca, now)
	p.serving = whyServing(m, p.authority, want, now)
	if strings.HasPrefix(p.serving, whyNames) {
		p.names = want.with(m.leaf())
	}
	lost := unexpired(without(ownOnly(trusted, name), append(m.signing(), m.previous...)), now)
	p.previous = append(stillNamed(m, trusted, life, now), lost...)
	if p.authority != "" {
		p.previous = append(unexpired(m.signing(), now), p.previous...)
	}
	if len(lost) > 0 || p.authority != "" {
		p.retire = latest(now.Add(life.Serving), m.leaf())
	}
	p.changed = p.serving != "" || len(lost) > 0 || len(p.previous) != len(m.previous) || len(m.damage) > 0
	return p
}

// with returns n together with the names of leaf. So replicas with different names, in the middle of an upgrade, agree on the union of their names.
func (n Names) with(leaf *x509.Certificate) Names {
	if leaf == nil {
		return n
	}
	for _, name := range leaf.DNSNames {
		if !contains(n.DNS, name, func(a, b string) bool { return a == b }) {
			n.DNS = append(n.DNS[:len(n.DNS):len(n.DNS)], name)
		}
	}
	for _, ip := range leaf.IPAddresses {
		if !contains(n.IPs, ip, net.IP.Equal) {
			n.IPs = append(n.IPs[:len(n.IPs):len(n.IPs)], ip)
		}
	}
	return n
}

// skew returns how far the clocks of two replicas may differ without the replicas undoing each other's work. Once a CA has retired, no replica adds it any
// more. One skew later it is removed from the caBundles, and two skews later from the Secret.
func (l Lifetimes) skew() time.Duration { return l.Serving / 10 }

// stillNamed returns the replaced CAs that stay in the Secret: those that have not been retired for two skews, and those that a caBundle still holds.
func stillNamed(m material, trusted []*x509.Certificate, life Lifetimes, now time.Time) []*x509.Certificate {
	var named []*x509.Certificate
	for _, cert := range distinct(m.previous) {
		if !m.retired(cert, now.Add(-2*life.skew())) || holds(trusted, cert) && now.Before(cert.NotAfter) {
			named = append(named, cert)
		}
	}
	return named
}

const whyNames = "it does not cover "

func whyAuthority(ca *authority, now time.Time) string {
	switch {
	case ca == nil:
		return "the Secret has no CA that can sign"
	case !validAt(ca.cert, now):
		return "it is not valid now"
	case !now.Before(due(ca.cert)):
		return "two thirds of its validity period have passed"
	}
	return ""
}

func whyServing(m material, newAuthority string, want Names, now time.Time) string {
	leaf := m.leaf()
	switch {
	case newAuthority != "":
		return "its CA is replaced"
	case leaf == nil:
		return "the Secret has no serving certificate"
	case !issued(m.ca.cert, leaf):
		return "another CA signed it"
	case !validAt(leaf, now):
		return "it is not valid now"
	case !now.Before(due(leaf)):
		return "two thirds of its validity period have passed"
	}
	if missing := want.missingFrom(leaf); len(missing) > 0 {
		return whyNames + strings.Join(missing, ", ")
	}
	return ""
}

// missingFrom returns the names that the certificate does not cover.
func (n Names) missingFrom(leaf *x509.Certificate) []string {
	var missing []string
	for _, host := range n.hosts() {
		if leaf.VerifyHostname(host) != nil {
			missing = append(missing, host)
		}
	}
	return missing
}

// latest returns the time after which no leaf of a replaced CA can be valid: t, or the end of leaf if that is later.
func latest(t time.Time, leaf *x509.Certificate) time.Time {
	if leaf != nil && leaf.NotAfter.After(t) {
		return leaf.NotAfter
	}
	return t
}

func unexpired(certs []*x509.Certificate, now time.Time) []*x509.Certificate {
	var keep []*x509.Certificate
	for _, cert := range certs {
		if now.Before(cert.NotAfter) {
			keep = append(keep, cert)
		}
	}
	return keep
}

func without(certs, gone []*x509.Certificate) []*x509.Certificate {
	var keep []*x509.Certificate
	for _, cert := range certs {
		if !holds(gone, cert) {
			keep = append(keep, cert)
		}
	}
	return keep
}

func distinct(lists ...[]*x509.Certificate) []*x509.Certificate {
	var all []*x509.Certificate
	for _, list := range lists {
		for _, cert := range list {
			if !holds(all, cert) {
				all = append(all, cert)
			}
		}
	}
	return all
}

func holds(certs []*x509.Certificate, cert *x509.Certificate) bool {
	return contains(certs, cert, func(a, b *x509.Certificate) bool { return bytes.Equal(a.Raw, b.Raw) })
}

// mayServe reports whether a replica may replace the certificate that it serves (held) by the one that the Secret offers (offered). trustedFor is how long the
// CA of the offered certificate has been in every caBundle, negative if it is not in every one.
func mayServe(held, offered *tls.Certificate, ca *x509.Certificate, trustedFor, delay time.Duration, now time.Time) bool {
	switch {
	case held == nil || !validAt(held.Leaf, now):
		return true
	case issued(ca, held.Leaf): // a client that accepts the held one accepts the offered one
		return true
	}
	return validAt(offered.Leaf, now) && trustedFor >= delay
}
