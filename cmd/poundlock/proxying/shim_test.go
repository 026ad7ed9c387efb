// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxying

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/poundlock/poundlock/test/embedded"
)

// issue writes a serving certificate with a serial number into a folder.
func issue(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour)}
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: leaf}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The command serves the certificate that lies in its folder, and another one once that lies there; it has metrics and ends in order.
func TestShim(t *testing.T) {
	ports, err := embedded.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	issue(t, dir, 1)
	ctx, stop := context.WithCancel(t.Context())
	cmd := Shim()
	cmd.SetArgs([]string{
		"--upstream=cluster.x-k8s.io=https://127.0.0.1:1/convert", "--webhook-cert-dir=" + dir, "--shutdown-delay=100ms",
		fmt.Sprintf("--listen=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-listen=127.0.0.1:%d", ports[1]),
	})
	ended := make(chan error)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	serial := func() int64 {
		c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0]), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return 0
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	until := func(what string, is func() bool) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true,
			func(context.Context) (bool, error) { return is(), nil }); err != nil {
			t.Fatalf("%s: %s", what, err)
		}
	}
	until("the first certificate", func() bool { return serial() == 1 })
	issue(t, dir, 2)
	until("the second", func() bool { return serial() == 2 })
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	for _, name := range []string{"hypershift_conversion_webhook_errors_total", "poundlock_certificate_", "process_resident_memory_bytes"} {
		if err != nil || !strings.Contains(string(text), name) {
			t.Errorf("the metrics have no %s: %v", name, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What is wrong with the command line ends the command before it listens.
func TestMisusedShim(t *testing.T) {
	for want, args := range map[string][]string{
		`"upstream" not set`:                              nil,
		"with a URL that begins with https://":            {"--upstream=cluster.x-k8s.io=http://h/convert"},
		"neither cluster.x-k8s.io nor a group beneath it": {"--upstream=apps=https://h/convert"},
		"upstream-ca":                  {"--upstream=cluster.x-k8s.io=https://h/convert", "--upstream-ca=" + filepath.Join(t.TempDir(), "upstream-ca")},
		"--concurrency 0 is too low":   {"--upstream=cluster.x-k8s.io=https://h/convert", "--concurrency=0"},
		"--in-flight-mib 0 is too low": {"--upstream=cluster.x-k8s.io=https://h/convert", "--in-flight-mib=0"},
		"less than 30s":                {"--upstream=cluster.x-k8s.io=https://h/convert", "--budget=40s"},
		"more than 0s":                 {"--upstream=cluster.x-k8s.io=https://h/convert", "--budget=-1s"},
		"listening":                    {"--upstream=cluster.x-k8s.io=https://h/convert", "--listen=127.0.0.1:x"},
	} {
		cmd := Shim()
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", args, err, want)
		}
	}
}
