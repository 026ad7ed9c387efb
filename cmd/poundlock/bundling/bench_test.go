// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// BenchmarkBundle compares the command with kustomize alone, over the same folders of real providers, in turns. What is reported is of one
// round: -benchtime=3x has three.
func BenchmarkBundle(b *testing.B) {
	for _, p := range realProviders() {
		if p.file != "core" && p.file != "aws" {
			continue // the two largest
		}
		b.Run(p.file, func(b *testing.B) {
			args := p.args(b, b.TempDir())
			const folder = 1 // follows the flag --kustomize
			var bare, whole, used time.Duration
			var manifests []byte
			for range b.N {
				began := time.Now()
				made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), args[folder])
				if err != nil {
					b.Fatal(err)
				}
				if manifests, err = made.AsYaml(); err != nil {
					b.Fatal(err)
				}
				bare += time.Since(began)
				runtime.GC() // neither pays for what the other has left
				began, used = time.Now(), used-processor(b)
				cmd := Command()
				cmd.SetOut(io.Discard)
				cmd.SetArgs(args)
				if err := cmd.ExecuteContext(b.Context()); err != nil {
					b.Fatal(err)
				}
				whole, used = whole+time.Since(began), used+processor(b)
				runtime.GC()
			}
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(len(manifests))/1e6, "MB")
			b.ReportMetric(bare.Seconds()/float64(b.N), "kustomize-s")
			b.ReportMetric(whole.Seconds()/float64(b.N), "bundle-s")
			b.ReportMetric(used.Seconds()/float64(b.N), "bundle-processor-s") // says more where others use the machine
			b.ReportMetric(whole.Seconds()/bare.Seconds(), "bundle/kustomize")
			b.ReportMetric(float64(memory.Sys)/1e6, "memory-MB") // with the test's own
		})
	}
}

// processor is how much of the processor this process has used.
func processor(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
