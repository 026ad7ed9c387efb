// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Admin returns the configuration of a client that may do everything (user admin, group system:masters). Client-side rate limits are off.
func (p *Plane) Admin() *rest.Config {
	return p.config(p.keys.admin)
}

// As returns the configuration of a client with any identity, by a client certificate. A service account (system:serviceaccount:NAMESPACE:NAME) is put into the
// groups that its token would be in. Add the group system:masters for a person who should pass RBAC without a role.
func (p *Plane) As(user string, groups ...string) (*rest.Config, error) {
	client, err := issue(&p.keys.api, identity(user, append(serviceAccountGroups(user), groups...)...))
	if err != nil {
		return nil, fmt.Errorf("issuing a certificate for %s: %w", user, err)
	}
	return p.config(client), nil
}

func serviceAccountGroups(user string) []string {
	rest, is := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, _, named := strings.Cut(rest, ":")
	if !is || !named {
		return nil
	}
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
}

func (p *Plane) config(client pair) *rest.Config {
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", p.ports.API),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   p.keys.api.certPEM,
			CertData: client.certPEM,
			KeyData:  client.keyPEM,
		},
		// The server has fair queueing of its own. A limit in the client would only make tests slow and timings wrong.
		QPS: -1,
	}
}

// Serving writes a certificate to dir, as tls.crt and tls.key, unless it is there. It is for a server on loopback, such as a webhook. The clients of Admin and
// As trust it, and so does an API server that has their CAData as a caBundle.
func (p *Plane) Serving(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	beside := keyring{dir: dir}
	if _, err := beside.load("tls", &p.keys.api, serving(filepath.Base(dir))); err != nil {
		return fmt.Errorf("issuing a serving certificate: %w", err)
	}
	return nil
}

// Issue issues a certificate of the same authority for a server of these names, as PEM.
func (p *Plane) Issue(names ...string) (certificate, key []byte, err error) {
	what := serving(names[0])
	what.DNSNames, what.IPAddresses = names, nil
	made, err := issue(&p.keys.api, what)
	return made.certPEM, made.keyPEM, err
}

// Kubeconfig writes a self-contained kubeconfig for cfg (from Admin or As) to path. Only the file's owner can read it.
func (p *Plane) Kubeconfig(cfg *rest.Config, path string) error {
	const name = "poundlock"
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: cfg.Host, CertificateAuthorityData: cfg.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Token: cfg.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	return clientcmd.WriteToFile(config, path)
}
