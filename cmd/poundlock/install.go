// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/reconcilers/install"
)

// installOptions are the flags of `poundlock install`, as typed.
type installOptions struct {
	config     string
	kubeconfig string
	platforms  []string
	allowTags  bool
	release    string
	resync     time.Duration

	leaderElect    bool
	metricsAddress string
	healthAddress  string
	verbosity      int
}

// errInstallMisused is the error of a command that was typed wrongly, or that has wrong settings. The exit code is 2.
var errInstallMisused = errors.New("see poundlock install --help")

func installMisused(err error) error {
	return fmt.Errorf("%w: %w", err, errInstallMisused)
}

func installCommand() *cobra.Command {
	o := &installOptions{}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the providers of Cluster API that a release carries, and keep them as the release has them",
		Long: `Install the providers of Cluster API that a release carries, and keep them as the release has them.

The installer reads the ConfigMaps of poundlock bundle in namespace openshift-cluster-api, and applies their objects in stages. If OpenShift's own
cluster-capi-operator runs, the installer writes nothing. docs/providers.md describes the stages, and who may write such a ConfigMap.
Exit code 0: stopped by a signal. 1: the installer cannot continue. 2: the command line is wrong.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return installMisused(fmt.Errorf("argument %q is not expected", args[0]))
			}
			return nil
		},
		Example: `  # In a cluster.
  poundlock install --leader-elect

  # Also install on a platform that is off by default.
  poundlock install --enable-platform=Nutanix`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := resolveSettings(cmd.Flags(), o.config, os.LookupEnv); err != nil {
				return installMisused(err)
			}
			return o.run(cmd.Context())
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return installMisused(err) })
	o.bind(cmd.Flags())
	return cmd
}

func (o *installOptions) bind(f *pflag.FlagSet) {
	const resync = 10 * time.Minute
	f.StringVar(&o.config, "config", "", "Read settings from this YAML file, whose keys are the names of these flags. A flag overrides "+
		"$POUNDLOCK_<FLAG>, which overrides the file")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "Use this kubeconfig (not needed if $KUBECONFIG is set, or in a pod of the cluster)")
	f.StringSliceVar(&o.platforms, "enable-platform", nil, "Also install on these platforms, which are off by default: IBMCloud, Nutanix, KubeVirt (none)")
	f.BoolVar(&o.allowTags, "allow-tags", false, "Accept images that are named by a tag instead of a digest. Only for development (false)")
	f.StringVar(&o.release, "release-version", "", "Show this version of the release in the ClusterOperator (none)")
	f.DurationVar(&o.resync, "resync", resync, "Compare all installed objects with the release at this interval, even if no change was seen")
	f.BoolVar(&o.leaderElect, "leader-elect", false, "Use a Lease, so that only one replica installs (false)")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "Serve metrics at this address; 0 turns metrics off")
	f.StringVar(&o.healthAddress, "health-bind-address", ":8081", "Serve /healthz and /readyz at this address; 0 turns them off")
	f.IntVarP(&o.verbosity, "verbosity", "v", 0, "Log level: 0 logs one line for each change, 1 also logs each decision")
}

// run makes the manager and starts it. It returns when ctx is done, or when a part cannot go on.
func (o *installOptions) run(ctx context.Context) error {
	if err := installation.CheckEnabled(o.platforms); err != nil {
		return installMisused(fmt.Errorf("--enable-platform: %w", err))
	}
	if o.resync <= 0 {
		return installMisused(errors.New("--resync must be longer than 0s: give a duration such as 10m"))
	}
	ctrl.SetLogger(logger(o.verbosity))
	cfg, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	mgr, err := o.wire(cfg)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (o *installOptions) wire(cfg *rest.Config) (manager.Manager, error) {
	mgr, err := newManager(cfg, ctrl.Options{
		Scheme:                        scheme(),
		Cache:                         installCache(),
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              installation.Manager,
		LeaderElectionNamespace:       bundle.Namespace,
		LeaderElectionReleaseOnCancel: true,
	}, endpoints{health: o.healthAddress, metrics: o.metricsAddress})
	if err != nil {
		return nil, err
	}
	return mgr, errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("ping", healthz.Ping),
		install.SetupWithManager(mgr, install.Options{Enabled: o.platforms, AllowTags: o.allowTags, Version: o.release, Resync: o.resync}),
	)
}

// installCache returns options with which the cache follows no more than the installer's role lets it read.
func installCache() cache.Options {
	operator := &metav1.PartialObjectMetadata{}
	operator.SetGroupVersionKind(configv1.GroupVersion.WithKind("ClusterOperator"))
	return cache.Options{
		DefaultNamespaces: map[string]cache.Config{bundle.Namespace: {}},
		ByObject: map[client.Object]cache.ByObject{
			operator: {Field: fields.OneTermEqualSelector("metadata.name", installation.OperatorName)},
		},
	}
}
