// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

// TemplateName is <set>-<8 hexadecimal digits of a hash of the machine's spec>: the same content always has the same
// name, so that a template is used again when its content comes back (converting › MachineSet Synchronisation).
func TemplateName(set string, infraSpec map[string]any) string {
	// A spec that came out of a conversion is JSON already: this cannot fail. Maps are written in the order of their keys.
	content, _ := json.Marshal(infraSpec)
	sum := sha256.Sum256(content)
	return set + "-" + hex.EncodeToString(sum[:4])
}

// point makes the core object refer to its infrastructure object.
func point(spec any, to conversion.Resource, name string) {
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: to.Group, Kind: to.Kind, Name: name}
	switch s := spec.(type) {
	case *clusterv1.MachineSpec:
		s.InfrastructureRef = ref
	case *clusterv1.MachineSetSpec:
		s.Template.Spec.InfrastructureRef = ref
	}
}
