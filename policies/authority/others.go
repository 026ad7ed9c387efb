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
	// Writer names the component that writes. Identity is the writer's user name in a cluster; "" where the writer has none of its own, such as a person.
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
			"the fence: it writes it before it calls a cloud, so that with the feature gate off no second instance is created", false},
		{"Machine API's machine controller", machineAPI, "status.providerStatus of a Machine", LetThrough, "authority/provider-status",
			"it names the instance, so nobody else may write it but Poundlock, and not even its controllers may name an instance that another Machine has", false},
		{"infrastructure providers of Cluster API", oca + "capa-controller-manager", "the instance in status of a provider's machine (instanceID, vmID, …)",
			LetThrough, "authority/provider-status",
			"the same: of the provider's controllers alone, and only an instance that no other Machine has", false},
		{"infrastructure provider of vSphere", oca + "default", "its finalizer onto a VSphereMachine or VSphereVM, paused ones too", LetThrough,
			"authority/infra-locked",
			"it writes it before it looks for a pause, and would never acknowledge one; its account is anybody's, so anybody may add it", false},
		{"Machine API's controllers", machineAPI, "the conditions that they know, as a whole list, into status", PutBack, "authority/status-default",
			"Synchronized and AuthoritySettled would be lost; what the request leaves out keeps its stored value", false},
		{"Machine API's controllers", machineAPI, "whole objects, in types that lack spec.authoritativeAPI", PutBack, "authority/request-kept",
			"the CRD's default would make a request to move of it. Of a person's request nobody can tell that, but of a MachineHealthCheck, whose CRD has no " +
				"default: of a Machine or MachineSet it is a request", false},
		{"Machine API's MachineSet controller", machineAPI, "a Machine for a set that Cluster API is authoritative for", Refused, "authority/create-for-set",
			"with the feature gate off both sets would scale. While Poundlock is away a policy refuses it by what the API server's cache has of the sets", false},
		{"Machine API's health checks", machineAPI, "the deletion of a Machine", Followed, "authority/delete-propagates",
			"it reaches the API that runs the Machine, if a MachineSet owns it; else nothing would heal", false},
		{"Machine API's health checks", machineAPI, "the annotation host.metal3.io/external-remediation", LetThrough, "authority/metadata-free",
			"its domain is nobody's here", false},
		{"machine-config-operator", "system:serviceaccount:openshift-machine-config-operator:machine-config-controller",
			"the boot image of a MachineSet, every time that anything of any set changes", Refused, "authority/spec-locked",
			"the value would be a mirror's. It reports Degraded until the set is excluded in spec.managedBootImages of MachineConfiguration cluster: the warning of " +
				"a move reports that", false},
		{"cluster-version-operator", "system:serviceaccount:openshift-cluster-version:default",
			"the release's MachineHealthCheck machine-api-termination-handler, whole, when its spec differs", LetThrough, "authority/request-blocked",
			"that check cannot be moved, and no default is written into its spec", false},
		{"Hive", "", "replicas, labels and taints of the MachineSets of a MachinePool", Refused, "authority/spec-locked",
			"the MachinePool reports an error; its own labels pass, and stay on the Machine API's set. Its identity is that of any administrator, so no exemption is " +
				"safe", false},
		{"Hive, managed-upgrade-operator", "", "the deletion of a MachineSet", Followed, "authority/delete-detached",
			"the instances run on; the Cluster API set reports that in its condition MirroredInMachineAPI, and an alert fires", false},
		{"assisted-service", "", "a bare-metal Machine's spec, replaced by a providerSpec alone", Refused, "authority/spec-locked",
			"the Agent neither joins nor leaves", false},
		{"bare metal's MachineSet controller", machineAPI, "spec.replicas of a MachineSet annotated metal3.io/autoscale-to-hosts", Refused,
			"authority/request-blocked",
			"it looks at no authority, so such a set cannot be moved at all", false},
		{"console", "", "/spec/replicas by a JSON patch, not by /scale", Refused, "authority/spec-locked",
			"the message has the command that scales the set of Cluster API", false},
		{"console", "", "all annotations of a Machine, replaced by a mark for deletion", Refused, "authority/metadata-reserved",
			"the message has the command for the Cluster API Machine", false},
		{"GitOps", "system:serviceaccount:openshift-gitops:openshift-gitops-argocd-application-controller", "what its manifest has", Refused, "authority/spec-locked",
			"where the manifest differs from the mirror; labels and annotations of its own pass, and are not copied to the twin, which would become part of the app " +
				"and be pruned", true},
		{"ACM", "system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa", "its AppliedManifestWork as an owner beside others", LetThrough,
			"authority/finalizers-owned",
			"without it the ManifestWork reports for ever that it could not be applied; with the work the object is deleted", true},
		{"Flux, kubectl apply --prune --applyset", "", "labels by which they recognize an object", LetThrough, "authority/metadata-reserved",
			"the labels are not copied to the twin, which would be pruned with the rest", true},
		{"kubectl replace, Argo CD with Replace=true", "", "a whole object, without finalizers and owners", PutBack, "authority/finalizers-kept",
			"the sync finalizer stays, and so do the owners of a set; what removes nothing else is refused", false},
		{"OLM, Argo CD with Replace=true", "", "a whole CRD, without Poundlock's mark", PutBack, "authority/mark-kept",
			"the mark stays, by which the deletion of the CRD is refused while something mirrored needs it", true},
		{"Velero, OADP, MTC", "", "restored objects without status, owner and uid", LetThrough, "authority/create-machineapi",
			"the creation warns of the result; its labels are not copied", true},
		{"HyperShift's NodePools, a second manager of Cluster API", "", "objects in the namespaces of hosted control planes", LetThrough, "",
			"they are in no pair of namespaces", true},
		{"storage version migrator", "system:serviceaccount:openshift-kube-storage-version-migrator:kube-storage-version-migrator-sa", "objects as they are",
			LetThrough, "", "no rule looks at a request that changes nothing", true},
		{"Cluster API's crdmigrator", oca + "capi-manager", "an apply without any field", LetThrough, "", "the same", false},
		{"self-node-remediation", "", "nothing", LetThrough, "", "its role would allow it", false},
		{"Node labels by operators", "", "labels of Nodes, not of Machines", LetThrough, "",
			"documentation asks people for labels in spec.template.spec.metadata.labels: those move as in the guide", true},
		{"garbage collector, namespace controller", "system:serviceaccount:kube-system:generic-garbage-collector",
			"deletions of what belongs to an owner, or a namespace, that is gone", Followed, "authority/surroundings",
			"nothing is terminated because of what surrounds it", true},
		{"OpenShift's own migration", oca + "cluster-capi-operator", "everything that Poundlock writes", Refused, "authority/status-owned",
			"Poundlock's reconcilers do nothing beside it and name it, its webhooks go on", false},
		{"machine approver, insights operator, kube-state-metrics", "", "nothing", LetThrough, "",
			"they read status.nodeRef and status.addresses, which mirrors keep true", true},
	}
}
