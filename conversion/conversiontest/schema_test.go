// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALeafOfOneSideIsNamed(t *testing.T) {
	crd := map[string]string{"same": "string", "theirs": "string", "other": "boolean"}
	types := map[string]string{"same": "string", "other": "string", "ours": "string"}
	want := []string{"other is boolean in the CRD and string in the type", "the CRD has theirs (string), and the type has not",
		"the type has ours, and the CRD has not"}
	if d := cmp.Diff(want, compare(crd, types)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
