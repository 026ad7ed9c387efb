// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if err := root().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "poundlock:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "poundlock",
		Short:         "Hand machines from OpenShift's Machine API to Cluster API and back, one at a time",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(managerCommand())
	return cmd
}
