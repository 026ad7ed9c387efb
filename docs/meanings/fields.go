// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

// FieldsSection is the heading of the table of fields, which names each field by its path. explain also finds a field by the last name of its path.
const FieldsSection = "Fields"

var authorityFields = Table{
	Section: FieldsSection,
	Head:    [3]string{"field", "what it is, and who writes it", "what to do"},
	Rows: []Row{
		{
			Names: []string{"spec.authoritativeAPI"},
			Means: "this field has the requested API, `MachineAPI` or `ClusterAPI`. A person or `kubectl poundlock migrate` writes it. In the template of " +
				"a MachineSet the field has the API of new Machines",
			Do: "change this field to move the object: `kubectl poundlock migrate KIND/NAME --to clusterapi`. While this field differs from " +
				"`status.authoritativeAPI`, the move waits or is on its way: read the condition `AuthoritySettled`",
		},
		{
			Names: []string{"status.authoritativeAPI"},
			Means: "this field has the API that is authoritative now: `MachineAPI`, `ClusterAPI`, or `Migrating` while authority moves from one API to the " +
				"other and both APIs are paused. The controllers of both APIs obey this field, and not `spec.authoritativeAPI`. Only Poundlock writes it",
			Do: "to move the object, change `spec.authoritativeAPI`: a write to this status field is refused (`authority/status-owned`). If the two fields " +
				"differ, the condition `AuthoritySettled` has what the move waits for. If this field is empty, Poundlock has not reconciled the object yet: " +
				"check that Poundlock runs",
		},
		{
			Names: []string{"status.synchronizedAPI"},
			Means: "this field has the API that was authoritative last. It does not change while `status.authoritativeAPI` is `Migrating`, and a cancelled " +
				"move goes back to this API. Only Poundlock writes it",
			Do: "nothing. To cancel a move, set `spec.authoritativeAPI` back to this value: `kubectl poundlock migrate KIND/NAME --cancel`. If this field " +
				"is empty during a move, see the reason `UnknownOrigin`",
		},
		{
			Names: []string{"status.synchronizedGeneration"},
			Means: "this field has the generation of the authoritative object that the mirror was last made equal to. The numbers start again with each " +
				"move, because each API counts the generations of its own object. Only Poundlock writes it",
			Do: "compare this field with `metadata.generation` of the authoritative object: if this field is lower, the mirror is behind. If the mirror " +
				"stays behind, read the condition `Synchronized`",
		},
		{
			Names: []string{"metadata.ownerReferences"},
			Means: "this field has the owners of the object. Each API has its own owners: Poundlock gives a mirror the owner that corresponds to the " +
				"authoritative object's. If `FieldsNotConvertible` names this field, the owner prevents the move, because it would keep creating, " +
				"replacing and deleting Machines. Such an owner is a MachineDeployment that owns a MachineSet, or a MachinePool or a control plane of " +
				"Cluster API that owns a Machine",
			Do: "leave authority with Cluster API. To detach a MachineSet from its MachineDeployment, see the runbook *A MachineDeployment owns the " +
				"MachineSet*; the message has the same commands",
		},
	},
}
