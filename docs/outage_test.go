// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/webhooks"
)

// TestTheRunbookHasEveryRouteThatFailsClosed: what each route refuses while nobody answers is in the table.
func TestTheRunbookHasEveryRouteThatFailsClosed(t *testing.T) {
	rows := map[string][]string{
		"machine-api": {"whose `authoritativeAPI`, in spec or status, is `ClusterAPI`", "to add or remove the sync finalizer",
			"to add Machine API's finalizer to a Machine"},
		"machine-api-status":         {"before the request or after: create, update, status"},
		"machine-api-status-default": {"before the request or after: create, update, status"},
		"cluster-api": {"with the annotation `poundlock.openshift.io/mirror-of`", "without `cluster.x-k8s.io/paused`",
			"`providerID` of a Cluster API Machine"},
		"cluster-api-delete": {"to delete a Cluster API object right before Cluster API becomes authoritative"},
		"cluster-api-status": {"the condition `Paused` in the status of a Cluster API object"},
		"infrastructure": {"of an infrastructure object also delete", "to update or delete a paused VSphereVM or OpenStackServer",
			"to unpause an infrastructure machine"},
		"infrastructure-create":          {"to give an infrastructure machine a Machine as its owner"},
		"infrastructure-instance-create": {"with a `spec.biosUUID`", "to create a VSphereVM or an OpenStackServer that is not paused"},
		"infrastructure-status":          {"(`instanceID`, `vmUUID`)", "or of an infrastructure machine"},
		"control-plane":                  {"a Machine API object (a ControlPlaneMachineSet too)", "the status of any other ControlPlaneMachineSet"},
		"control-plane-status":           {"a Machine API object (a ControlPlaneMachineSet too)", "the status of any other ControlPlaneMachineSet"},
		"control-plane-status-default":   {"a Machine API object (a ControlPlaneMachineSet too)", "the status of any other ControlPlaneMachineSet"},
		"control-plane-foreground":       {"to delete a ControlPlaneMachineSet in the foreground"},
	}
	page, err := os.ReadFile("runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n### Poundlock is down: what still works\n")
	table, _, _ = strings.Cut(table, "\nA missing answer ")
	for _, route := range webhooks.Routes(webhooks.All(platforms.List()...)) {
		if route.FailurePolicy != admissionregistrationv1.Fail {
			continue
		}
		if rows[route.Name] == nil {
			t.Errorf("%s fails closed, and this test knows no row of the table for it", route.Name)
		}
		for _, words := range rows[route.Name] {
			if !strings.Contains(table, words) {
				t.Errorf("%s fails closed, and the table has no row with: %s", route.Name, words)
			}
		}
	}
}
