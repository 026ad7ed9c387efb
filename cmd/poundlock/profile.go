// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/connections"
)

// readProfile reads the cluster's TLS profile from the API server; nil for none. It takes no longer than a starting process may wait.
func readProfile(ctx context.Context, c client.Reader) (*configv1.TLSSecurityProfile, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	server := &configv1.APIServer{}
	err := c.Get(ctx, client.ObjectKey{Name: "cluster"}, server)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading APIServer cluster: %w", err)
	}
	return server.Spec.TLSSecurityProfile, nil
}

// profileWatch makes servers follow the cluster's TLS profile in what the settings leave open.
type profileWatch struct {
	settings connections.TLS
	live     *connections.Live
	read     func(context.Context) (*configv1.TLSSecurityProfile, error)
	period   time.Duration
	log      logr.Logger

	failed bool
}

// look reads the profile once. A read that fails changes nothing. Only the first of several failures is logged, because most clusters without the kind or the
// right will never have them.
func (w *profileWatch) look(ctx context.Context) {
	profile, err := w.read(ctx)
	switch {
	case err != nil && !w.failed:
		w.log.Info("the TLS profile of APIServer/cluster cannot be read: the TLS settings in use do not change", "because", err.Error())
	case err == nil:
		chosen := connections.Choose(w.settings, profile)
		if w.live.Set(chosen) {
			w.log.Info("new connections use these TLS settings, from the flags and the TLS profile of APIServer/cluster",
				"minVersion", tls.VersionName(chosen.MinVersion), "cipherSuites", suiteNames(chosen))
		}
	}
	w.failed = err != nil
}

// Start calls look from time to time until ctx is done.
func (w *profileWatch) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, w.look, w.period)
	return nil
}

// NeedLeaderElection is false: every replica serves.
func (*profileWatch) NeedLeaderElection() bool { return false }

func suiteNames(t connections.TLS) (out []string) {
	for _, id := range t.CipherSuites {
		out = append(out, tls.CipherSuiteName(id))
	}
	return out
}
