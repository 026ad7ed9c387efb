// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var provider = Table{
	Section: "A provider of Cluster API is not installed",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"Collision"},
			Means: "an object of the provider that the installer should apply belongs to another owner; the message names the object and the owner",
			Do:    "have the other owner give up the object, or annotate the object with `poundlock.openshift.io/adopt=true`",
		},
		{
			Names: []string{"ContentInvalid"},
			Means: "the release's ConfigMaps have a problem, so the installer applies none of their new content",
			Do:    "fix each problem as the message describes, and apply the release's ConfigMaps again",
		},
		{
			Names: []string{"ReadFailed"},
			Means: "the installer cannot read an object that it needs. The other conditions are from the last pass in which the installer could read everything",
			Do:    "read the API server's answer in the message",
		},
		{
			Names: []string{"ContentMissing"},
			Means: "somebody deleted a ConfigMap of the release, or one part of a provider's content (a shard). The content that was installed last stays " +
				"applied",
			Do: "apply the release's ConfigMaps again",
		},
		{
			Names: []string{"ApplyFailed"},
			Means: "the API server refuses an object of a provider, or a ConfigMap of the installer is damaged. The installer does not maintain the " +
				"provider that the message names, but maintains the others",
			Do: "read the message: it has the API server's refusal, or names the ConfigMap to delete or to apply again. A webhook, a policy or a quota may " +
				"be the cause. `Forbidden` means that the installer's role does not include the kind",
		},
		{
			Names: []string{"StageOverdue"},
			Means: "a provider has waited in one stage of its installation for more than 20 minutes, or the installer has waited for more than 20 minutes " +
				"for the rest of the release's ConfigMaps",
			Do: "the message has the number of the stage. For stages 5 and 9, check that the service CA runs. If the message names who wrote the Secret of " +
				"stage 5, delete the Secret: [adoption](providers.md#whose-an-object-is). For stage 7, run `kubectl -n openshift-cluster-api get pods`, " +
				"and read the logs of the Pods. For stage 8, look at the endpoints of the Service. If the ConfigMaps have the marks of two releases, apply " +
				"all ConfigMaps of one release",
		},
		{
			Names: []string{"WorkloadUnavailable"},
			Means: "a workload (such as a Deployment) of an installed provider has no available Pod",
			Do:    "look at the workload's Pods and their logs",
		},
		{
			Names: []string{"OldStorageVersions"},
			Means: "etcd has objects of a provider in an older version. The installer rewrites these objects",
			Do:    "wait. If this reason stays, the conversion webhook of the provider fails; the installer's log has the error",
		},
		{
			Names: []string{"WaitingForPlatform"},
			Means: "the installer waits because the Infrastructure `cluster` has no platform yet, or does not exist",
			Do:    "wait for the installation of the cluster. If somebody deleted the Infrastructure, restore it with its status",
		},
		{
			Names: []string{"NoInfrastructureProvider"},
			Means: "the core provider is installed, but no ConfigMap has the infrastructure provider of the platform, so nothing creates machines",
			Do:    "apply the release's ConfigMaps",
		},
		{
			Names: []string{"NoProviders"},
			Means: "no ConfigMap has a provider for the platform of this cluster",
			Do:    "apply the release's ConfigMaps",
		},
		{
			Names: []string{"UnsupportedPlatform"},
			Means: "the installer does not install Cluster API on the platform of this cluster",
			Do:    "nothing, or set `--enable-platform` if the message names this flag",
		},
		{
			Names: []string{"Recovering"},
			Means: "the problem of the providers is fixed. Degraded becomes False after the installer has completed all stages",
			Do:    "wait",
		},
	},
}
