// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairs_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestWhatBeginsByTheCache: only a pair that nobody has mirrored is written to without a live read, and first its Machine API object, at the version that was
// read.
func TestWhatBeginsByTheCache(t *testing.T) {
	const (
		adopted = `metadata: {name: m}, status: {authoritativeAPI: MachineAPI}`
		another = `{metadata: {name: m}}`
	)
	for _, c := range []struct {
		about, machine, core, infra string
		verb                        pairs.Verb
		ofInfra, begins             bool
	}{
		{about: "nobody has mirrored it", machine: adopted, verb: pairs.Patch, begins: true},
		{about: "a creation proves no version", machine: adopted, verb: pairs.Create},
		{about: "a report is no beginning", machine: adopted, verb: pairs.PatchStatus},
		{about: "a patch of another object proves nothing of this one", machine: adopted, infra: another, verb: pairs.Patch, ofInfra: true},
		{about: "it is to be adopted first", machine: `metadata: {name: m}`, verb: pairs.Patch},
		{about: "Cluster API is authoritative", machine: `metadata: {name: m}, status: {authoritativeAPI: ClusterAPI}`, verb: pairs.Patch},
		{about: "it is moving", machine: `metadata: {name: m}, status: {authoritativeAPI: Migrating, synchronizedAPI: MachineAPI}`, verb: pairs.Patch},
		{about: "it has a twin", machine: adopted, core: another, verb: pairs.Patch},
		{about: "the provider has an object of its name", machine: adopted, infra: another, verb: pairs.Patch},
		{about: "it had a twin, which somebody may have deleted", machine: `metadata: {name: m}, status: {authoritativeAPI: MachineAPI, synchronizedGeneration: 1}`, verb: pairs.Patch},
		{about: "it has the finalizer", machine: `metadata: {name: m, finalizers: [` + authority.SyncFinalizer + `]}, status: {authoritativeAPI: MachineAPI}`, verb: pairs.Patch},
		{about: "it is being deleted", machine: `metadata: {name: m, finalizers: [a], deletionTimestamp: "2026-11-26T00:00:00Z"}, status: {authoritativeAPI: MachineAPI}`, verb: pairs.Patch},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", MachineAPI: mirroringtest.Object(t, `{`+c.machine+`}`)}
		for o, text := range map[**unstructured.Unstructured]string{&s.Core: c.core, &s.Infra: c.infra} {
			if text != "" {
				*o = mirroringtest.Object(t, text)
			}
		}
		w := &pairs.Write{Verb: c.verb, Object: s.MachineAPI}
		if c.ofInfra {
			w.Object = s.Infra
		}
		if got := s.Begins(w); got != c.begins {
			t.Errorf("%s: %t", c.about, got)
		}
	}
}
