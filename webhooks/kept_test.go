// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

// keptOnVSphere is about two VSphereVMs. One names the instance of a Machine of another name, and was created while no replica answered. The other has no ID.
func keptOnVSphere(t *testing.T, p *place) {
	stories.Long(t)
	crds, err := embedded.CRDs(t.Context(), "VSphere")
	p.must(t, err)
	crds = slices.DeleteFunc(crds, func(c *apiextensionsv1.CustomResourceDefinition) bool {
		return c.Name != "vspherevms.infrastructure.cluster.x-k8s.io"
	})
	p.must(t, p.plane.InstallCRDs(t.Context(), crds...))
	for _, text := range []string{keptManifest("f2", "4210-9"), keptManifest("r1", "")} {
		p.must(t, p.poundlock.Create(t.Context(), p.object(t, text)))
	}
	platform := func(name string) {
		p.patchStatus(t, configv1.GroupVersion.WithKind("Infrastructure"), "", "cluster", `{"status":{"platformStatus":{"type":"`+name+`"}}}`)
	}
	// A user creates a Machine with the name of the VSphereVM that acts.
	platform("VSphere")
	eventually(t, "a Machine beside a VSphereVM that acts is refused", func() bool {
		err := p.admin.Create(t.Context(), p.object(t, machineManifest("r1", "")), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "VSphereVM c/r1 is not paused") && strings.Contains(err.Error(), "[authority/create-machineapi]")
	})
	r1 := toward(keptMachine, "c", "r1")
	p.must(t, p.admin.Patch(t.Context(), r1, merge(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)))
	p.must(t, p.admin.Create(t.Context(), p.object(t, machineManifest("r1", "")), client.DryRunAll))
	platform("AWS")
	eventually(t, "the platform is AWS again", func() bool {
		return p.admin.Patch(t.Context(), r1, merge(`{"metadata":{"annotations":null}}`)) == nil &&
			p.admin.Create(t.Context(), p.object(t, machineManifest("r1", "")), client.DryRunAll) == nil
	})
	// This VSphereVM names the instance of another Machine.
	f2, machine := toward(keptMachine, "c", "f2"), p.object(t, withInstance(machineManifest("u6", ""), "vsphere://4210-9"))
	p.must(t, p.admin.Delete(t.Context(), f2, client.DryRunAll))
	p.must(t, p.poundlock.Create(t.Context(), machine))
	eventually(t, "its deletion is refused", func() bool {
		err := p.admin.Delete(t.Context(), f2, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "is the instance of Machine u6, and the provider's controller would terminate it") &&
			strings.Contains(err.Error(), "[authority/provider-id]")
	})
	// This is the way out that the message names.
	p.must(t, p.admin.Patch(t.Context(), f2, merge(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)))
	denied(t, p.admin.Patch(t.Context(), f2, merge(`{"metadata":{"annotations":null}}`), client.DryRunAll), "authority/provider-id", "spec.biosUUID")
	p.must(t, p.admin.Delete(t.Context(), f2))
	p.must(t, p.admin.Patch(t.Context(), f2, merge(`{"metadata":{"finalizers":null}}`)))
	p.must(t, p.poundlock.Delete(t.Context(), toward(coreKind(policies.SideMachineAPI, "Machine"), "m", "u6")))
	p.must(t, p.poundlock.Patch(t.Context(), r1, merge(`{"metadata":{"finalizers":null}}`)))
	p.must(t, p.poundlock.Delete(t.Context(), r1))
	p.warned.take()
}
