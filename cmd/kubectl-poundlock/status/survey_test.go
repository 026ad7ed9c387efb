// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

// In a large fleet nobody sees what is below the table.
func TestARivalIsNamedFirst(t *testing.T) {
	out, f := &bytes.Buffer{}, &inventory.Fleet{}
	f.Rival = "Deployment a/b"
	glance{Output: printers.Output{Writer: out, Width: 200}, now: time.Now()}.write(surveyOf(f))
	const want = "Nothing moves: Poundlock does nothing beside OpenShift's own migration, or the two would fight. Stop or remove Deployment a/b. "
	if text := strings.Join(strings.Fields(out.String()), " "); !strings.HasPrefix(text, want) || !strings.Contains(text, "kubectl poundlock explain RivalMigration") {
		t.Errorf("not first:\n%s", out)
	}
}
