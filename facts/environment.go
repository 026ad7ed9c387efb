// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/policies/authority"
)

// Environment reads what conversions need to know about the cluster.
type Environment struct {
	NodeSync conversion.NodeSync
	Accounts *Accounts
	// Masters is the cache from which the control plane Machines are read, and also the account if nothing else has it. IndexByRole must have been called on this
	// cache. If Masters is nil, no Machine is compared with the others.
	Masters client.Reader
}

// Read returns what a conversion between the namespaces of a pair needs to know about the cluster, except the platform's infrastructure cluster. provided
// reports whether the kind has a provider's object. A missing object is no error, because it may be created later.
func (e Environment) Read(ctx context.Context, get environment.Get, pair authority.Pair, provided bool) (env conversion.Env,
	missing conversion.Missing, err error) {
	env = conversion.Env{MachineAPINamespace: pair.MachineAPI, ClusterAPINamespace: pair.ClusterAPI, NodeSync: e.NodeSync}
	if missing, err = environment.Read(get, provided, &env); err == nil {
		env.Account, err = e.Accounts.Of(ctx, env.Platform, env.Infrastructure)
	}
	if err == nil && e.Masters != nil && env.Platform.Name != "" {
		env.ControlPlane, err = masters(ctx, e.Masters, pair.MachineAPI)
	}
	if err == nil && e.Masters != nil && env.Account == "" && env.Platform.Account != nil {
		env.Account, err = accountOfMachines(ctx, e.Masters, pair.MachineAPI, env.Platform.Account)
	}
	return env, missing, err
}
