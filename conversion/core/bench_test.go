// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"encoding/json"
	"testing"

	"github.com/poundlock/poundlock/conversion/core"
)

// BenchmarkCheck is the cost of a conversion in an admission review: from the Machine's JSON to the errors, well below 150 µs (issue: "a review with a full AWS
// conversion below 150 µs").
func BenchmarkCheck(b *testing.B) {
	for name, text := range map[string]string{"Machine": fullMachine, "MachineSet": fullSet} {
		raw, err := json.Marshal(object(b, text).Object)
		if err != nil {
			b.Fatal(err)
		}
		env := env()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if errs := core.Check(name, raw, env); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

// BenchmarkToClusterAPI is the cost of a conversion in a pass of the mirror: both objects, as JSON's maps.
func BenchmarkToClusterAPI(b *testing.B) {
	m, env := object(b, fullMachine), env()
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := core.ToClusterAPI("Machine", m, env); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// BenchmarkCheckTwin is the review of an AWSMachine or of a Cluster API Machine.
func BenchmarkCheckTwin(b *testing.B) {
	env := env()
	twin, _ := core.ToClusterAPI("Machine", object(b, fullMachine), env)
	c, _ := json.Marshal(twin.Core)
	i, _ := json.Marshal(twin.Infra)
	b.ReportAllocs()
	for b.Loop() {
		if errs := core.CheckTwin("Machine", c, i, env); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
