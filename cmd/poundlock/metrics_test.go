// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/poundlock/poundlock/internal/connections"
	"github.com/poundlock/poundlock/test/embedded"
)

// Secure metrics are for those whom the API server knows and lets get /metrics, over TLS with the certificate that the webhooks have.
func TestSecureMetrics(t *testing.T) {
	embedded.LeaveOut(t)
	plane := embedded.ForTest(t, embedded.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	certificate := &lateCertificate{}
	s := settings{options: options{metricsAddress: address, metricsSecure: true, webhooks: true}}
	mgr, err := newManager(plane.Admin(), ctrl.Options{}, endpointsOf(s, connections.NewLive(s.tls), certificate))
	if err != nil {
		t.Fatal(err)
	}
	if err := showBuild(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = mgr.Start(t.Context()) }()

	serving := httptest.NewTLSServer(nil)
	t.Cleanup(serving.Close)
	get := func(token string) (int, string) {
		client := serving.Client() // trusts that certificate
		client.Timeout = 10 * time.Second
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		value, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(value)
	}
	eventually := func(what, token string, want int) (text string) {
		t.Helper()
		got := 0
		if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
			got, text = get(token)
			return got == want, nil
		}); err != nil {
			t.Fatalf("%s: %d %s, want %d", what, got, text, want)
		}
		return text
	}
	eventually("before there is a certificate", "", 0)
	source := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &serving.TLS.Certificates[0], nil }
	certificate.source.Store(&source)
	eventually("nobody", "", http.StatusUnauthorized)
	token := tokenOf(t, kubernetes.NewForConfigOrDie(plane.Admin()))
	eventually("somebody", token("somebody", false), http.StatusForbidden)
	if message := eventually("who may", token("prometheus", true), http.StatusOK); !strings.Contains(message, "poundlock_build_info{") {
		t.Errorf("no build among %d bytes of metrics", len(message))
	}
}

// tokenOf makes service accounts, which may get metrics or not, and gives their tokens.
func tokenOf(t *testing.T, c kubernetes.Interface) func(name string, may bool) string {
	t.Helper()
	return func(name string, may bool) string {
		t.Helper()
		if _, err := c.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if may {
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name},
				Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}},
			}
			_, err := c.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
			if err == nil {
				_, err = c.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		answer, err := c.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(fmt.Errorf("a token of %s: %w", name, err))
		}
		return answer.Status.Token
	}
}
