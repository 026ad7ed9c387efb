// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var provider = Table{
	Section: "A provider of Cluster API is not installed",
	Head:    [3]string{"reason", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"Collision"},
			Means: "an object of the provider belongs to somebody else; the message names both",
			Do:    "remove it there, or annotate it with `poundlock.openshift.io/adopt=true`",
		},
		{
			Names: []string{"ContentInvalid"},
			Means: "the release's ConfigMaps have a problem, and none of the new content is applied",
			Do:    "the message names each problem and its remedy. Apply the release's ConfigMaps again",
		},
		{
			Names: []string{"ReadFailed"},
			Means: "the installer cannot read what it depends on. The other conditions are those of the last pass that could",
			Do:    "the message has the API server's answer",
		},
		{
			Names: []string{"ContentMissing"},
			Means: "a ConfigMap was deleted, or a shard of several. The content that was installed last stays applied",
			Do:    "apply the release's ConfigMaps again",
		},
		{
			Names: []string{"ApplyFailed"},
			Means: "the API server refuses an object, or a ConfigMap of the installer is damaged; the provider that it names is not kept in order, and the others are",
			Do: "the message has the refusal, or says which ConfigMap to delete or apply again. A webhook, a policy or a quota may be the cause; " +
				"`Forbidden` means that the installer's role lacks the kind",
		},
		{
			Names: []string{"StageOverdue"},
			Means: "a provider has waited in one stage for more than 20 minutes, or the set for the rest of its release",
			Do: "stage 5 and 9: does the service CA run? If the message names who wrote the Secret of stage 5, delete it: " +
				"[adoption](providers.md#whose-an-object-is). Stage 7: `kubectl -n openshift-cluster-api get pods`, and their logs. Stage 8: " +
				"endpoints of the Service. If two marks of releases differ, apply all ConfigMaps of one release",
		},
		{
			Names: []string{"WorkloadUnavailable"},
			Means: "a workload of installed content has no pod",
			Do:    "look at the pods and their logs",
		},
		{
			Names: []string{"OldStorageVersions"},
			Means: "objects are stored in an older version. The installer rewrites them",
			Do:    "wait. If it stays, the conversion webhook of the provider fails; the installer's log has its error",
		},
		{
			Names: []string{"WaitingForPlatform"},
			Means: "the Infrastructure has no platform yet, or is not there",
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
			Do:    "nothing, or `--enable-platform` where the message names it",
		},
		{
			Names: []string{"Recovering"},
			Means: "the problem is gone, and the installer completes all stages before Degraded becomes False",
			Do:    "wait",
		},
	},
}
