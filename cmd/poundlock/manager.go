// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/leaderelection"
	cliflag "k8s.io/component-base/cli/flag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/connections"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// options are the settings of `poundlock manager`, as typed.
type options struct {
	config     string
	kubeconfig string
	namespaces []string
	identities identityFlags

	webhooks    bool
	reconcilers bool

	controlPlane bool
	mayRecreate  bool
	// notReadyGrace is how long a Node of the control plane may be not ready without a consequence.
	notReadyGrace time.Duration

	gate    string
	release string

	// syncedLabels and syncedAnnotations are the values of Cluster API's manager for the flags of the same names.
	syncedLabels, syncedAnnotations []string

	leaderElect    bool
	leaderElection string
	// lease, renew and retry are the durations of leader election.
	lease, renew, retry time.Duration

	webhookAddress  string
	metricsAddress  string
	metricsSecure   bool
	profilerAddress string
	healthAddress   string
	drain           time.Duration

	tlsVersion string
	tlsCiphers []string

	certDir       string
	certSecret    string
	certHosts     []string
	configuration string
	verbosity     int
}

// identityFlags are the user names of each actor, from the actor's flag.
type identityFlags map[policies.Actor]*[]string

// identityRow is an actor and its flag. whose describes the actor. authority.OpenShiftIdentities has the flag's default.
type identityRow struct {
	actor policies.Actor
	flag  string
	whose string
}

func identityRows() []identityRow {
	return []identityRow{
		{policies.Poundlock, "identity-poundlock", "Poundlock itself, the only writer of locked objects"},
		{policies.MachineAPIController, "identity-machine-api", "the Machine API's controllers"},
		{policies.ClusterAPIController, "identity-cluster-api", "Cluster API's core controllers"},
		{policies.InfrastructureController, "identity-infrastructure", "the Cluster API provider's controllers (one name for each platform)"},
		{policies.Autoscaler, "identity-autoscaler", "the cluster autoscaler"},
		{policies.AutoscalerOperator, "identity-autoscaler-operator", "the operator that writes the limits of autoscaling to MachineSets"},
		{policies.ControlPlaneOperator, "identity-control-plane-operator", "OpenShift's operator of ControlPlaneMachineSets"},
		{policies.EtcdOperator, "identity-etcd-operator", "OpenShift's etcd operator, which protects the control plane's Machines by a lifecycle hook"},
		{policies.GarbageCollector, "identity-garbage-collector", "Kubernetes' garbage collector"},
		{policies.NamespaceController, "identity-namespace-controller", "Kubernetes' namespace controller"},
	}
}

func (i identityFlags) identities() policies.Identities {
	out := policies.Identities{}
	for actor, names := range i {
		out[actor] = *names
	}
	return out
}

func managerCommand() *cobra.Command {
	o := &options{identities: identityFlags{}}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Serve the admission webhooks and run the reconcilers",
		Args:  cobra.NoArgs,
		Example: `  # In a cluster: run the webhooks in every replica, and the reconcilers in the leader.
  poundlock manager --leader-elect

  # Run only the webhooks, with a certificate that is mounted into the pod.
  poundlock manager --reconcilers=false --cert-dir /etc/poundlock/serving`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := resolveSettings(cmd.Flags(), o.config, os.LookupEnv); err != nil {
				return err
			}
			settings, err := o.settings()
			if err != nil {
				return err
			}
			return run(cmd.Context(), settings)
		},
	}
	o.bind(cmd.Flags())
	return cmd
}

func (o *options) bind(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "a YAML file of settings, whose keys are the names of these flags; a flag overrides $POUNDLOCK_<FLAG>, which "+
		"overrides the file")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "the kubeconfig to use (not needed if $KUBECONFIG is set, or in a pod of the cluster)")
	f.StringSliceVar(&o.namespaces, "namespaces", []string{"openshift-machine-api=openshift-cluster-api"}, "pairs of namespaces: that of the Machine "+
		"API's objects, and that of Cluster API's, MACHINE-API=CLUSTER-API")
	for _, row := range identityRows() {
		o.identities[row.actor] = f.StringSlice(row.flag, authority.OpenShiftIdentities()[row.actor], "exact user names of "+row.whose)
	}
	f.BoolVar(&o.webhooks, "webhooks", true, "serve the admission webhooks")
	f.BoolVar(&o.reconcilers, "reconcilers", true, "run the reconcilers that mirror objects and move authority")
	f.BoolVar(&o.controlPlane, "control-plane", false,
		"run the operator and the generator of ControlPlaneMachineSets, whether or not the feature gate is on. Set this flag only if no other operator of "+
			"ControlPlaneMachineSets runs")
	f.BoolVar(&o.mayRecreate, "control-plane-recreate", false,
		"allow ControlPlaneMachineSets the strategy Recreate, which deletes each Machine before it creates the replacement: meanwhile etcd has one member less")
	f.DurationVar(&o.notReadyGrace, "control-plane-not-ready-grace", controlplane.NotReadyGrace,
		"how long a Node of the control plane may be not ready, for example during a reboot, before the ControlPlaneMachineSet and its "+
			"ClusterOperator become unavailable")
	f.StringVar(&o.gate, "feature-gate", "cluster",
		"the feature gate MachineAPIMigration: `cluster` reads FeatureGate/cluster; `on` and `off` override that object")
	f.StringVar(&o.release, "release-version", "",
		"if FeatureGate/cluster lists several releases, the release from which the feature gate is read; empty: the gate is on if it is on in all "+
			"listed releases")
	f.StringSliceVar(&o.syncedLabels, "additional-sync-machine-labels", nil,
		"regular expressions of labels that Cluster API also copies from Machines to Nodes: use the value of this flag of Cluster API's manager; "+
			"matching labels in spec.metadata.labels of a Machine are converted")
	f.StringSliceVar(&o.syncedAnnotations, "additional-sync-machine-annotations", nil, "as --additional-sync-machine-labels, for annotations")
	f.BoolVar(&o.leaderElect, "leader-elect", false, "run the reconcilers in one replica only; all replicas serve the webhooks")
	f.StringVar(&o.leaderElection, "leader-election-namespace", "", "the namespace of the Lease; empty: the Cluster API namespace of the first pair "+
		"in --namespaces")
	f.DurationVar(&o.lease, "leader-elect-lease-duration", 15*time.Second, "how long after the last renewal of the Lease another replica may take it")
	f.DurationVar(&o.renew, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew the Lease before it gives up")
	f.DurationVar(&o.retry, "leader-elect-retry-period", 2*time.Second, "how often the leader renews the Lease, and other replicas try to take it")
	f.StringVar(&o.webhookAddress, "webhook-bind-address", ":9443", "the address at which the webhooks are served")
	f.StringVar(&o.profilerAddress, "profiler-address", "", "the address at which Go profiles are served under /debug/pprof, such as 127.0.0.1:6060; "+
		"empty: no profiles")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "the address at which metrics are served; 0 turns metrics off")
	f.BoolVar(&o.metricsSecure, "metrics-secure", false,
		"serve metrics over TLS, with the webhooks' certificate, and only to users who have the right to get /metrics")
	f.StringVar(&o.healthAddress, "health-bind-address", ":8081", "the address at which /healthz and /readyz are served; 0 turns them off")
	f.DurationVar(&o.drain, "shutdown-delay", 5*time.Second, "how long a replica that is stopping still serves webhooks, while its /readyz already fails")
	f.StringVar(&o.certDir, "cert-dir", "", "a folder with tls.crt and tls.key, which Poundlock reads again when they change; empty: Poundlock issues "+
		"its own certificate")
	f.StringVar(&o.tlsVersion, "tls-min-version", "", "the minimum TLS version of webhooks and metrics, VersionTLS12 or VersionTLS13; "+
		"empty: the version in the TLS profile of APIServer/cluster, or VersionTLS12 without a profile")
	f.StringSliceVar(&o.tlsCiphers, "tls-cipher-suites", nil, "the cipher suites for TLS 1.2, with their names in Go; "+
		"empty: the suites in the TLS profile of APIServer/cluster that have forward secrecy and do not use CBC. Possible values: "+
		""+strings.Join(withoutCBC(), ", "))
	f.StringVar(&o.certSecret, "cert-secret", "poundlock-serving", "the Secret, in the namespace of the Lease, for the certificate that Poundlock "+
		"issues if --cert-dir is empty")
	f.StringSliceVar(&o.certHosts, "cert-hosts", []string{"poundlock-webhook.openshift-cluster-api.svc"},
		"host names and IP addresses in the certificate that Poundlock issues if --cert-dir is empty")
	f.StringVar(&o.configuration, "webhook-configuration", "poundlock",
		"the name of the webhook configurations whose caBundle Poundlock writes if --cert-dir is empty")
	f.IntVarP(&o.verbosity, "verbosity", "v", 0, "the log level: 0 logs one line for each change, 1 also logs each decision")
}

// settings are the checked options. The wiring may rely on them.
type settings struct {
	options
	pairs      authority.Pairs
	identities policies.Identities
	nodeSync   conversion.NodeSync
	tls        connections.TLS
}

func (o *options) settings() (settings, error) {
	pairs, err := authority.ParsePairs(o.namespaces)
	if err != nil {
		return settings{}, err
	}
	nodeSync, err := o.nodeSync()
	if err != nil {
		return settings{}, err
	}
	connections, err := o.tls()
	if err != nil {
		return settings{}, err
	}
	switch {
	case o.retry <= 0 || o.renew <= o.retry || o.lease <= o.renew:
		return settings{}, fmt.Errorf(
			"--leader-elect-lease-duration %s, --leader-elect-renew-deadline %s, --leader-elect-retry-period %s: each of the three must be longer than the next one",
			o.lease, o.renew, o.retry)
	case o.renew <= time.Duration(leaderelection.JitterFactor*float64(o.retry)): // as in client-go, which would end the process with an error of its own
		return settings{}, fmt.Errorf("--leader-elect-renew-deadline %s must be longer than %.1f times --leader-elect-retry-period %s, as a try may be that late",
			o.renew, leaderelection.JitterFactor, o.retry)
	case !o.webhooks && !o.reconcilers:
		return settings{}, fmt.Errorf("--webhooks and --reconcilers are both false, so there is nothing to run: set one of them to true")
	case o.gate != "cluster" && o.gate != "on" && o.gate != "off":
		return settings{}, fmt.Errorf("--feature-gate %q is not a valid value: use cluster, on or off", o.gate)
	case len(*o.identities[policies.Poundlock]) == 0:
		return settings{}, fmt.Errorf("--identity-poundlock is empty: set the name of the user as which Poundlock runs. Otherwise Poundlock's " +
			"webhooks would refuse Poundlock's own requests")
	}
	if o.leaderElection == "" {
		o.leaderElection = pairs[0].ClusterAPI
	}
	return settings{options: *o, pairs: pairs, identities: o.identities.identities(), nodeSync: nodeSync, tls: connections}, nil
}

// tls returns the TLS settings that the flags ask for. Settings that the flags leave open are zero.
func (o *options) tls() (out connections.TLS, err error) {
	if o.tlsVersion != "" {
		if out.MinVersion, err = cliflag.TLSVersion(o.tlsVersion); err != nil {
			return out, fmt.Errorf("--tls-min-version: %w", err)
		}
		if out.MinVersion < tls.VersionTLS12 {
			return out, fmt.Errorf("--tls-min-version %s is too low: use VersionTLS12 or VersionTLS13", o.tlsVersion)
		}
	}
	for _, name := range o.tlsCiphers {
		if !slices.Contains(withoutCBC(), name) {
			return out, fmt.Errorf("--tls-cipher-suites: the suite %s is not supported: use some of %s", name, strings.Join(withoutCBC(), ", "))
		}
	}
	if out.CipherSuites, err = cliflag.TLSCipherSuites(o.tlsCiphers); err != nil {
		return out, fmt.Errorf("--tls-cipher-suites: %w", err)
	}
	return out, nil
}

// withoutCBC returns the names of the cipher suites that Poundlock serves if a flag names them.
func withoutCBC() []string {
	return slices.DeleteFunc(cliflag.PreferredTLSCipherNames(), func(name string) bool { return strings.Contains(name, "_CBC_") })
}

func (o *options) nodeSync() (out conversion.NodeSync, err error) {
	if out.Labels, err = conversion.ParsePatterns(o.syncedLabels); err != nil {
		return out, fmt.Errorf("--additional-sync-machine-labels: %w", err)
	}
	if out.Annotations, err = conversion.ParsePatterns(o.syncedAnnotations); err != nil {
		return out, fmt.Errorf("--additional-sync-machine-annotations: %w", err)
	}
	return out, nil
}

// run makes the manager and starts it. It returns when ctx is done, or when a part cannot go on.
func run(ctx context.Context, s settings) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // most memory of a large fleet is the cache, and little is allocated once the fleet is mirrored
	}
	ctrl.SetLogger(logger(s.verbosity))
	cfg, err := restConfig(s.kubeconfig)
	if err != nil {
		return err
	}
	mgr, err := wire(ctx, cfg, s)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
