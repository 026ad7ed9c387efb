// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/test/neighbours"
	"github.com/poundlock/poundlock/test/simulation"
)

// every is how often a neighbour looks at its objects, and how often its log is read.
const every = 2 * time.Second

func neighboursCommand(c *common) *cobra.Command {
	cmd := &cobra.Command{Use: "neighbours", Short: "Write to the Machine API's objects as other components of OpenShift do",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			config, _, err := c.server()
			if err != nil {
				return err
			}
			ctx, stop := withParent(cmd.Context(), c.parent)
			defer stop()
			logs, log := map[string]*neighbours.Log{}, logger()
			for name, w := range neighbours.Residents("worker-a") {
				if logs[name], err = neighbours.Start(ctx, config, simulation.Scheme(), every, w); err != nil {
					return err
				}
			}
			logRefused(ctx, log, logs)
			return nil
		}}
	cmd.Flags().String("platform", "AWS", "not looked at: every part is given it")
	return cmd
}

// logRefused logs each request that was refused once, until ctx ends.
func logRefused(ctx context.Context, log logr.Logger, logs map[string]*neighbours.Log) {
	logged := map[string]int{}
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		for name, l := range logs {
			all := l.Refused()
			for _, refused := range all[logged[name]:] {
				log.Info("Refused", "writer", name, "request", refused)
			}
			logged[name] = len(all)
		}
	}
}
