// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/poundlock/poundlock/certs"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/connections"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/reconcilers"
)

func TestSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		file string
		want []string // --namespaces
		err  string   // a part of the error
	}{
		"nothing said leaves the default":        {want: []string{"a=b"}},
		"a line of the file is taken":            {file: "namespaces: [c=d, e=f]\n", want: []string{"c=d", "e=f"}},
		"the environment comes before the file":  {file: "namespaces: [c=d]\n", env: map[string]string{"POUNDLOCK_NAMESPACES": "x=y"}, want: []string{"x=y"}},
		"a flag comes before the environment":    {args: []string{"--namespaces=t=u"}, env: map[string]string{"POUNDLOCK_NAMESPACES": "x=y"}, want: []string{"t=u"}},
		"a line that is no flag is named":        {file: "namespace: [c=d]\n", err: `"namespace" is not a setting`},
		"a value that does not parse is located": {env: map[string]string{"POUNDLOCK_LEADER_ELECT": "perhaps"}, err: "$POUNDLOCK_LEADER_ELECT"},
		"a file that is no map is an error":      {file: "- a\n", err: "settings"},
		"a line that stands twice is an error":   {file: "leader-elect: true\nleader-elect: false\n", err: "leader-elect"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			namespaces := flags.StringSlice("namespaces", []string{"a=b"}, "")
			flags.Bool("leader-elect", false, "")
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			file := ""
			if tc.file != "" {
				file = filepath.Join(t.TempDir(), "settings.yaml")
				if err := os.WriteFile(file, []byte(tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := resolveSettings(flags, file, func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok })
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, *namespaces); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What flags say together is checked before anything runs.
func TestSettingsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		err  string
	}{
		"nothing said":                     {},
		"OpenShift's times":                {args: []string{"--leader-elect-lease-duration=137s", "--leader-elect-renew-deadline=107s", "--leader-elect-retry-period=26s"}},
		"a lease that ends before renewal": {args: []string{"--leader-elect-lease-duration=5s"}, err: "each of the three must be longer than the next one"},
		"no time between two tries":        {args: []string{"--leader-elect-retry-period=0s"}, err: "each of the three must be longer than the next one"},
		"a renewal as long as two tries":   {args: []string{"--leader-elect-renew-deadline=2400ms"}, err: "must be longer than 1.2 times"},
		"suites by name":                   {args: []string{"--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}},
		"a suite with CBC":                 {args: []string{"--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"}, err: "--tls-cipher-suites: the suite TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"},
		"a suite of no name":               {args: []string{"--tls-cipher-suites=ROT13"}, err: "--tls-cipher-suites"},
		"an old version":                   {args: []string{"--tls-min-version=VersionTLS10"}, err: "use VersionTLS12 or VersionTLS13"},
		"a version of no name":             {args: []string{"--tls-min-version=3"}, err: "--tls-min-version"},
		"nothing to run":                   {args: []string{"--webhooks=false", "--reconcilers=false"}, err: "nothing to run"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &options{identities: identityFlags{}}
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.bind(flags)
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			switch _, err := o.settings(); {
			case (err != nil) != (c.err != ""), err != nil && !strings.Contains(err.Error(), c.err):
				t.Errorf("got %v, want an error with %q", err, c.err)
			}
		})
	}
}

// What the flags say of the reconcilers reaches them.
func TestTheReconcilersGetTheirSettings(t *testing.T) {
	o := &options{identities: identityFlags{}}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.bind(flags)
	if err := flags.Parse([]string{
		"--namespaces=a=b", "--control-plane", "--control-plane-recreate", "--control-plane-not-ready-grace=7m", "--release-version=4.22.0",
		"--additional-sync-machine-labels=one", "--additional-sync-machine-annotations=two",
	}); err != nil {
		t.Fatal(err)
	}
	s, err := o.settings()
	if err != nil {
		t.Fatal(err)
	}
	got := s.forReconcilers()
	if len(got.NodeSync.Labels) == 0 || len(got.NodeSync.Annotations) == 0 {
		t.Errorf("the labels and annotations that Cluster API hands on are %+v", got.NodeSync)
	}
	got.NodeSync = conversion.NodeSync{}
	want := reconcilers.Options{
		Pairs: authority.Pairs{{MachineAPI: "a", ClusterAPI: "b"}}, ControlPlane: true, MayRecreate: true, NotReadyGrace: 7 * time.Minute, Version: "4.22.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The flags reach leader election and the webhooks. Without flags, the times are those of client-go's own components.
func TestTheServersGetTheirSettings(t *testing.T) {
	for name, c := range map[string]struct {
		args                []string
		lease, renew, retry time.Duration
		drain               time.Duration
		grace               time.Duration
		version             uint16
		suites              int
	}{
		"nothing said": {grace: 20 * time.Minute, lease: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second, drain: 5 * time.Second, version: tls.VersionTLS12, suites: 6},
		"all said": {
			args: []string{"--leader-elect-lease-duration=137s", "--leader-elect-renew-deadline=107s", "--leader-elect-retry-period=26s",
				"--shutdown-delay=9s", "--control-plane-not-ready-grace=7m", "--tls-min-version=VersionTLS13", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
			grace: 7 * time.Minute, lease: 137 * time.Second, renew: 107 * time.Second, retry: 26 * time.Second, drain: 9 * time.Second, version: tls.VersionTLS13, suites: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &options{identities: identityFlags{}}
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.bind(flags)
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			s, err := o.settings()
			if err != nil {
				t.Fatal(err)
			}
			if term := termOptions(s); term.Lease != c.lease || term.Renew != c.renew || term.Retry != c.retry || term.Namespace != "openshift-cluster-api" {
				t.Errorf("leader election: %+v", term)
			}
			served := webhookOptions(s, mode{}, connections.NewLive(s.tls), &certs.Files{})
			if served.NotReadyGrace != c.grace {
				t.Errorf("reviews forecast with a grace of %s, want %s", served.NotReadyGrace, c.grace)
			}
			config := &tls.Config{} //nolint:gosec // what is tested
			served.TLS(config)
			if config.MinVersion != c.version || len(config.CipherSuites) != c.suites || served.DrainDelay != c.drain {
				t.Errorf("webhooks: %s, %d suites, a delay of %s", tls.VersionName(config.MinVersion), len(config.CipherSuites), served.DrainDelay)
			}
			graceful := managerOptions(s, &rights{}).GracefulShutdownTimeout
			if *graceful < c.drain+20*time.Second {
				t.Errorf("the manager ends within %s, which leaves reviews too little after the delay of %s", *graceful, c.drain)
			}
		})
	}
}
