// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/poundlock/poundlock/cmd/poundlock/bundling"
	"github.com/poundlock/poundlock/cmd/poundlock/proxying"
)

func main() {
	if err := root().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "poundlock:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode distinguishes a command that was typed wrongly from one that did not succeed.
func exitCode(err error) int {
	if errors.Is(err, bundling.ErrMisused) || errors.Is(err, errInstallMisused) {
		return 2
	}
	return 1
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "poundlock",
		Short:         "Hand machines from OpenShift's Machine API to Cluster API and back, one at a time",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(managerCommand(), bundling.Command(), installCommand(), proxying.Proxy(), proxying.Shim(), versionCommand())
	return cmd
}
