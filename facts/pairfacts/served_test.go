// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairfacts

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/mirroring/pairs"
)

// lacking reads from an API server that lacks one kind, and has no object.
type lacking struct {
	client.Reader
	kind string
}

func (r lacking) List(_ context.Context, l client.ObjectList, _ ...client.ListOption) error {
	if kind := l.GetObjectKind().GroupVersionKind(); kind.Kind == r.kind+"List" {
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: kind.Group, Kind: kind.Kind}}
	}
	return nil
}

// A pair waits for each kind that it needs. It needs no MachineDeployment: one is only asked for the templates to which it refers.
func TestAPairWaitsForNoMachineDeployments(t *testing.T) {
	p, _ := platforms.Named("AWSMachine")
	for kind, waits := range map[string]bool{"MachineDeployment": false, "MachineSet": true, "AWSMachine": true} {
		s := &pairs.State{}
		used, err := facts.UsedTemplates(t.Context(), present{lacking{kind: kind}, s}, p, "c")
		if err != nil || len(used) > 0 || s.WaitsForKind() != waits {
			t.Errorf("without %s: %v, %v; lacks %q", kind, used, err, s.Unserved.Kind)
		}
	}
}
