// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

// Treatment is what happens to a neighbour's write (another component's or a person's) to an object while the other API is authoritative.
type Treatment string

// The treatments. CarriedOver means that the mirror repeats the write on the authoritative object: Grant.Treatment returns it, and no row of Others has it.
const (
	LetThrough  Treatment = "let through"
	PutBack     Treatment = "put back"
	Refused     Treatment = "refused"
	CarriedOver Treatment = "carried over"
	// Followed is for a deletion, which is carried out: a warning names its consequences.
	Followed Treatment = "followed"
)

// Other is a neighbour's write for which no lock makes an exception, so that an ordinary rule decides. The exceptions are in Grants.
type Other struct {
	// Writer names the component that writes. Identity is the writer's user name in a cluster; "" if the writer has no user name of its own, for example a person.
	Writer, Identity string
	// Writes describes the write, in words.
	Writes    string
	Treatment Treatment
	// Rule is the ID of the rule that decides; "" if no rule looks at the write.
	Rule string
	// Why is the reason, or what follows for the writer or for the cluster.
	Why string
	// Unverified reports that nobody has checked the row against the component's source.
	Unverified bool
}

// Others lists what the rest of OpenShift, 4.19 to 4.21, and other common tools write to the objects that Poundlock mirrors, as far as that was found.
func Others() []Other {
	const (
		machineAPI = "system:serviceaccount:openshift-machine-api:machine-api-controllers"
		oca        = "system:serviceaccount:openshift-cluster-api:"
	)
	return []Other{
		{"Machine API's machine controller", machineAPI, "its finalizer onto a Machine", Refused, "authority/finalizer-fence",
			"the controller adds its finalizer before it calls a cloud. Refusing the finalizer prevents a second instance while the feature gate is off", false},
		{"Machine API's machine controller", machineAPI, "status.providerStatus of a Machine", LetThrough, "authority/provider-status",
			"the field names the instance: only these controllers and Poundlock may write it, and even they may not name an instance that another Machine has", false},
		{"infrastructure providers of Cluster API", oca + "capa-controller-manager", "the instance in the status of an infrastructure machine (instanceID, vmID, …)",
			LetThrough, "authority/provider-status",
			"the field names the instance: only the provider's controllers may write it, and they may not name an instance that another Machine has", false},
		{"infrastructure provider of vSphere", oca + "default", "its finalizer onto a VSphereMachine or VSphereVM, paused ones too", LetThrough,
			"authority/infra-locked",
			"the provider adds its finalizer before it checks for a pause, and without the finalizer would never acknowledge a pause. It has no service account of " +
				"its own, so anybody may add it", false},
		{"Machine API's controllers", machineAPI, "the conditions that they know, as a whole list, into status", PutBack, "authority/status-default",
			"the conditions Synchronized and AuthoritySettled would be lost, so a condition that the request leaves out keeps its stored value", false},
		{"Machine API's controllers", machineAPI, "whole objects, in types that lack spec.authoritativeAPI", PutBack, "authority/request-kept",
			"the stored value stays: otherwise the CRD's default would turn such a write into a request to move. If a person leaves the field out of a Machine or " +
				"MachineSet, this counts " +
				"as a request to move, because the default has already filled it in. The CRD of MachineHealthChecks has no default, so for MachineHealthChecks a " +
				"person's request keeps the stored value too", false},
		{"Machine API's MachineSet controller", machineAPI, "the creation of a Machine for a MachineSet for which Cluster API is " +
			"authoritative", Refused, "authority/create-for-set",
			"with their feature gate off, these controllers would create Machines in addition to those of Cluster API's MachineSet. While Poundlock is unavailable, " +
				"a ValidatingAdmissionPolicy refuses the creation, based on the MachineSets in the API server's cache", false},
		{"Machine API's health checks", machineAPI, "the deletion of a Machine", Followed, "authority/delete-propagates",
			"Poundlock deletes the Machine in the API that runs it, if a MachineSet owns it. Otherwise nothing would replace unhealthy Machines", false},
		{"Machine API's health checks", machineAPI, "the annotation host.metal3.io/external-remediation", LetThrough, "authority/metadata-free",
			"no rule reserves the domain host.metal3.io", false},
		{"machine-config-operator", "system:serviceaccount:openshift-machine-config-operator:machine-config-controller",
			"the boot image of a MachineSet, whenever any MachineSet changes", Refused, "authority/spec-locked",
			"refused while the MachineSet is a mirror. The operator reports Degraded until the set is excluded in spec.managedBootImages of MachineConfiguration " +
				"cluster. A request " +
				"to move warns of this", false},
		{"cluster-version-operator", "system:serviceaccount:openshift-cluster-version:default",
			"the release's MachineHealthCheck machine-api-termination-handler, whole, when its spec differs", LetThrough, "authority/request-blocked",
			"this MachineHealthCheck cannot move, and Poundlock writes no default into its spec", false},
		{"Hive", "", "replicas, labels and taints of the MachineSets of a MachinePool", Refused, "authority/spec-locked",
			"the MachinePool reports an error. Hive's own labels are allowed, and stay on the Machine API's set. Hive uses an administrator's identity, so an " +
				"exemption would not be safe", false},
		{"Hive, managed-upgrade-operator", "", "the deletion of a MachineSet", Followed, "authority/delete-detached",
			"the instances keep running. The Cluster API set reports this in its condition MirroredInMachineAPI, and an alert fires", false},
		{"assisted-service", "", "a bare-metal Machine's spec, replaced by one that only has a providerSpec", Refused, "authority/spec-locked",
			"while this is refused, the Agent can neither join nor leave the cluster", false},
		{"bare metal's MachineSet controller", machineAPI, "spec.replicas of a MachineSet annotated metal3.io/autoscale-to-hosts", Refused,
			"authority/request-blocked",
			"this controller does not read authoritativeAPI, so such a set cannot move at all", false},
		{"console", "", "/spec/replicas by a JSON patch, not by /scale", Refused, "authority/spec-locked",
			"the message has the command that scales the set of Cluster API", false},
		{"console", "", "all annotations of a Machine, replaced by a mark for deletion", Refused, "authority/metadata-reserved",
			"the message has the command for the Cluster API Machine", false},
		{"GitOps", "system:serviceaccount:openshift-gitops:openshift-gitops-argocd-application-controller", "what its manifest has", Refused, "authority/spec-locked",
			"refused if the manifest differs from the mirror. GitOps' own labels and annotations are allowed. Poundlock does not copy them to the twin, which would " +
				"otherwise become part of the app and be pruned", true},
		{"ACM", "system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa", "its AppliedManifestWork as an owner beside others", LetThrough,
			"authority/finalizers-owned",
			"without this owner the ManifestWork would always report that it could not be applied. When the work is deleted, the object is deleted too", true},
		{"Flux, kubectl apply --prune --applyset", "", "labels by which they recognize an object", LetThrough, "authority/metadata-reserved",
			"Poundlock does not copy these labels to the twin, which would otherwise be pruned too", true},
		{"kubectl replace, Argo CD with Replace=true", "", "a whole object, without finalizers and owners", PutBack, "authority/finalizers-kept",
			"the sync finalizer and the owners of a set stay. A request that would only remove them is refused", false},
		{"OLM, Argo CD with Replace=true", "", "a whole CRD, without Poundlock's mark", PutBack, "authority/mark-kept",
			"Poundlock's mark stays: while a mirrored object needs the CRD, the mark prevents the deletion of the CRD", true},
		{"Velero, OADP, MTC", "", "restored objects without status, owner and uid", LetThrough, "authority/create-machineapi",
			"the creation gets a warning that says what follows. Poundlock does not copy the labels of these tools", true},
		{"HyperShift's NodePools, a second manager of Cluster API", "", "objects in the namespaces of hosted control planes", LetThrough, "",
			"Poundlock does not look at objects outside its configured pairs of namespaces", true},
		{"storage version migrator", "system:serviceaccount:openshift-kube-storage-version-migrator:kube-storage-version-migrator-sa", "objects as they are",
			LetThrough, "", "no rule looks at a request that changes nothing", true},
		{"Cluster API's crdmigrator", oca + "capi-manager", "an apply without any field", LetThrough, "", "the same", false},
		{"self-node-remediation", "", "nothing", LetThrough, "", "self-node-remediation does not write these objects, although its role would allow it", false},
		{"Node labels by operators", "", "labels of Nodes, not of Machines", LetThrough, "",
			"documentation asks people to set labels in spec.template.spec.metadata.labels: the guide describes how these move", true},
		{"garbage collector, namespace controller", "system:serviceaccount:kube-system:generic-garbage-collector",
			"deletions of what belongs to an owner, or a namespace, that is gone", Followed, "authority/surroundings",
			"no instance is terminated because its surroundings are deleted", true},
		{"OpenShift's own migration", oca + "cluster-capi-operator", "everything that Poundlock writes", Refused, "authority/status-owned",
			"while it is active, Poundlock's reconcilers do nothing and report it. Poundlock's webhooks continue to work", false},
		{"machine approver, insights operator, kube-state-metrics", "", "nothing", LetThrough, "",
			"they read status.nodeRef and status.addresses, which are correct in mirrors too", true},
	}
}
