// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

var phases = Table{
	Section: "Phases",
	Head:    [3]string{"phase", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{machinev1beta1.PhaseProvisioning},
			Means: "the Machine's instance is being created",
			Do:    "nothing",
		},
		{
			Names: []string{machinev1beta1.PhaseProvisioned},
			Means: "the Machine's instance exists, and has not joined the cluster as a Node yet",
			Do:    "nothing; if this phase stays, look at the instance's console",
		},
		{
			Names: []string{machinev1beta1.PhaseRunning},
			Means: "the Machine's instance has joined the cluster as a Node",
			Do:    "nothing",
		},
		{
			Names: []string{machinev1beta1.PhaseDeleting},
			Means: "the Machine is being deleted: its Node is drained, and then its instance is terminated",
			Do:    "nothing; if this phase stays, read the Machine's conditions `Drained` and `Terminable`",
		},
		{
			Names: []string{machinev1beta1.PhaseFailed},
			Means: "the Machine's instance could not be created, or is gone. The controller does not retry, and the Machine can only be deleted",
			Do:    "read `status.errorMessage`, then delete the Machine; its MachineSet creates another one",
		},
		{
			Names: []string{string(machinev1beta1.MachineAuthorityMachineAPI), string(machinev1beta1.MachineAuthorityClusterAPI)},
			Means: "this is a value of `authoritativeAPI`: in `status` the field has the API that is authoritative now, in `spec` the API that is requested",
			Do:    "nothing",
		},
		{
			Names: []string{string(machinev1beta1.MachineAuthorityMigrating)},
			Means: "this value of `status.authoritativeAPI` means that authority is moving from one API to the other. The controllers of both APIs are " +
				"paused meanwhile",
			Do: "nothing; if this value stays, read the condition `AuthoritySettled`",
		},
	},
}
