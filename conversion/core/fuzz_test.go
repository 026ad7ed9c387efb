// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"encoding/json"
	"testing"

	"github.com/poundlock/poundlock/conversion/core"
)

// FuzzObjects: any object of either side gives errors, never a panic.
func FuzzObjects(f *testing.F) {
	for _, text := range []string{fullMachine, fullSet} {
		raw, err := json.Marshal(object(f, text).Object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, raw)
	}
	for kind, text := range objects {
		twin, _ := core.ToClusterAPI(kind, object(f, text), env())
		c, _ := json.Marshal(twin.Core)
		i, _ := json.Marshal(twin.Infra)
		f.Add(c, i)
	}
	f.Add([]byte("null"), []byte("{"))
	f.Add([]byte(`{"spec": {"providerSpec": {"value": null}, "template": null}}`), []byte(`{"spec": {"template": null}}`))
	f.Fuzz(func(_ *testing.T, a, b []byte) {
		for kind := range objects {
			core.Check(kind, a, env())
			core.CheckTwin(kind, a, b, env())
			core.CheckTwin(kind, a, nil, env())
		}
	})
}
