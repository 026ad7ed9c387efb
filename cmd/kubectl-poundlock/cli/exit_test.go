// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"
)

// An error of the command line has its own type: an API server may answer in the same words.
func TestTheCommandLineIsWrongByTypeAndNotByWords(t *testing.T) {
	for _, text := range []string{"unknown flag in the template", "invalid argument of the cloud", "flag needs a value", "required flag is missing", "want 2 arg(s)", "unknown command in a webhook"} {
		if code, _ := Code(errors.New(text)); code != CodeError {
			t.Errorf("%q ends with %d", text, code)
		}
	}
}
