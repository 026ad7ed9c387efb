// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var metrics = Table{
	Section: "Metrics",
	Head:    [3]string{"metric", "what it measures", "labels"},
	Rows: []Row{
		{
			Names: []string{"poundlock_handoffs_total"},
			Means: "migrations, by outcome: started, completed, cancelled",
			Do:    "kind, direction, outcome",
		},
		{
			Names: []string{"poundlock_handoff_wait_seconds"},
			Means: "how long the condition AuthoritySettled kept each reason",
			Do:    "kind, reason",
		},
		{
			Names: []string{"poundlock_handoff_waiting_since_timestamp_seconds"},
			Means: "since when the condition AuthoritySettled of an object is False with its present reason, in Unix time",
			Do:    "kind, namespace, name, reason",
		},
		{
			Names: []string{"poundlock_mirror_writes_total"},
			Means: "writes of mirrors, by result",
			Do:    "kind, verb, result",
		},
		{
			Names: []string{"poundlock_mirror_failures_total"},
			Means: "how often an object could not be mirrored",
			Do:    "kind, reason",
		},
		{
			Names: []string{"poundlock_mirror_failing_since_timestamp_seconds"},
			Means: "since when the condition Synchronized of an object is False, in Unix time",
			Do:    "kind, namespace, name, reason",
		},
		{
			Names: []string{"poundlock_machineset_outlived_since_timestamp_seconds"},
			Means: "since when a Cluster API MachineSet has no Machine API MachineSet, because that was deleted, in Unix time",
			Do:    "kind, namespace, name, reason",
		},
		{
			Names: []string{"poundlock_remediations_total"},
			Means: "Machines that Poundlock deleted for a health check of Cluster API",
			Do:    "cause",
		},
		{
			Names: []string{"poundlock_standing_still"},
			Means: "1 while nothing is mirrored or migrated because OpenShift's own migration runs",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_build_info"},
			Means: "1, with the build of the process as labels",
			Do:    "the build",
		},
		{
			Names: []string{"poundlock_admission_rule_total"},
			Means: "verdicts of each rule: denied, warned or silent",
			Do:    "rule, verdict, kind, operation",
		},
		{
			Names: []string{"poundlock_admission_review_duration_seconds"},
			Means: "time from a review's arrival to its answer",
			Do:    "route, allowed",
		},
		{
			Names: []string{"poundlock_admission_gather_duration_seconds"},
			Means: "time to look up what the rules of one review need",
			Do:    "route",
		},
		{
			Names: []string{"poundlock_admission_lookup_duration_seconds"},
			Means: "time of one lookup, in the cache or at the API server",
			Do:    "source",
		},
		{
			Names: []string{"poundlock_admission_unchecked_total"},
			Means: "facts behind a warning that could not be looked up",
			Do:    "route",
		},
		{
			Names: []string{"poundlock_admission_failures_total"},
			Means: "reviews that no rule could decide",
			Do:    "route, reason",
		},
		{
			Names: []string{"poundlock_admission_in_flight"},
			Means: "reviews in progress",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_admission_enforced"},
			Means: "1 while the locks fail closed in all mirrored namespaces and the API server reaches the webhooks",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_admission_probe_total"},
			Means: "dry runs that test whether the API server reaches the webhooks",
			Do:    "answered",
		},
		{
			Names: []string{"poundlock_certificate_expiry_timestamp_seconds"},
			Means: "when the serving certificate or the CA expires, in Unix time",
			Do:    "certificate",
		},
		{
			Names: []string{"poundlock_certificate_ready"},
			Means: "1 while the serving certificate is one that the API server trusts",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_certificate_rotations_total"},
			Means: "how often a replica changed its certificate or made a new CA",
			Do:    "certificate",
		},
		{
			Names: []string{"poundlock_certificate_errors_total"},
			Means: "problems with certificates: reload, secret, inject",
			Do:    "reason",
		},
		{
			Names: []string{"poundlock_control_plane_machines"},
			Means: "Machines of the ControlPlaneMachineSet: wanted, present, ready, outdated",
			Do:    "what they are",
		},
		{
			Names: []string{"poundlock_control_plane_degraded"},
			Means: "1 while an Active ControlPlaneMachineSet has stopped because of a problem",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_control_plane_changes_total"},
			Means: "Machines that the ControlPlaneMachineSet created or deleted",
			Do:    "verb, cause",
		},
		{
			Names: []string{"poundlock_control_plane_generator_writes_total"},
			Means: "writes of the generated ControlPlaneMachineSet",
			Do:    "what was done",
		},
		{
			Names: []string{"poundlock_control_plane_not_generated"},
			Means: "1 for the reason why no ControlPlaneMachineSet can be generated, or why the generated one cannot be kept equal to the cluster",
			Do:    "reason",
		},
		{
			Names: []string{"poundlock_machineset_writes_total"},
			Means: "Machines that MachineSets created, deleted and adopted",
			Do:    "verb, result",
		},
		{
			Names: []string{"poundlock_install_objects_total"},
			Means: "objects that the installer wrote: applied, drift, pruned or error",
			Do:    "provider, stage, result",
		},
		{
			Names: []string{"poundlock_install_stage"},
			Means: "the stage that a provider has not passed yet, 0 for none",
			Do:    "provider",
		},
		{
			Names: []string{"poundlock_install_failing"},
			Means: "1 while the last pass over a provider ended with an error; no value for a provider that is not in the set, or while OpenShift's own installer runs",
			Do:    "provider",
		},
		{
			Names: []string{"poundlock_install_degraded"},
			Means: "1 while the ClusterOperator `cluster-api` is degraded",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_install_standing_still"},
			Means: "1 while nothing is installed because OpenShift's own installer runs",
			Do:    "none",
		},
		{
			Names: []string{"mapi_machinehealthcheck_nodes_covered"},
			Means: "Machines that a MachineHealthCheck judges",
			Do:    "name, namespace",
		},
		{
			Names: []string{"mapi_machinehealthcheck_short_circuit"},
			Means: "1 while a MachineHealthCheck deletes nothing because more than maxUnhealthy Machines are unhealthy",
			Do:    "name, namespace",
		},
		{
			Names: []string{"mapi_machinehealthcheck_remediation_success_total"},
			Means: "remediations that a MachineHealthCheck began",
			Do:    "name, namespace",
		},
		{
			Names: []string{"mapi_machine_actuator_failures_total"},
			Means: "failed calls of the provider's actuator, by whether a retry can help",
			Do:    "step, terminal",
		},
		{
			Names: []string{"hypershift_api_proxy_requests_total"},
			Means: "requests that the proxy answered",
			Do:    "method, resource, code",
		},
		{
			Names: []string{"hypershift_api_proxy_request_duration_seconds"},
			Means: "how long requests through the proxy took",
			Do:    "method, resource",
		},
		{
			Names: []string{"hypershift_api_proxy_overhead_seconds"},
			Means: "how much of the requests' time was the proxy's own",
			Do:    "method",
		},
		{
			Names: []string{"hypershift_api_proxy_translation_errors_total"},
			Means: "bodies that the proxy could not translate",
			Do:    "error_type",
		},
		{
			Names: []string{"hypershift_conversion_webhook_requests_total"},
			Means: "conversion reviews that the shim answered",
			Do:    "from_version, to_version, resource, result",
		},
		{
			Names: []string{"hypershift_conversion_webhook_duration_seconds"},
			Means: "how long conversions took, including the time of the upstream converter",
			Do:    "from_version, to_version, resource",
		},
		{
			Names: []string{"hypershift_conversion_webhook_errors_total"},
			Means: "conversion reviews that failed",
			Do:    "error_type",
		},
	},
}
