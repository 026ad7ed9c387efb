// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is that of everything signed here. It is long, because a data folder should not stop working while somebody still uses it.
const validity = 10 * 365 * 24 * time.Hour

// pair is a key with its certificate, in memory and on disk.
type pair struct {
	certPEM, keyPEM   []byte
	certFile, keyFile string
	cert              *x509.Certificate
	key               crypto.Signer
}

// keyring is the folder with every key of one control plane. There are two authorities, so that a client certificate for the API does not open etcd, where no
// admission applies.
type keyring struct {
	dir            string
	api, etcd      pair // the authorities
	apiServing     pair
	etcdServing    pair
	etcdClient     pair // the API server's certificate for etcd
	admin          pair
	manager        pair // kube-controller-manager's certificate
	serviceAccount pair // signs tokens; its certificate is not used
}

// openKeyring loads the keys of dir and issues those that are missing.
func openKeyring(dir string) (*keyring, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k := &keyring{dir: dir}
	var err error
	if k.api, err = k.load("ca", nil, authority("poundlock-plane")); err != nil {
		return nil, err
	}
	if k.etcd, err = k.load("etcd-ca", nil, authority("poundlock-plane-etcd")); err != nil {
		return nil, err
	}
	for _, row := range []struct {
		into *pair
		name string
		by   *pair
		what x509.Certificate
	}{
		{&k.apiServing, "apiserver", &k.api, serving("kube-apiserver")},
		{&k.etcdServing, "etcd", &k.etcd, serving("etcd")},
		{&k.etcdClient, "apiserver-etcd-client", &k.etcd, identity("kube-apiserver")},
		{&k.admin, "admin", &k.api, identity("admin", "system:masters")},
		{&k.manager, "controller-manager", &k.api, identity("system:kube-controller-manager")},
		{&k.serviceAccount, "service-account", &k.api, identity("service-account-issuer")},
	} {
		if *row.into, err = k.load(row.name, row.by, row.what); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// load reads name.crt and name.key, or issues and writes them. It writes the key first, so that a certificate on disk always has its key.
func (k *keyring) load(name string, by *pair, what x509.Certificate) (pair, error) {
	certFile, keyFile := filepath.Join(k.dir, name+".crt"), filepath.Join(k.dir, name+".key")
	certPEM, err := os.ReadFile(certFile)
	if errors.Is(err, os.ErrNotExist) {
		return k.create(certFile, keyFile, by, what)
	}
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return pair{}, err
	}
	p, err := parse(certPEM, keyPEM)
	if err != nil {
		return pair{}, fmt.Errorf("reading %s: %w: remove the folder to start anew", certFile, err)
	}
	p.certFile, p.keyFile = certFile, keyFile
	return p, nil
}

func (k *keyring) create(certFile, keyFile string, by *pair, what x509.Certificate) (pair, error) {
	p, err := issue(by, what)
	if err != nil {
		return pair{}, err
	}
	p.certFile, p.keyFile = certFile, keyFile
	if err := os.WriteFile(keyFile, p.keyPEM, 0o600); err != nil {
		return pair{}, err
	}
	return p, os.WriteFile(certFile, p.certPEM, 0o644)
}

// issue makes a key and its certificate, signed by the given authority or, if that is nil, by itself.
func issue(by *pair, what x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, err
	}
	// The certificate is valid from an hour ago, for a machine whose clock is set back while it runs.
	what.SerialNumber, what.NotBefore, what.NotAfter = serial, time.Now().Add(-time.Hour), time.Now().Add(validity)
	parent, signer := &what, crypto.Signer(key)
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &what, parent, key.Public(), signer)
	if err != nil {
		return pair{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return parse(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))
}

func parse(certPEM, keyPEM []byte) (pair, error) {
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return pair{}, errors.New("not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return pair{}, err
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return pair{}, err
	}
	return pair{certPEM: certPEM, keyPEM: keyPEM, cert: cert, key: key}, nil
}

func authority(name string) x509.Certificate {
	return x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
}

// serving returns the template of a certificate for loopback. It is also for a client, because etcd dials itself with it.
func serving(name string) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func identity(user string, groups ...string) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}
