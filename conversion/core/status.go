// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capierrors "sigs.k8s.io/cluster-api/errors"

	"github.com/poundlock/poundlock/conversion"
)

// StatusToClusterAPI converts a Machine API object's status into the status of the core object and the status of the infrastructure machine. infra is nil for
// a MachineSet, because a template has no status. What the other API cannot express is left out and is no error, because a status is an observation. The
// results never have the conditions Paused and Synchronized, the fields about authority or the generations, because these describe one object and not its
// twin.
func StatusToClusterAPI(kindName string, mapi *unstructured.Unstructured, env conversion.Env) (core, infra map[string]any) {
	k, ok := kindNamed(kindName)
	if !ok {
		return nil, nil
	}
	return k.statusTo(mapi, &env)
}

// StatusToMachineAPI is the reverse of StatusToClusterAPI: it converts the status of the twin's objects into the status of the Machine API object.
func StatusToMachineAPI(kindName string, t Twin, env conversion.Env) map[string]any {
	k, ok := kindNamed(kindName)
	if !ok {
		return nil
	}
	return k.statusFrom(t, &env)
}

// phaseTo converts a Machine's phase to Cluster API's, and phaseFrom converts Cluster API's phase to the Machine API's. Cluster API has more phases: in two
// cases phaseFrom maps two of them to one phase of the Machine API, and it has no entry for Pending, which means no phase in the Machine API.
var (
	phaseTo = map[string]clusterv1.MachinePhase{
		"":                               clusterv1.MachinePhasePending,
		machinev1beta1.PhaseProvisioning: clusterv1.MachinePhaseProvisioning,
		machinev1beta1.PhaseProvisioned:  clusterv1.MachinePhaseProvisioned,
		machinev1beta1.PhaseRunning:      clusterv1.MachinePhaseRunning,
		machinev1beta1.PhaseDeleting:     clusterv1.MachinePhaseDeleting,
		machinev1beta1.PhaseFailed:       clusterv1.MachinePhaseFailed,
	}
	phaseFrom = map[clusterv1.MachinePhase]string{
		clusterv1.MachinePhaseProvisioning: machinev1beta1.PhaseProvisioning,
		clusterv1.MachinePhaseProvisioned:  machinev1beta1.PhaseProvisioned,
		clusterv1.MachinePhaseRunning:      machinev1beta1.PhaseRunning,
		clusterv1.MachinePhaseUpdating:     machinev1beta1.PhaseRunning,
		clusterv1.MachinePhaseDeleting:     machinev1beta1.PhaseDeleting,
		clusterv1.MachinePhaseDeleted:      machinev1beta1.PhaseDeleting,
		clusterv1.MachinePhaseFailed:       machinev1beta1.PhaseFailed,
	}
)

// observe decodes an object's status; into points to the result. A status that cannot be decoded counts as empty.
func observe(o *unstructured.Unstructured, into any) {
	if o == nil {
		return
	}
	if status := content(o, "status"); status != nil {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(status, into)
	}
}

// content returns the part of an object at a path; nil if there is none. The part is not copied, so callers must not change it.
func content(o *unstructured.Unstructured, fields ...string) map[string]any {
	part, _, _ := unstructured.NestedFieldNoCopy(o.Object, fields...)
	out, _ := part.(map[string]any)
	return out
}

func machineStatusTo(mapi *unstructured.Unstructured, env *conversion.Env) (core, infra map[string]any) {
	var m machinev1beta1.MachineStatus
	observe(mapi, &m)
	provisioned := isProvisioned(mapi, m)
	c := clusterv1.MachineStatus{
		Phase:      string(phaseTo[deref(m.Phase)]),
		Addresses:  addressesTo(m.Addresses),
		Conditions: append(conditionsTo(mapi, m.Conditions), readinessTo(deref(m.Phase))...),
		Deprecated: failureTo(m),
	}
	done := true
	c.Initialization.BootstrapDataSecretCreated = &done
	if provisioned {
		c.Initialization.InfrastructureProvisioned = &done
	}
	if m.NodeRef != nil && len(validation.IsDNS1123Subdomain(m.NodeRef.Name)) == 0 {
		c.NodeRef.Name = m.NodeRef.Name
	}
	if m.LastUpdated != nil {
		c.LastUpdated = *m.LastUpdated
	}
	core = encode(&c)
	if env.Platform.Status != nil {
		seen := observation(m, provisioned, core)
		seen.ProviderID, _, _ = unstructured.NestedString(mapi.Object, "spec", "providerID")
		infra = env.Platform.Status.ToClusterAPI(rawOf(m.ProviderStatus), seen)
	}
	return core, infra
}

// isProvisioned reports whether the instance exists and has an ID. It decides by the phase. In the phase Deleting, an ID shows that the Machine was
// provisioned before.
func isProvisioned(mapi *unstructured.Unstructured, m machinev1beta1.MachineStatus) bool {
	id, _, _ := unstructured.NestedString(mapi.Object, "spec", "providerID")
	phase := deref(m.Phase)
	return phase == machinev1beta1.PhaseProvisioned || phase == machinev1beta1.PhaseRunning ||
		id != "" && phase == machinev1beta1.PhaseDeleting
}

func observation(m machinev1beta1.MachineStatus, ready bool, core map[string]any) conversion.InfraObservation {
	out := conversion.InfraObservation{Ready: ready, FailureMessage: deref(m.ErrorMessage)}
	out.Addresses, _, _ = unstructured.NestedSlice(core, "addresses")
	if m.ErrorReason != nil {
		out.FailureReason = string(*m.ErrorReason)
	}
	return out
}

// addressesTo converts addresses. It leaves out addresses that Cluster API's CRD does not accept, such as an empty one, because the API server would
// otherwise refuse the whole status.
func addressesTo(in []corev1.NodeAddress) clusterv1.MachineAddresses {
	const longest, most = 256, 256
	kinds := []clusterv1.MachineAddressType{
		clusterv1.MachineHostName, clusterv1.MachineExternalIP, clusterv1.MachineInternalIP, clusterv1.MachineExternalDNS, clusterv1.MachineInternalDNS,
	}
	var out clusterv1.MachineAddresses
	for _, a := range in {
		if a.Address == "" || len(a.Address) > longest || !slices.Contains(kinds, clusterv1.MachineAddressType(a.Type)) {
			continue
		}
		out = append(out, clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(a.Type), Address: a.Address})
	}
	return out[:min(len(out), most)]
}

// failureMessage returns a failure's message, cut to the length that Cluster API's CRDs accept; "" for none.
func failureMessage(value *string) string {
	const longest = 10240
	return conversion.Cut(deref(value), longest)
}

func failureTo(m machinev1beta1.MachineStatus) *clusterv1.MachineDeprecatedStatus {
	if m.ErrorReason == nil && m.ErrorMessage == nil {
		return nil
	}
	old := &clusterv1.MachineV1Beta1DeprecatedStatus{}
	if text := failureMessage(m.ErrorMessage); text != "" {
		old.FailureMessage = &text
	}
	if m.ErrorReason != nil {
		reason := capierrors.MachineStatusError(*m.ErrorReason)
		old.FailureReason = &reason
	}
	return &clusterv1.MachineDeprecatedStatus{V1Beta1: old}
}

// conditionsTo returns Cluster API's condition about the bootstrap data, which is always True here, and the condition about the instance if the Machine API
// has one.
func conditionsTo(mapi *unstructured.Unstructured, in []machinev1beta1.Condition) []metav1.Condition {
	out := []metav1.Condition{{
		Type: clusterv1.MachineBootstrapConfigReadyCondition, Status: metav1.ConditionTrue,
		Reason: clusterv1.MachineBootstrapDataSecretProvidedReason, LastTransitionTime: mapi.GetCreationTimestamp(),
	}}
	for _, c := range in {
		if c.Type == machinev1beta1.InstanceExistsCondition {
			return append(out, instanceTo(c))
		}
	}
	return out
}

// readinessTo returns the conditions Ready and Available, by which a Cluster API MachineSet counts its Machines. The Machine API has no such conditions. Both
// are True in the phase Running, in which a Machine has a Node. They have no time in the result; the time is set when they are first written.
func readinessTo(phase string) []metav1.Condition {
	status, ready, available := metav1.ConditionFalse, clusterv1.MachineNotReadyReason, clusterv1.NotAvailableReason
	if phase == machinev1beta1.PhaseRunning {
		status, ready, available = metav1.ConditionTrue, clusterv1.MachineReadyReason, clusterv1.MachineAvailableReason
	}
	return []metav1.Condition{
		{Type: clusterv1.MachineReadyCondition, Status: status, Reason: ready},
		{Type: clusterv1.MachineAvailableCondition, Status: status, Reason: available},
	}
}

func instanceTo(in machinev1beta1.Condition) metav1.Condition {
	out := metav1.Condition{
		Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionStatus(in.Status),
		Reason: in.Reason, Message: in.Message, LastTransitionTime: in.LastTransitionTime,
	}
	taken(&out, clusterv1.MachineInfrastructureNotReadyReason)
	if out.Status == metav1.ConditionTrue {
		out.Reason = clusterv1.MachineInfrastructureReadyReason
	}
	return out
}

// reasonPattern matches a reason that Cluster API's CRDs accept in a condition.
var reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// taken changes a condition so that Cluster API's CRDs accept it. The condition has texts of the Machine API, which may be any text, and the API server would
// otherwise refuse the whole status. The parameter otherwise replaces an invalid reason.
func taken(c *metav1.Condition, otherwise string) {
	const longestReason, longestMessage = 1024, 32768
	if len(c.Reason) > longestReason || !reasonPattern.MatchString(c.Reason) {
		c.Reason = otherwise
	}
	if c.Status != metav1.ConditionTrue && c.Status != metav1.ConditionFalse {
		c.Status = metav1.ConditionUnknown
	}
	c.Message = conversion.Cut(c.Message, longestMessage)
}

func machineStatusFrom(t Twin, env *conversion.Env) map[string]any {
	var c clusterv1.MachineStatus
	observe(t.Core, &c)
	m := machinev1beta1.MachineStatus{Conditions: append(conditionsFrom(c.Conditions), drainableFrom(t.Core))}
	phase := phaseFrom[clusterv1.MachinePhase(c.Phase)]
	if phase == machinev1beta1.PhaseDeleting {
		phase = deletingFrom(c, &m)
	}
	if infrastructureDeleted(c) && phase == machinev1beta1.PhaseFailed {
		phase = machinev1beta1.PhaseProvisioned
		if c.NodeRef.Name != "" {
			phase = machinev1beta1.PhaseRunning
		}
	}
	if phase != "" {
		m.Phase = &phase
	}
	if c.NodeRef.Name != "" {
		m.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: c.NodeRef.Name}
	}
	if !c.LastUpdated.IsZero() {
		m.LastUpdated = &c.LastUpdated
	}
	for _, a := range c.Addresses {
		m.Addresses = append(m.Addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	if !infrastructureDeleted(c) {
		failureFrom(c.Deprecated, &m)
	}
	out := encode(&m)
	if t.Infra != nil && env.Platform.Status != nil {
		out["providerStatus"] = env.Platform.Status.ToMachineAPI(nested(t.Infra, "spec"), nested(t.Infra, "status"))
	}
	return out
}

// infrastructureDeleted reports whether Cluster API has set a Machine to Failed because the provider's object is or was missing. Cluster API never takes this
// failure back, and the failure does not prove that the instance is terminated. The mirror must not get this failure, because the Machine API leaves a Failed
// Machine Failed for ever, and its MachineHealthCheck deletes such a Machine. Instead the mirror gets the condition InstanceExists, and the Machine API
// checks the cloud once it is authoritative.
func infrastructureDeleted(c clusterv1.MachineStatus) bool {
	if d := c.Deprecated; d == nil || d.V1Beta1 == nil || d.V1Beta1.FailureMessage == nil {
		return false
	}
	text := *c.Deprecated.V1Beta1.FailureMessage
	return strings.HasPrefix(text, "Machine infrastructure resource ") && strings.Contains(text, " has been deleted after ")
}

// drainableFrom returns the Machine API's condition Drainable, which depends on Cluster API's pre-drain hooks. The conversion must write this condition,
// because the Machine API's controllers do not update it while they are paused: it would stay False after a hook has been removed.
func drainableFrom(core *unstructured.Unstructured) machinev1beta1.Condition {
	var hooks []string
	annotations := core.GetAnnotations() // each call copies all of them
	for _, k := range sorted(annotations) {
		if strings.HasPrefix(k, clusterv1.PreDrainDeleteHookAnnotationPrefix) {
			hooks = append(hooks, fmt.Sprintf("%s (owner %s)", strings.TrimPrefix(k, preDrain), annotations[k]))
		}
	}
	if len(hooks) == 0 {
		return machinev1beta1.Condition{Type: machinev1beta1.MachineDrainable, Status: corev1.ConditionTrue}
	}
	return machinev1beta1.Condition{
		Type: machinev1beta1.MachineDrainable, Status: corev1.ConditionFalse,
		Severity: machinev1beta1.ConditionSeverityWarning, Reason: machinev1beta1.MachineHookPresent,
		Message: "The drain of the Node waits until the owner of each hook removes the hook: " + strings.Join(hooks, ", "),
	}
}

// deletingFrom returns the phase of a mirror whose Machine Cluster API is deleting, and adds the condition Drained to m. The phase is Deleting once Cluster
// API has finished its drain; until then it is "", and there is no condition. The reason is the Machine API's drain controller, which no pause stops: it
// drains the Node of a Machine that is being deleted, is in the phase Deleting and has no condition Drained. So the mirror may get this phase only together
// with the condition.
func deletingFrom(c clusterv1.MachineStatus, m *machinev1beta1.MachineStatus) string {
	at, past := pastDrain(c)
	if !past {
		return ""
	}
	m.Conditions = append(m.Conditions, machinev1beta1.Condition{
		Type: machinev1beta1.MachineDrained, Status: corev1.ConditionTrue, LastTransitionTime: at,
		Message: "In Cluster API, the drain of the Node is complete or was skipped",
	})
	return machinev1beta1.PhaseDeleting
}

// afterDrain lists those reasons of the condition Deleting that Cluster API's controller sets only after its drain.
var afterDrain = []string{
	clusterv1.MachineDeletingWaitingForVolumeDetachReason, clusterv1.MachineDeletingWaitingForPreTerminateHookReason,
	clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, clusterv1.MachineDeletingWaitingForBootstrapDeletionReason,
	clusterv1.MachineDeletingDeletingNodeReason, clusterv1.MachineDeletingDeletionCompletedReason,
}

// pastDrain reports whether Cluster API has drained the Node or skipped the drain, and since when. The proof is the condition DrainingSucceeded, or a reason
// of the condition Deleting that comes after the drain (afterDrain). It accepts no other proof, because a wrong condition Drained would make the Machine API
// skip a drain.
func pastDrain(c clusterv1.MachineStatus) (since metav1.Time, past bool) {
	if d := c.Deprecated; d != nil && d.V1Beta1 != nil {
		for _, one := range d.V1Beta1.Conditions {
			if one.Type == clusterv1.DrainingSucceededV1Beta1Condition && one.Status == corev1.ConditionTrue {
				return one.LastTransitionTime, true
			}
		}
	}
	for _, one := range c.Conditions {
		if one.Type == clusterv1.MachineDeletingCondition && one.Status == metav1.ConditionTrue && slices.Contains(afterDrain, one.Reason) {
			return one.LastTransitionTime, true
		}
	}
	return metav1.Time{}, false
}

func failureFrom(d *clusterv1.MachineDeprecatedStatus, m *machinev1beta1.MachineStatus) {
	if d == nil || d.V1Beta1 == nil {
		return
	}
	m.ErrorMessage = d.V1Beta1.FailureMessage
	if d.V1Beta1.FailureReason != nil {
		reason := machinev1beta1.MachineStatusError(*d.V1Beta1.FailureReason)
		m.ErrorReason = &reason
	}
}

func conditionsFrom(in []metav1.Condition) []machinev1beta1.Condition {
	for _, c := range in {
		if c.Type != clusterv1.MachineInfrastructureReadyCondition {
			continue
		}
		out := machinev1beta1.Condition{
			Type: machinev1beta1.InstanceExistsCondition, Status: corev1.ConditionStatus(c.Status),
			Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
		}
		if c.Status == metav1.ConditionTrue {
			out.Reason = ""
		} else if c.Status == metav1.ConditionFalse {
			out.Severity = machinev1beta1.ConditionSeverityWarning
		}
		return []machinev1beta1.Condition{out}
	}
	return nil
}

// setStatusTo converts a MachineSet's status. It also writes counts that are 0, because without them the twin would keep a count of another writer.
func setStatusTo(mapi *unstructured.Unstructured, _ *conversion.Env) (core, infra map[string]any) {
	var m machinev1beta1.MachineSetStatus
	observe(mapi, &m)
	old := map[string]any{
		"fullyLabeledReplicas": int64(m.FullyLabeledReplicas),
		"readyReplicas":        int64(m.ReadyReplicas),
		"availableReplicas":    int64(m.AvailableReplicas),
	}
	if m.ErrorReason != nil {
		old["failureReason"] = string(*m.ErrorReason)
	}
	if text := failureMessage(m.ErrorMessage); text != "" {
		old["failureMessage"] = text
	}
	out := map[string]any{
		"replicas":          int64(m.Replicas),
		"readyReplicas":     int64(m.ReadyReplicas),
		"availableReplicas": int64(m.AvailableReplicas),
		"deprecated":        map[string]any{"v1beta1": old},
	}
	if s := selectorText(selectorOf(mapi)); s != "" {
		out["selector"] = s
	}
	return out, nil
}

func setStatusFrom(t Twin, _ *conversion.Env) map[string]any {
	var c clusterv1.MachineSetStatus
	observe(t.Core, &c)
	out := map[string]any{
		"replicas":          count(c.Replicas),
		"readyReplicas":     count(c.ReadyReplicas),
		"availableReplicas": count(c.AvailableReplicas),
	}
	cluster, _, _ := unstructured.NestedString(t.Core.Object, "spec", "clusterName")
	if s := selectorText(withoutImplied(selectorOf(t.Core), cluster)); s != "" {
		out["labelSelector"] = strings.ReplaceAll(s, clusterv1.ClusterNameLabel, clusterLabel)
	}
	if c.Deprecated == nil || c.Deprecated.V1Beta1 == nil {
		return out
	}
	old := c.Deprecated.V1Beta1
	out["fullyLabeledReplicas"] = int64(old.FullyLabeledReplicas)
	if old.FailureReason != nil {
		out["errorReason"] = string(*old.FailureReason)
	}
	if old.FailureMessage != nil {
		out["errorMessage"] = *old.FailureMessage
	}
	return out
}

// checkStatusTo converts a MachineHealthCheck's status: the condition RemediationAllowed and, if the check has counted Machines, the counts.
func checkStatusTo(mapi *unstructured.Unstructured, _ *conversion.Env) (core, infra map[string]any) {
	var m machinev1beta1.MachineHealthCheckStatus
	observe(mapi, &m)
	out := counted(m.ExpectedMachines, m.CurrentHealthy, m.RemediationsAllowed)
	for _, c := range m.Conditions {
		if c.Type == machinev1beta1.RemediationAllowedCondition {
			out["conditions"] = []any{encode(allowedTo(c))}
		}
	}
	return out, nil
}

func allowedTo(in machinev1beta1.Condition) *metav1.Condition {
	out := &metav1.Condition{
		Type: clusterv1.MachineHealthCheckRemediationAllowedCondition, Status: metav1.ConditionStatus(in.Status),
		Reason: in.Reason, Message: in.Message, LastTransitionTime: in.LastTransitionTime,
	}
	taken(out, clusterv1.MachineHealthCheckTooManyUnhealthyReason)
	if out.Status == metav1.ConditionTrue {
		out.Reason = clusterv1.MachineHealthCheckRemediationAllowedReason
	}
	return out
}

func checkStatusFrom(t Twin, _ *conversion.Env) map[string]any {
	var c clusterv1.MachineHealthCheckStatus
	observe(t.Core, &c)
	var allowed int32
	if c.RemediationsAllowed != nil {
		allowed = *c.RemediationsAllowed
	}
	out := counted(c.ExpectedMachines, c.CurrentHealthy, allowed)
	for _, a := range c.Conditions {
		if a.Type == clusterv1.MachineHealthCheckRemediationAllowedCondition {
			out["conditions"] = []any{encode(allowedFrom(a))}
		}
	}
	return out
}

func allowedFrom(in metav1.Condition) *machinev1beta1.Condition {
	out := &machinev1beta1.Condition{
		Type: machinev1beta1.RemediationAllowedCondition, Status: corev1.ConditionStatus(in.Status),
		Reason: in.Reason, Message: in.Message, LastTransitionTime: in.LastTransitionTime,
	}
	switch in.Status {
	case metav1.ConditionTrue:
		out.Reason = ""
	case metav1.ConditionFalse:
		out.Severity = machinev1beta1.ConditionSeverityWarning
	}
	return out
}

// counted returns a MachineHealthCheck's counts of Machines as status fields. A negative count becomes 0, because the CRDs refuse a negative number. The
// result is empty if the check has not counted yet.
func counted[N int | int32](expected, healthy *N, allowed int32) map[string]any {
	out := map[string]any{}
	if expected == nil || healthy == nil {
		return out
	}
	out["expectedMachines"], out["currentHealthy"], out["remediationsAllowed"] = int64(max(0, *expected)), int64(max(0, *healthy)), int64(max(0, allowed))
	return out
}

// selectorOf returns a set's selector. The result is the empty selector if the set has none, or if it cannot be decoded.
func selectorOf(set *unstructured.Unstructured) metav1.LabelSelector {
	var selector metav1.LabelSelector
	if value := content(set, "spec", "selector"); value == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(value, &selector) != nil {
		return metav1.LabelSelector{}
	}
	return selector
}

// selectorText returns a selector as text, in the form that the subresource /scale shows to an autoscaler. It returns "" for an empty or invalid selector.
func selectorText(selector metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil || parsed.Empty() {
		return ""
	}
	return parsed.String()
}

func count(n *int32) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func rawOf(r *runtime.RawExtension) []byte {
	if r == nil {
		return nil
	}
	return r.Raw
}

func nested(o *unstructured.Unstructured, field string) []byte {
	// This cannot fail, because an object from an API server consists of JSON values.
	raw, _ := json.Marshal(o.Object[field])
	return raw
}

// encode converts a status into JSON's maps. That cannot fail for an API type.
func encode(status any) map[string]any {
	out, err := conversion.Encode(status)
	if err != nil {
		return map[string]any{}
	}
	return out
}
