// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"regexp"
	"testing"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
)

// A message about a field of Machine API's that does not convert asks for something, in the imperative.
func TestAFieldThatCannotGoNamesTheRemedy(t *testing.T) {
	todo := regexp.MustCompile(`: (remove|give|set|keep|leave|associate|use) |, and (remove|give|set|keep) `)
	tables := map[string][]conversion.Line{"Machine": core.Machines.Lines(), "MachineSet": core.MachineSets.Lines(),
		"MachineHealthCheck": core.MachineHealthChecks.Lines()}
	for _, p := range platforms.List() {
		tables[p.Name] = p.Spec.Lines()
	}
	for table, lines := range tables {
		for _, l := range lines {
			if l.Expressible == conversion.OnlyMachineAPI && !todo.MatchString(l.Note) {
				t.Errorf("%s: %v: %s", table, l.MachineAPI, l.Note)
			}
		}
	}
}
