// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// Version is the release's version, which the linker sets (-X); empty in any other build.
var Version string

// Info is what Go records about a build.
type Info struct{ Version, Revision, Go string }

// Read returns the Info of this process. The version is the linker's, or else the Go module's.
func Read() Info {
	out := Info{Version: Version, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	out.Version = cmp.Or(out.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			out.Revision = s.Value + out.Revision
		case s.Key == "vcs.modified" && s.Value == "true":
			out.Revision += "-modified"
		}
	}
	return out
}

// String returns the Info as a line such as "v1.2.0, revision 0123abc, go1.26.1".
func (i Info) String() string {
	out := cmp.Or(i.Version, "(devel)")
	if i.Revision != "" {
		out += ", revision " + i.Revision
	}
	return out + ", " + i.Go
}

// Metric returns the metric poundlock_build_info: its value is 1, and the Info is in its labels.
func (i Info) Metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "poundlock_build_info", Help: "Always 1. The labels have the version, the revision and the Go version of this process.",
		ConstLabels: prometheus.Labels{"version": i.Version, "revision": i.Revision, "go_version": i.Go},
	}, func() float64 { return 1 })
}
