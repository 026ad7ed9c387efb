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
			Means: "of a Machine: its instance is being created",
			Do:    "nothing",
		},
		{
			Names: []string{machinev1beta1.PhaseProvisioned},
			Means: "of a Machine: its instance exists, and has not joined the cluster as a Node yet",
			Do:    "nothing; if this phase stays, look at the instance's console",
		},
		{
			Names: []string{machinev1beta1.PhaseRunning},
			Means: "of a Machine: its instance has joined the cluster as a Node",
			Do:    "nothing",
		},
		{
			Names: []string{machinev1beta1.PhaseDeleting},
			Means: "of a Machine: it is being deleted, its Node drained and its instance terminated",
			Do:    "nothing; if this phase stays, read the Machine's conditions `Drained` and `Terminable`",
		},
		{
			Names: []string{machinev1beta1.PhaseFailed},
			Means: "of a Machine: its instance could not be created, or is gone. The controller does not retry, and the Machine can only be deleted",
			Do:    "read `status.errorMessage`, then delete the Machine; its MachineSet creates another",
		},
		{
			Names: []string{string(machinev1beta1.MachineAuthorityMachineAPI), string(machinev1beta1.MachineAuthorityClusterAPI)},
			Means: "a value of `authoritativeAPI`: in `status` the API that is authoritative now, in `spec` the API that is requested",
			Do:    "nothing",
		},
		{
			Names: []string{string(machinev1beta1.MachineAuthorityMigrating)},
			Means: "of `status.authoritativeAPI`: authority is between the two APIs, and both are paused",
			Do:    "nothing; if this value stays, read the condition `AuthoritySettled`",
		},
	},
}
