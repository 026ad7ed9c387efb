// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// table has the times of one race.
type table struct {
	size  int
	patch string
	took  map[string][]time.Duration
}

// at returns the quantile q of a way's times.
func (t table) at(way string, q float64) time.Duration {
	sorted := slices.Clone(t.took[way])
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func (t table) ratio(way, base string, q float64) float64 {
	return float64(t.at(way, q)) / float64(t.at(base, q))
}

// print writes a line for each way: its times, and the ratios of its p50 and p99 to those of no webhook, to those of the webhook that does nothing, and to its
// own p50 in the smallest fleet.
func (t table) print(out io.Writer, smallest table) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nrequest\tMachines\tway\tp50 ms\tp99 ms\tp50 / none\tp99 / none\tp50 / noop\tp99 / noop\tp50 / smallest fleet\t")
	for _, way := range ways() {
		// The race of another fleet size runs at another time. What no webhook took in the two races shows how the machine itself has changed.
		drift := float64(t.at(none, .5)) / float64(smallest.at(none, .5))
		flat := float64(t.at(way, .5)) / float64(smallest.at(way, .5)) / drift
		fmt.Fprintf(w, "%s\t%d\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", t.patch, t.size, way, ms(t.at(way, .5)), ms(t.at(way, .99)),
			t.ratio(way, none, .5), t.ratio(way, none, .99), t.ratio(way, noop, .5), t.ratio(way, noop, .99), flat)
	}
	_ = w.Flush()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
