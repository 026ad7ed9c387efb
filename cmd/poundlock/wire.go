// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	"go.uber.org/zap/zapcore"
	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/certs"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/internal/connections"
	"github.com/poundlock/poundlock/internal/metricsregistry"
	"github.com/poundlock/poundlock/internal/reread"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/internal/terms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/webhooks"
)

func logger(verbosity int) logr.Logger {
	return zap.New(zap.Level(zapcore.Level(-verbosity)))
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w. Set --kubeconfig, or run Poundlock in a pod of the cluster", err)
	}
	// The client has no limit of its own: the API server's priority and fairness limits a client better than a guess does.
	cfg.QPS = -1
	cfg.Wrap(reread.Transport)
	return cfg, nil
}

// wire makes a manager of everything that the settings ask for. It reads from the API server, and writes nothing.
func wire(ctx context.Context, cfg *rest.Config, s settings) (manager.Manager, error) {
	direct, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme()})
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	if err := checkIdentity(ctx, direct, s.identities[policies.Poundlock]); err != nil {
		return nil, err
	}
	certificate := &lateCertificate{}
	allowed := &rights{now: time.Now}
	live := connections.NewLive(s.tls)
	mgr, err := newManager(cfg, managerOptions(s, allowed), endpointsOf(s, live, certificate))
	if err != nil {
		return nil, err
	}
	now, err := readMode(ctx, mgr.GetAPIReader(), s)
	if err != nil && s.reconcilers {
		return nil, err
	}
	return mgr, errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("ping", healthz.Ping), // without any check there is no /readyz
		allowed.addTo(mgr),
		showBuild(),
		followProfile(ctx, mgr, s, live),
		addWebhooks(ctx, mgr, direct, s, now, live, certificate),
		addReconcilers(mgr, cfg, s, now),
		mgr.Add(modeWatch{read: func(ctx context.Context) (mode, error) { return readMode(ctx, mgr.GetAPIReader(), s) }, began: now,
			period: 30 * time.Second, soon: 2 * time.Second, onChange: gateChanges(mgr.GetCache(), s)}),
	)
}

func scheme() *runtime.Scheme {
	sc := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, configv1.Install} {
		if err := add(sc); err != nil {
			panic(err) // two types have one name, which no user can cause
		}
	}
	return sc
}

// followProfile makes servers start with the cluster's TLS profile, and follow its changes, in what the settings leave open.
func followProfile(ctx context.Context, mgr manager.Manager, s settings, live *connections.Live) error {
	if s.tls.Complete() {
		return nil
	}
	w := &profileWatch{settings: s.tls, live: live, period: 30 * time.Second, log: mgr.GetLogger().WithName("tls"),
		read: func(ctx context.Context) (*configv1.TLSSecurityProfile, error) {
			return readProfile(ctx, mgr.GetAPIReader())
		}}
	w.look(ctx)
	return mgr.Add(w)
}

func managerOptions(s settings, allowed *rights) ctrl.Options {
	caches := cacheOptions(s.pairs)
	caches.DefaultWatchErrorHandler = allowed.watchFailed
	drain := s.drain + 25*time.Second // reviews in flight are answered within their timeout
	return ctrl.Options{
		Scheme:                  scheme(),
		Cache:                   caches,
		NewCache:                served.New,
		Client:                  clientOptions(),
		PprofBindAddress:        s.profilerAddress,
		GracefulShutdownTimeout: &drain,
	}
}

func clientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{Unstructured: true}}
}

// checkIdentity returns an error early if Poundlock runs as a user who is not in names, because the rules would lock Poundlock itself out.
func checkIdentity(ctx context.Context, c client.Client, names []string) error {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return fmt.Errorf("asking the API server who Poundlock runs as: %w", err)
	}
	if name := review.Status.UserInfo.Username; !slices.Contains(names, name) {
		return fmt.Errorf("this process runs as the user %s, but --identity-poundlock names %s: correct the flag. Otherwise Poundlock's webhooks would "+
			"refuse Poundlock's own requests",
			name, strings.Join(names, ", "))
	}
	return nil
}

func addWebhooks(ctx context.Context, mgr manager.Manager, direct client.WithWatch, s settings, now mode, live *connections.Live, late *lateCertificate) error {
	if !s.webhooks {
		return nil
	}
	source, err := certificate(mgr, direct, s)
	if err != nil {
		return err
	}
	get := source.GetCertificate
	late.source.Store(&get)
	host, port, err := splitAddress(s.webhookAddress)
	if err != nil {
		return err
	}
	o := webhookOptions(s, now, live, source)
	o.Host, o.Port, o.Log = host, port, mgr.GetLogger().WithName("webhooks")
	server, err := webhooks.New(ctx, mgr, o)
	if err != nil {
		return err
	}
	return errors.Join(mgr.AddReadyzCheck("certificate", source.Ready), server.AddTo(mgr))
}

// webhookOptions returns what the settings ask of the webhooks.
func webhookOptions(s settings, now mode, live *connections.Live, source certs.Source) webhooks.Options {
	return webhooks.Options{
		Pairs: s.pairs, Identities: s.identities,
		Catalog: webhooks.All(platforms.List()...), MayRecreate: s.mayRecreate, NotReadyGrace: s.notReadyGrace, NodeSync: s.nodeSync, Rival: now.rival,
		GateOff: !now.gate, TLS: live.Apply,
		GetCertificate: source.GetCertificate, KeepCertificate: source.Start, DrainDelay: s.drain, Registerer: metrics.Registry,
	}
}

// certificate returns the source of the serving certificate: the files in a folder, or a certificate that Poundlock manages itself.
func certificate(mgr manager.Manager, direct client.WithWatch, s settings) (certs.Source, error) {
	m := certs.NewMetrics()
	if err := metrics.Registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering the certificate's metrics: %w", err)
	}
	log := mgr.GetLogger().WithName("certs")
	if s.certDir != "" {
		return certs.NewFiles(certs.FilesOptions{Dir: s.certDir, Metrics: m, Log: log})
	}
	return certs.NewSelfManaged(certs.SelfManagedOptions{
		Client:  direct,
		Secret:  types.NamespacedName{Namespace: s.leaderElection, Name: s.certSecret},
		Names:   names(s.certHosts),
		Targets: []certs.Target{{Kind: certs.ValidatingWebhooks, Name: s.configuration}, {Kind: certs.MutatingWebhooks, Name: s.configuration}},
		Events:  mgr.GetEventRecorder("poundlock"),
		Metrics: m, Log: log,
	})
}

func names(hosts []string) certs.Names {
	var out certs.Names
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			out.IPs = append(out.IPs, ip)
		} else {
			out.DNS = append(out.DNS, h)
		}
	}
	return out
}

func splitAddress(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("--webhook-bind-address %q is not a valid address: use HOST:PORT or :PORT", address)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("--webhook-bind-address %q: the port must be a number from 1 to 65535", address)
	}
	return host, port, nil
}

// addReconcilers adds the reconcilers to the manager. They run always, or with leader election while this replica holds the Lease.
func addReconcilers(mgr manager.Manager, cfg *rest.Config, s settings, now mode) error {
	if !s.reconcilers {
		return nil
	}
	if err := showRival(now); err != nil {
		return err
	}
	add, err := chosenReconcilers(mgr, cfg, s, now)
	if err != nil {
		return err
	}
	if !s.leaderElect {
		return add(mgr)
	}
	o := termOptions(s)
	o.Setup = add
	o.After = func() {
		metricsregistry.Clear()
		_ = showRival(now) // once registered, it does not fail
	}
	return terms.Add(mgr, o)
}

// termOptions returns what the settings ask of leader election.
func termOptions(s settings) terms.Options {
	return terms.Options{Namespace: s.leaderElection, Name: "poundlock", Lease: s.lease, Renew: s.renew, Retry: s.retry, Client: clientOptions()}
}
