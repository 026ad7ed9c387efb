// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion"
)

// The answer to a request that changes a field does not report that no user can change it.
func TestAFieldThatARequestChangesCanBeChanged(t *testing.T) {
	const note = "remove it; no user can change this field of an existing AzureMachine: replace the Machine"
	for sentence, c := range map[string]struct {
		field, before, after string
		noted                bool
	}{
		"it is added":                      {"AzureMachine.spec.roleAssignmentName", `{}`, `{"roleAssignmentName":"a"}`, false},
		"it is changed":                    {"AzureMachine.spec.roleAssignmentName", `{"roleAssignmentName":"a"}`, `{"roleAssignmentName":"b"}`, false},
		"another is":                       {"AzureMachine.spec.roleAssignmentName", `{"roleAssignmentName":"a"}`, `{"roleAssignmentName":"a","vmSize":"b"}`, true},
		"something in it is":               {"AzureMachine.spec.osDisk.osType", `{"osDisk":{"osType":"a"}}`, `{"osDisk":{"osType":"b"}}`, false},
		"an item of it is":                 {"AzureMachine.spec.dataDisks[0].lun", `{"dataDisks":[]}`, `{"dataDisks":[{"lun":1}]}`, false},
		"in a template":                    {"AzureMachineTemplate.spec.template.spec.image", `{"template":{"spec":{}}}`, `{"template":{"spec":{"image":1}}}`, false},
		"another in a template":            {"AzureMachineTemplate.spec.template.spec.image", `{"template":{"spec":{}}}`, `{"template":{"spec":{"osDisk":1}}}`, true},
		"of a machine with a template":     {"VSphereMachine.spec.folder", `{"template":"a"}`, `{"template":"a","folder":"b"}`, false},
		"another, on one with a template":  {"VSphereMachine.spec.folder", `{"template":"a"}`, `{"template":"b"}`, true},
		"it is a field of the core object": {"spec.version", `{}`, `{"version":"b"}`, true},
	} {
		errs := field.ErrorList{{Field: c.field, Detail: note}}
		conversion.WithoutReplacement(errs, json.RawMessage(c.before), json.RawMessage(c.after))
		if noted := strings.Contains(errs[0].Detail, "no user can change"); noted != c.noted || !strings.HasPrefix(errs[0].Detail, "remove it") {
			t.Errorf("%s: %s", sentence, errs[0].Detail)
		}
	}
}
