// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// InstanceHook returns the write that removes Poundlock's hook from a Machine for which Cluster API is authoritative, once the provider's object for the
// instance has the provider's finalizer. From then on the provider terminates the instance with the Machine. It also removes the hook if nobody will create
// that object any more: the provider's machine is being deleted or is gone, or the API server has no CRD of the object's kind.
func InstanceHook(s *pairs.State) *pairs.Write {
	if s.Core == nil || s.Source() == authority.MachineAPI || s.Env.Platform.Name == "" {
		return nil
	}
	if _, held := s.Core.GetAnnotations()[authority.InstanceHookAnnotation]; !held {
		return nil
	}
	if !s.InstanceHeld() && !s.InstancesUnserved && pairs.PresenceOf(s.Infra) == authority.Present {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.Core, Reason: "InstanceHookRemoved",
		Patch: pairs.MetadataPatch(map[string]any{"annotations": map[string]any{authority.InstanceHookAnnotation: nil}}),
		Note:  "removed the hook " + authority.InstanceHookAnnotation + " from " + pairs.Describe(s.Core) + ": its provider handles the instance from now on"}
}
