// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/policies/authority"
)

// FieldManager owns the fields that the plugin writes.
const FieldManager = "kubectl-poundlock"

// Options are the plugin's inputs besides arguments.
type Options struct {
	genericiooptions.IOStreams
	// Env reads the environment. Now is the clock.
	Env func(string) string
	Now func() time.Time
	// Version is the release, "" for none.
	Version string
}

// Plugin is what all commands share.
type Plugin struct {
	Options
	// Config has the connection's flags, which are kubectl's.
	Config *genericclioptions.ConfigFlags
	// Namespaces are the pairs of --namespaces, MACHINE-API=CLUSTER-API.
	Namespaces []string
}

// AddFlags adds the flags that each command has.
func (p *Plugin) AddFlags(root *cobra.Command) {
	p.Config = genericclioptions.NewConfigFlags(true)
	flags := root.PersistentFlags()
	p.Config.AddFlags(flags)
	flags.StringSliceVar(&p.Namespaces, "namespaces", []string{inventory.DefaultPair.MachineAPI + "=" + inventory.DefaultPair.ClusterAPI},
		"the pairs of namespaces that Poundlock mirrors, MACHINE-API=CLUSTER-API")
	p.completeConnection(root)
}

// Printer returns the command's output for a person.
func (p *Plugin) Printer() printers.Output { return printers.OutputOf(p.Out, p.Env) }

// Pairs returns the pairs of namespaces to read: -n selects one pair, by either namespace.
func (p *Plugin) Pairs() (authority.Pairs, error) {
	pairs, err := authority.ParsePairs(p.Namespaces)
	if err != nil {
		return nil, Usagef("--%v", err)
	}
	if *p.Config.Namespace == "" {
		return pairs, nil
	}
	pair, ok := pairs.Of(*p.Config.Namespace)
	if !ok {
		return nil, Usagef("-n %s: --namespaces (%s) does not contain this namespace: correct -n, or add the pair of namespaces to --namespaces",
			*p.Config.Namespace, strings.Join(p.Namespaces, ", "))
	}
	return authority.Pairs{pair}, nil
}

// RESTConfig returns the client configuration. It passes the API server's warnings to warn; nil discards them.
func (p *Plugin) RESTConfig(warn rest.WarningHandler) (*rest.Config, error) {
	if err := p.configured(); err != nil {
		return nil, err
	}
	config, err := p.Config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: %w", err)
	}
	// The client has no limit of its own: the API server's priority and fairness limits a client better than a guess does.
	config.QPS, config.WarningHandler = -1, warn
	if warn == nil {
		config.WarningHandler = rest.NoWarnings{}
	}
	return config, nil
}

// configured returns an error if nothing names a cluster, because client-go would then try localhost:8080.
func (p *Plugin) configured() error {
	raw, err := p.Config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if len(raw.Clusters) > 0 || *p.Config.APIServer != "" || p.Env("KUBERNETES_SERVICE_HOST") != "" {
		return nil
	}
	where := "KUBECONFIG is not set, and there is no ~/.kube/config"
	if path := p.Env("KUBECONFIG"); path != "" {
		where = "KUBECONFIG names " + path + ", and this file has no cluster"
	}
	return Exit(CodeError, "no cluster is configured: "+where+
		". Set KUBECONFIG, or give --kubeconfig or --server; check, convert and diff also read files (-f)")
}

// Client returns a client of the cluster.
func (p *Plugin) Client(warn rest.WarningHandler) (dynamic.Interface, error) {
	config, err := p.RESTConfig(warn)
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}
