// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var alerts = Table{
	Section: "Alerts",
	Head:    [3]string{"alert", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"PoundlockHandoffWaits"},
			Means: "migrations have waited for more than half an hour, for the reason in the alert's label",
			Do: "`kubectl poundlock status` names the objects, and the condition AuthoritySettled of each object names what the migration waits for. To " +
				"cancel a migration, set `spec.authoritativeAPI` back",
		},
		{
			Names: []string{"PoundlockMirrorFails"},
			Means: "for half an hour Poundlock could not make the mirrors of some objects equal to them, for the reason in the alert's label. The " +
				"controllers of these objects act as before, but the objects cannot be migrated",
			Do: "`kubectl poundlock status` names the objects, and the condition Synchronized of each object explains why",
		},
		{
			Names: []string{"PoundlockMirrorWritesFail"},
			Means: "the API server keeps refusing what Poundlock writes to mirrors",
			Do:    "`kubectl -n openshift-cluster-api logs -l app.kubernetes.io/name=poundlock --tail=-1` has each refusal",
		},
		{
			Names: []string{"PoundlockStandsStill"},
			Means: "Poundlock mirrors and migrates nothing, because OpenShift's own migration runs",
			Do:    "`kubectl poundlock status` names what to stop",
		},
		{
			Names: []string{"PoundlockMachineSetOutlived"},
			Means: "a Machine API MachineSet was deleted while Cluster API was authoritative, and its instances keep running",
			Do: "delete the Cluster API MachineSet (`kubectl -n openshift-cluster-api delete machinesets.cluster.x-k8s.io NAME`), which terminates its " +
				"instances. Or recreate the Machine API MachineSet: apply what `kubectl poundlock convert machineset/NAME` prints. The runbook " +
				"MirroredInMachineAPI is False has the command that lists such sets",
		},
		{
			Names: []string{"PoundlockNobodyLeads"},
			Means: "no replica of Poundlock holds the Lease `poundlock`, so nothing is mirrored or migrated; the webhooks keep working",
			Do:    "`kubectl -n openshift-cluster-api logs -l app.kubernetes.io/name=poundlock --tail=100` shows why no replica gets the Lease",
		},
		{
			Names: []string{"PoundlockControlPlaneStopped"},
			Means: "the ControlPlaneMachineSet has stopped because of a problem",
			Do:    "`kubectl poundlock controlplane status`: the set's condition Degraded names the problem and what fixes it",
		},
		{
			Names: []string{"PoundlockAdmissionFails"},
			Means: "Poundlock's webhooks cannot decide requests, because a lookup in the API server or in the cache fails, or because more reviews come " +
				"than they decide at the same time (reason `room`)",
			Do: "`kubectl get --raw '/api/v1/namespaces/openshift-cluster-api/pods/POD:8081/proxy/readyz?verbose'` shows what the replica POD waits for. " +
				"The refusals and warnings that users get also name what could not be looked up",
		},
		{
			Names: []string{"PoundlockAway"},
			Means: "no replica of Poundlock answers",
			Do: "`kubectl -n openshift-cluster-api get pods,events`, and `kubectl -n openshift-cluster-api logs -l app.kubernetes.io/name=poundlock " +
				"--tail=100`. The runbook Poundlock is down: what still works lists what is refused until Poundlock runs again",
		},
		{
			Names: []string{"PoundlockNotEnforced"},
			Means: "the API server does not reach Poundlock's webhooks, or a webhook configuration is missing",
			Do: "`kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations` shows whether the two configurations named `poundlock` exist. " +
				"The manifests of your installation recreate a missing one: `kubectl apply -k deploy`, with the folder of docs/install.md. Otherwise " +
				"`kubectl -n openshift-cluster-api logs -l app.kubernetes.io/name=poundlock --tail=100` has the reason",
		},
		{
			Names: []string{"PoundlockCertificateExpires"},
			Means: "the certificate of Poundlock's webhooks is not ready, or expires within three days",
			Do:    "`kubectl -n openshift-cluster-api get secret poundlock-serving` shows whether the certificate's Secret exists. See the runbook The certificate",
		},
		{
			Names: []string{"PoundlockInstallDegraded"},
			Means: "a provider of Cluster API is not installed as its release describes it",
			Do:    "`kubectl get clusteroperators cluster-api -o yaml`: the condition Degraded names the problem",
		},
		{
			Names: []string{"PoundlockInstallDrift"},
			Means: "somebody keeps changing objects of a provider, and the installer restores them",
			Do:    "`kubectl get events -A --field-selector reason=DriftRemoved`: the events name the fields and the field manager",
		},
		{
			Names: []string{"HyperShiftAPIProxyHighLatency"},
			Means: "one in twenty requests through the API proxy of this Pod takes longer than 100 ms",
			Do:    "compare with the API server's own latency first: see the runbook The API proxy is slow",
		},
		{
			Names: []string{"HyperShiftConversionWebhookUnavailable"},
			Means: "more than one in twenty conversions of private types fails, so objects that are stored in another version cannot be read or written",
			Do:    "run `kubectl poundlock private-types status`, and see the runbook Conversions of private types fail",
		},
	},
}
