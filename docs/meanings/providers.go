// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var provider = Table{
	Section: "A provider of Cluster API is not installed",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"Collision"},
			Means: "an object of the provider already belongs to another owner; the message names the object and the owner",
			Do:    "have the other owner give up the object, or annotate the object with `poundlock.openshift.io/adopt=true`",
		},
		{
			Names: []string{"ContentInvalid"},
			Means: "the release's ConfigMaps have a problem, so the installer applies none of the new content",
			Do:    "the message names each problem and its remedy. Apply the release's ConfigMaps again",
		},
		{
			Names: []string{"ReadFailed"},
			Means: "the installer cannot read an object on which it depends. The other conditions are from the last pass that could read everything",
			Do:    "the message has the API server's answer",
		},
		{
			Names: []string{"ContentMissing"},
			Means: "a ConfigMap of the release, or a part of one (a shard), was deleted. The content that was installed last stays applied",
			Do:    "apply the release's ConfigMaps again",
		},
		{
			Names: []string{"ApplyFailed"},
			Means: "the API server refuses an object, or a ConfigMap of the installer is damaged. The installer does not maintain the provider that the " +
				"message names, but maintains the others",
			Do: "the message has the refusal, or says which ConfigMap to delete or apply again. A webhook, a policy or a quota may be the cause; " +
				"`Forbidden` means that the installer's role lacks the kind",
		},
		{
			Names: []string{"StageOverdue"},
			Means: "a provider has waited in one stage for more than 20 minutes, or the installer has waited as long for the rest of the release's ConfigMaps",
			Do: "stages 5 and 9: check that the service CA runs. If the message names who wrote the Secret of stage 5, delete it: " +
				"[adoption](providers.md#whose-an-object-is). Stage 7: `kubectl -n openshift-cluster-api get pods`, and their logs. Stage 8: endpoints of " +
				"the Service. If two marks of releases differ, apply all ConfigMaps of one release",
		},
		{
			Names: []string{"WorkloadUnavailable"},
			Means: "a workload of installed content has no pod",
			Do:    "look at the pods and their logs",
		},
		{
			Names: []string{"OldStorageVersions"},
			Means: "objects are stored in an older version. The installer rewrites them",
			Do:    "wait. If this reason stays, the conversion webhook of the provider fails; the installer's log has the error",
		},
		{
			Names: []string{"WaitingForPlatform"},
			Means: "the Infrastructure has no platform yet, or does not exist",
			Do:    "wait for the installation of the cluster. If somebody deleted the Infrastructure, restore it with its status",
		},
		{
			Names: []string{"NoInfrastructureProvider"},
			Means: "the core provider is installed, and no ConfigMap carries the infrastructure provider of the platform: nothing creates machines",
			Do:    "apply the release's ConfigMaps",
		},
		{
			Names: []string{"NoProviders"},
			Means: "no ConfigMap carries a provider for this platform",
			Do:    "apply the release's ConfigMaps",
		},
		{
			Names: []string{"UnsupportedPlatform"},
			Means: "Cluster API is not installed on this platform",
			Do:    "nothing, or set `--enable-platform` if the message names this flag",
		},
		{
			Names: []string{"Recovering"},
			Means: "the problem is fixed; Degraded becomes False after the installer has completed all stages",
			Do:    "wait",
		},
	},
}
