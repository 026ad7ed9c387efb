// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/poundlock/poundlock/internal/connections"
)

// Servers follow the cluster's profile in what the settings leave open, and go on as they are where it cannot be read.
func TestTheClustersTLSProfile(t *testing.T) {
	var refusal error
	server := &configv1.APIServer{}
	server.Name = "cluster"
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme()).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if refusal != nil {
				return refusal
			}
			return c.Get(ctx, key, o, options...)
		},
	})
	logged := 0
	live := connections.NewLive(connections.TLS{})
	w := &profileWatch{
		live: live, log: funcr.New(func(_, _ string) { logged++ }, funcr.Options{}),
		read: func(ctx context.Context) (*configv1.TLSSecurityProfile, error) { return readProfile(ctx, c) },
	}
	profile := func(name configv1.TLSProfileType) func() {
		return func() {
			server.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: name}
			if err := c.Update(t.Context(), server); err != nil {
				t.Fatal(err)
			}
		}
	}
	fails := func(err error) func() { return func() { refusal = err } }
	for _, step := range []struct {
		sentence string
		do       func()
		want     uint16
		logged   int
	}{
		{"the kind is not served", fails(&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "APIServer"}}), tls.VersionTLS12, 1},
		{"it is still not served", func() {}, tls.VersionTLS12, 1},
		{"there is no object", fails(nil), tls.VersionTLS12, 2},
		{"an object without a profile", func() {
			if err := c.Create(t.Context(), server); err != nil {
				t.Fatal(err)
			}
		}, tls.VersionTLS12, 2},
		{"Modern", profile(configv1.TLSProfileModernType), tls.VersionTLS13, 3},
		{"nobody answers", fails(errors.New("connection refused")), tls.VersionTLS13, 4},
		{"Old", func() { refusal = nil; profile(configv1.TLSProfileOldType)() }, tls.VersionTLS12, 5},
	} {
		step.do()
		w.look(t.Context())
		config := &tls.Config{} //nolint:gosec // what is tested
		live.Apply(config)
		if config.MinVersion != step.want || logged != step.logged {
			t.Errorf("%s: %s and %d lines, want %s and %d", step.sentence, tls.VersionName(config.MinVersion), logged, tls.VersionName(step.want), step.logged)
		}
	}
}
