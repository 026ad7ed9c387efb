// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

// FieldsSection is the table of paths. Explain also knows their last names.
const FieldsSection = "Fields"

var authorityFields = Table{
	Section: FieldsSection,
	Head:    [3]string{"field", "what it is, and who writes it", "what to do"},
	Rows: []Row{
		{
			Names: []string{"spec.authoritativeAPI"},
			Means: "the API that is asked for, `MachineAPI` or `ClusterAPI`. A person writes it, or `kubectl poundlock migrate`; in the template of a MachineSet it " +
				"is what new Machines begin with",
			Do: "change it to move the object: `kubectl poundlock migrate KIND/NAME --to clusterapi`. While it differs from `status.authoritativeAPI`, the move " +
				"waits or is on its way: read the condition `AuthoritySettled`",
		},
		{
			Names: []string{"status.authoritativeAPI"},
			Means: "the API that is authoritative now: `MachineAPI`, `ClusterAPI`, or `Migrating` while authority is between the two and both are paused. The " +
				"controllers of both APIs obey it, whatever `spec` has. Poundlock alone writes it",
			Do: "change `spec.authoritativeAPI`: a write to status is refused (`authority/status-owned`). Where the two differ, the condition `AuthoritySettled` has " +
				"what the move waits for. Where it is empty, Poundlock has not looked after the object yet: does it run?",
		},
		{
			Names: []string{"status.synchronizedAPI"},
			Means: "the API that was authoritative last: it stays while `status.authoritativeAPI` is `Migrating`, and a move that is cancelled goes back to it. " +
				"Poundlock alone writes it",
			Do: "nothing. To cancel a move, set `spec.authoritativeAPI` back to it: `kubectl poundlock migrate KIND/NAME --cancel`. Where it is empty in mid-move, " +
				"the reason is `UnknownOrigin`",
		},
		{
			Names: []string{"status.synchronizedGeneration"},
			Means: "the generation of the authoritative object to which its mirror was made equal last. It begins anew with each move, since each API counts the " +
				"generations of its own object. Poundlock alone writes it",
			Do: "compare it with `metadata.generation` of the authoritative object: where it is lower, the mirror is behind. If that stays, read the condition " +
				"`Synchronized`",
		},
		{
			Names: []string{"metadata.ownerReferences"},
			Means: "the owners of the object. Each API has its own: Poundlock gives a mirror the owner that corresponds to the authoritative object's. Behind " +
				"`FieldsNotConvertible` it is an owner that would go on to create, replace and delete Machines: a MachineDeployment of a MachineSet, or a " +
				"MachinePool or control plane of Cluster API's of a Machine",
			Do: "leave authority with Cluster API. To take a MachineSet off its MachineDeployment: see the runbook *A MachineDeployment owns the MachineSet*, " +
				"whose commands the message has",
		},
	},
}
