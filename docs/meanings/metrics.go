// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var metrics = Table{
	Section: "Metrics",
	Head:    [3]string{"metric", "what it measures", "labels"},
	Rows: []Row{
		{
			Names: []string{"poundlock_handoffs_total"},
			Means: "the number of migrations, by outcome: started, completed, cancelled",
			Do:    "kind, direction, outcome",
		},
		{
			Names: []string{"poundlock_handoff_wait_seconds"},
			Means: "how long the condition AuthoritySettled of objects had each reason",
			Do:    "kind, reason",
		},
		{
			Names: []string{"poundlock_handoff_waiting_since_timestamp_seconds"},
			Means: "since when the condition AuthoritySettled of an object is False with its present reason, in Unix time",
			Do:    "kind, namespace, name, reason",
		},
		{
			Names: []string{"poundlock_mirror_writes_total"},
			Means: "the number of Poundlock's writes to mirrors, by result",
			Do:    "kind, verb, result",
		},
		{
			Names: []string{"poundlock_mirror_failures_total"},
			Means: "how often Poundlock could not mirror an object",
			Do:    "kind, reason",
		},
		{
			Names: []string{"poundlock_mirror_failing_since_timestamp_seconds"},
			Means: "since when the condition Synchronized of an object is False, in Unix time",
			Do:    "kind, namespace, name, reason",
		},
		{
			Names: []string{"poundlock_machineset_outlived_since_timestamp_seconds"},
			Means: "since when a Cluster API MachineSet runs without its Machine API MachineSet, which was deleted, in Unix time",
			Do:    "kind, namespace, name, reason",
		},
		{
			Names: []string{"poundlock_remediations_total"},
			Means: "the number of Machines that Poundlock deleted for a health check of Cluster API",
			Do:    "cause",
		},
		{
			Names: []string{"poundlock_standing_still"},
			Means: "1 while Poundlock mirrors and migrates nothing because OpenShift's own migration runs",
			Do:    "none",
		},
		{
			Names: []string{"leader_election_master_status"},
			Means: "1 in the replica that has the Lease, 0 in each other one; a metric of controller-runtime",
			Do:    "name, the Lease's",
		},
		{
			Names: []string{"poundlock_build_info"},
			Means: "always 1; the labels describe the build of the process",
			Do:    "the labels of the build",
		},
		{
			Names: []string{"poundlock_admission_rule_total"},
			Means: "the number of verdicts of each rule of admission: denied, warned or silent",
			Do:    "rule, verdict, kind, operation",
		},
		{
			Names: []string{"poundlock_admission_review_duration_seconds"},
			Means: "the time from the arrival of an admission review to its answer",
			Do:    "route, allowed",
		},
		{
			Names: []string{"poundlock_admission_gather_duration_seconds"},
			Means: "the time to look up everything that the rules of one admission review need",
			Do:    "route",
		},
		{
			Names: []string{"poundlock_admission_lookup_duration_seconds"},
			Means: "the time of one lookup for an admission review, in the cache or at the API server",
			Do:    "source",
		},
		{
			Names: []string{"poundlock_admission_unchecked_total"},
			Means: "the number of failed lookups of facts that only decide about a warning",
			Do:    "route",
		},
		{
			Names: []string{"poundlock_admission_failures_total"},
			Means: "the number of admission reviews that no rule could decide",
			Do:    "route, reason",
		},
		{
			Names: []string{"poundlock_admission_in_flight"},
			Means: "the number of admission reviews that are being decided now",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_admission_enforced"},
			Means: "1 while Poundlock's webhooks fail closed in all mirrored namespaces and the API server reaches them",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_admission_probe_total"},
			Means: "the number of dry runs by which Poundlock tests whether the API server reaches its webhooks",
			Do:    "answered",
		},
		{
			Names: []string{"poundlock_certificate_expiry_timestamp_seconds"},
			Means: "when the webhooks' serving certificate or its CA expires, in Unix time",
			Do:    "certificate",
		},
		{
			Names: []string{"poundlock_certificate_ready"},
			Means: "1 while the API server trusts the webhooks' serving certificate",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_certificate_rotations_total"},
			Means: "how often a replica changed its serving certificate or created a new CA",
			Do:    "certificate",
		},
		{
			Names: []string{"poundlock_certificate_errors_total"},
			Means: "the number of problems with certificates, by reason: reload, secret, inject",
			Do:    "reason",
		},
		{
			Names: []string{"poundlock_control_plane_machines"},
			Means: "the number of Machines of the ControlPlaneMachineSet that are wanted, present, ready or outdated",
			Do:    "the state of the Machines",
		},
		{
			Names: []string{"poundlock_control_plane_degraded"},
			Means: "1 while an Active ControlPlaneMachineSet has stopped because of a problem",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_control_plane_changes_total"},
			Means: "the number of Machines that the ControlPlaneMachineSet created or deleted",
			Do:    "verb, cause",
		},
		{
			Names: []string{"poundlock_control_plane_generator_writes_total"},
			Means: "the number of writes of the ControlPlaneMachineSet that Poundlock generates",
			Do:    "what was done",
		},
		{
			Names: []string{"poundlock_control_plane_not_generated"},
			Means: "1 for the reason why Poundlock cannot generate a ControlPlaneMachineSet, or cannot keep the generated set equal to the cluster",
			Do:    "reason",
		},
		{
			Names: []string{"poundlock_machineset_writes_total"},
			Means: "the number of Machines that MachineSets created, deleted or adopted",
			Do:    "verb, result",
		},
		{
			Names: []string{"poundlock_install_objects_total"},
			Means: "the number of objects that the installer wrote, by result: applied, drift, pruned or error",
			Do:    "provider, stage, result",
		},
		{
			Names: []string{"poundlock_install_stage"},
			Means: "the stage of the installation that a provider has not passed yet; 0 if the provider has passed all stages",
			Do:    "provider",
		},
		{
			Names: []string{"poundlock_install_failing"},
			Means: "1 while the last pass of the installer over a provider ended with an error. The metric has no value for a provider that is not in the " +
				"set, or while OpenShift's own installer runs",
			Do: "provider",
		},
		{
			Names: []string{"poundlock_install_degraded"},
			Means: "1 while the ClusterOperator `cluster-api` is degraded",
			Do:    "none",
		},
		{
			Names: []string{"poundlock_install_standing_still"},
			Means: "1 while the installer installs nothing because OpenShift's own installer runs",
			Do:    "none",
		},
		{
			Names: []string{"mapi_machinehealthcheck_nodes_covered"},
			Means: "the number of Machines that a MachineHealthCheck watches",
			Do:    "name, namespace",
		},
		{
			Names: []string{"mapi_machinehealthcheck_short_circuit"},
			Means: "1 while a MachineHealthCheck deletes nothing because more Machines are unhealthy than `spec.maxUnhealthy` allows",
			Do:    "name, namespace",
		},
		{
			Names: []string{"mapi_machinehealthcheck_remediation_success_total"},
			Means: "the number of remediations that a MachineHealthCheck began",
			Do:    "name, namespace",
		},
		{
			Names: []string{"mapi_machine_actuator_failures_total"},
			Means: "the number of failed calls of the provider's actuator (the code that creates and deletes instances), by whether a retry can succeed",
			Do:    "step, terminal",
		},
		{
			Names: []string{"hypershift_api_proxy_requests_total"},
			Means: "the number of requests that the API proxy answered",
			Do:    "method, resource, code",
		},
		{
			Names: []string{"hypershift_api_proxy_request_duration_seconds"},
			Means: "how long requests through the API proxy took",
			Do:    "method, resource",
		},
		{
			Names: []string{"hypershift_api_proxy_overhead_seconds"},
			Means: "how much of the duration of requests the API proxy itself caused",
			Do:    "method",
		},
		{
			Names: []string{"hypershift_api_proxy_translation_errors_total"},
			Means: "the number of request and response bodies that the API proxy could not translate",
			Do:    "error_type",
		},
		{
			Names: []string{"hypershift_conversion_webhook_requests_total"},
			Means: "the number of conversion reviews that the conversion shim answered",
			Do:    "from_version, to_version, resource, result",
		},
		{
			Names: []string{"hypershift_conversion_webhook_duration_seconds"},
			Means: "how long conversion reviews took, including the time of the upstream converter",
			Do:    "from_version, to_version, resource",
		},
		{
			Names: []string{"hypershift_conversion_webhook_errors_total"},
			Means: "the number of conversion reviews that failed in the conversion shim",
			Do:    "error_type",
		},
	},
}
