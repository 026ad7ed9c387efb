// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/machineapi"
)

type mapiCheck struct {
	Metadata metadata                              `json:"metadata"`
	Spec     machinev1beta1.MachineHealthCheckSpec `json:"spec"`
}

type capiCheck struct {
	Metadata metadata                         `json:"metadata"`
	Spec     clusterv1.MachineHealthCheckSpec `json:"spec"`
}

var check conversion.Rows[mapiCheck, capiCheck]

// rebootAnnotation on a Machine API MachineHealthCheck requests that unhealthy Machines are rebooted instead of deleted.
const rebootAnnotation = machineapi.RemediationStrategyAnnotation

// These are Cluster API's limits for a MachineHealthCheck. Its webhook refuses a shorter startup timeout, and its CRD refuses more conditions.
const (
	leastStartup   = 30 * time.Second
	mostConditions = 100
)

// MachineHealthChecks converts a MachineHealthCheck. This kind has no fields that differ by platform.
var MachineHealthChecks = conversion.Table[mapiCheck, capiCheck]{
	check.Same("metadata.name", "metadata.name"),
	check.Iso(at("metadata.labels"), at("metadata.labels"),
		"The labels are copied. Only the label machine.openshift.io/cluster-api-cluster gets another name, cluster.x-k8s.io/cluster-name.",
		checkLabelsTo, checkLabelsFrom),
	check.Iso(at("metadata.annotations"), at("metadata.annotations"),
		"The annotations are copied, except last-applied-configuration and the annotations that have another name in Cluster API, which "+
			"docs/fields/core.md lists. The annotation machine.openshift.io/remediation-strategy does not convert, because Cluster API's check would "+
			"delete the Machines that Machine API's check reboots.",
		checkAnnotationsTo, checkAnnotationsFrom),
	check.Iso(at("spec.selector.matchLabels", "spec.selector.matchExpressions[].key", "spec.selector.matchExpressions[].operator",
		"spec.selector.matchExpressions[].values"),
		at("spec.selector.matchLabels", "spec.selector.matchExpressions[].key", "spec.selector.matchExpressions[].operator",
			"spec.selector.matchExpressions[].values"),
		"The selector is copied, and the label machine.openshift.io/cluster-api-cluster becomes cluster.x-k8s.io/cluster-name. An empty selector is an "+
			"error, because it selects every Machine in Machine API, but Cluster API refuses it.",
		checkSelectorTo, checkSelectorFrom),
	check.Iso(at("spec.unhealthyConditions[].type", "spec.unhealthyConditions[].status", "spec.unhealthyConditions[].timeout"),
		at("spec.checks.unhealthyNodeConditions[].type", "spec.checks.unhealthyNodeConditions[].status", "spec.checks.unhealthyNodeConditions[].timeoutSeconds"),
		"The timeout must be whole seconds. Machine API needs at least one condition, and Cluster API accepts at most "+
			"100.", conditionsOfNodesTo, conditionsOfNodesFrom),
	check.Iso(at("spec.maxUnhealthy"), at("spec.remediation.triggerIf.unhealthyLessThanOrEqualTo"),
		"The value is a number or a percentage of up to 100%. A number that is written as text becomes a number.", maxUnhealthyTo, maxUnhealthyFrom),
	check.Iso(at("spec.nodeStartupTimeout"), at("spec.checks.nodeStartupTimeoutSeconds"),
		"The timeout must be whole seconds, and at least 30 seconds, or 0, which means no timeout on both sides.", startupTo, startupFrom),
	check.Iso(at("spec.remediationTemplate.apiVersion", "spec.remediationTemplate.kind", "spec.remediationTemplate.name", "spec.remediationTemplate.namespace"),
		at("spec.remediation.templateRef.apiVersion", "spec.remediation.templateRef.kind", "spec.remediation.templateRef.name"),
		"Each API looks for the template in the namespace of its own MachineHealthCheck, so Machine API's check may name only its own "+
			"namespace.", remediationTo, remediationFrom),
	check.OnlyMAPI("spec.remediationTemplate.uid", "Cluster API refers to a remediation template only by its name: remove this field"),
	check.OnlyMAPI("spec.remediationTemplate.resourceVersion", "Cluster API refers to a remediation template only by its name: remove this field"),
	check.OnlyMAPI("spec.remediationTemplate.fieldPath", "Cluster API refers to a remediation template only by its name: remove this field"),
	check.Iso(nil, at("spec.clusterName"), "The value is always the cluster's name.",
		func(p *pass, _ *mapiCheck, c *capiCheck) { c.Spec.ClusterName = p.Env.ClusterName },
		func(p *pass, c *capiCheck, _ *mapiCheck) { ownCluster(p, c.Spec.ClusterName) }),
	check.OnlyCAPI("spec.checks.unhealthyMachineConditions.*",
		"a MachineHealthCheck of Machine API reads only conditions of Nodes, not of Machines: remove unhealthyMachineConditions"),
	check.OnlyCAPI("spec.remediation.triggerIf.unhealthyInRange", "a MachineHealthCheck of Machine API has no range of unhealthy Machines, only the "+
		"maximum maxUnhealthy: remove unhealthyInRange, and set unhealthyLessThanOrEqualTo instead"),
}

func checkLabelsTo(p *pass, m *mapiCheck, c *capiCheck) {
	copyLabelsTo(p, m.Metadata.Labels, &c.Metadata)
	addClusterName(p, &c.Metadata)
}

func checkLabelsFrom(p *pass, c *capiCheck, m *mapiCheck) {
	for _, k := range sorted(c.Metadata.Labels) {
		if k == clusterv1.MachineControlPlaneLabel || reachesNode(k) {
			p.Unsupported(label(k), c.Metadata.Labels[k], "in Machine API only Machines can have this label, not a MachineHealthCheck: remove it")
			continue
		}
		copyLabelFrom(p, c.Metadata, k, &m.Metadata)
	}
}

func checkAnnotationsTo(p *pass, m *mapiCheck, c *capiCheck) {
	if v := m.Metadata.Annotations[rebootAnnotation]; v != "" {
		p.Unsupported(annotation(rebootAnnotation), v,
			"this check reboots unhealthy Machines, but Cluster API's check would delete them: remove the annotation, or set spec.remediationTemplate")
	}
	copyAnnotationsTo(p, m.Metadata.Annotations, &c.Metadata)
}

func checkAnnotationsFrom(p *pass, c *capiCheck, m *mapiCheck) {
	copyAnnotationsFrom(p, c.Metadata, &m.Metadata, func(k, v string) bool {
		switch {
		case isHook(k) || annotatesNode(k):
			p.Unsupported(annotation(k), v, "in Machine API only Machines can have this annotation, not a MachineHealthCheck: remove it")
		case k == rebootAnnotation && v != "":
			p.Unsupported(annotation(k), v,
				"this check deletes unhealthy Machines, but with this annotation Machine API's check would reboot them: remove the annotation")
		default:
			return false
		}
		return true
	})
}

func checkSelectorTo(p *pass, m *mapiCheck, c *capiCheck) {
	c.Spec.Selector = selector(p, m.Spec.Selector, func(path, k string) string {
		switch {
		case k == clusterLabel:
			return clusterv1.ClusterNameLabel
		case k == clusterv1.ClusterNameLabel || k == clusterv1.MachineControlPlaneLabel || reachesNode(k):
			p.Unsupported(path, k, clusterAPIOwn)
		}
		return k
	})
	sameSelectedCluster(p, clusterLabel, m.Spec.Selector)
	validSelector(p, m.Spec.Selector, "Cluster API refuses an empty selector: give a label that the selected Machines have")
}

func checkSelectorFrom(p *pass, c *capiCheck, m *mapiCheck) {
	m.Spec.Selector = selector(p, c.Spec.Selector, func(path, k string) string {
		switch {
		case k == clusterv1.ClusterNameLabel:
			return clusterLabel
		case k == clusterLabel:
			p.Unsupported(path, k, "this label has this name only in Machine API: use Cluster API's name of the label, "+clusterv1.ClusterNameLabel)
		case k == clusterv1.MachineControlPlaneLabel || reachesNode(k):
			p.Unsupported(path, k, "the Machines of Machine API do not have this label, so the selector would select none of them: use a label that the "+
				"Machines of both APIs have")
		}
		return k
	})
	sameSelectedCluster(p, clusterv1.ClusterNameLabel, c.Spec.Selector)
	validSelector(p, c.Spec.Selector, "in Machine API an empty selector selects every Machine: give a label that only the selected Machines have")
}

// sameSelectedCluster reports an error if a selector has the label for the cluster's name (key) with the name of another cluster, because Cluster API's
// webhook refuses such a selector.
func sameSelectedCluster(p *pass, key string, s metav1.LabelSelector) {
	if v, there := s.MatchLabels[key]; there {
		sameCluster(p, "spec.selector.matchLabels["+key+"]", v)
	}
}

func validSelector(p *pass, s metav1.LabelSelector, empty string) {
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		p.Required("spec.selector", empty)
		return
	}
	if _, err := metav1.LabelSelectorAsSelector(&s); err != nil {
		p.Invalid("spec.selector", nil, err.Error())
	}
}

func conditionsOfNodesTo(p *pass, m *mapiCheck, c *capiCheck) {
	const root = "spec.unhealthyConditions"
	if len(m.Spec.UnhealthyConditions) == 0 {
		p.Required(root, "a MachineHealthCheck needs at least one condition of Nodes: give one, such as Ready")
	}
	if n := len(m.Spec.UnhealthyConditions); n > mostConditions {
		p.Unsupported(root, n, fmt.Sprintf("a MachineHealthCheck of Cluster API can have at most %d conditions: remove some", mostConditions))
	}
	for i, u := range m.Spec.UnhealthyConditions {
		path := fmt.Sprintf("%s[%d]", root, i)
		whole(p, path, u.Type, u.Status)
		c.Spec.Checks.UnhealthyNodeConditions = append(c.Spec.Checks.UnhealthyNodeConditions, clusterv1.UnhealthyNodeCondition{
			Type: u.Type, Status: u.Status, TimeoutSeconds: seconds(p, path+".timeout", u.Timeout.Duration),
		})
	}
}

// whole reports an error for a condition without a type or a status. The Machine API's CRD accepts such a condition, but Cluster API's CRD refuses it.
func whole(p *pass, path string, kind corev1.NodeConditionType, status corev1.ConditionStatus) {
	if kind == "" {
		p.Required(path+".type", "each entry needs the type of a Node's condition: set the type, such as Ready")
	}
	if status == "" {
		p.Required(path+".status", "each entry needs the status of a Node's condition: set the status to True, False or Unknown")
	}
}

func conditionsOfNodesFrom(p *pass, c *capiCheck, m *mapiCheck) {
	const root = "spec.checks.unhealthyNodeConditions"
	if len(c.Spec.Checks.UnhealthyNodeConditions) == 0 {
		p.Required(root, "a MachineHealthCheck of Machine API needs at least one condition of Nodes: give one, such as Ready")
	}
	for i, u := range c.Spec.Checks.UnhealthyNodeConditions {
		path := fmt.Sprintf("%s[%d]", root, i)
		whole(p, path, u.Type, u.Status)
		m.Spec.UnhealthyConditions = append(m.Spec.UnhealthyConditions, machinev1beta1.UnhealthyCondition{
			Type: u.Type, Status: u.Status, Timeout: duration(p, path+".timeoutSeconds", u.TimeoutSeconds),
		})
	}
}

// seconds returns a duration as a number of whole seconds. It reports an error and returns 0 for a duration that is no whole number of seconds, or that does
// not fit into an int32.
func seconds(p *pass, path string, d time.Duration) *int32 {
	s := int32(0)
	switch {
	case d%time.Second != 0:
		p.Unsupported(path, d.String(), "must be whole seconds, because Cluster API accepts no fractions: round the value")
	case d < 0 || d/time.Second > math.MaxInt32:
		p.Unsupported(path, d.String(), "must be 0 to 2147483647 seconds, because Cluster API accepts no other duration")
	default:
		s = int32(d / time.Second)
	}
	return &s
}

func duration(p *pass, path string, seconds *int32) metav1.Duration {
	switch {
	case seconds == nil:
		p.Required(path, "set the number of seconds after which a Machine whose Node has this condition is unhealthy")
		return metav1.Duration{}
	case *seconds < 0:
		p.Invalid(path, *seconds, "must be 0 or more")
	}
	return metav1.Duration{Duration: time.Duration(*seconds) * time.Second}
}

func startupTo(p *pass, m *mapiCheck, c *capiCheck) {
	t := m.Spec.NodeStartupTimeout
	if t == nil {
		return
	}
	if t.Duration > 0 && t.Duration < leastStartup {
		p.Unsupported("spec.nodeStartupTimeout", t.Duration.String(),
			"must be at least 30 seconds, or 0 for no timeout, because Cluster API accepts no shorter timeout")
	}
	c.Spec.Checks.NodeStartupTimeoutSeconds = seconds(p, "spec.nodeStartupTimeout", t.Duration)
}

func startupFrom(p *pass, c *capiCheck, m *mapiCheck) {
	const path = "spec.checks.nodeStartupTimeoutSeconds"
	s := c.Spec.Checks.NodeStartupTimeoutSeconds
	if s == nil {
		return // absent means ten minutes on both sides
	}
	if *s > 0 && *s < int32(leastStartup/time.Second) {
		p.Invalid(path, *s, "must be at least 30 seconds, or 0 for no timeout")
	}
	d := duration(p, path, s)
	m.Spec.NodeStartupTimeout = &d
}

// percentage matches a percentage in the form that the Machine API's CRD accepts.
var percentage = regexp.MustCompile(`^(100|[0-9]{1,2})%$`)

const percentOrNumber = "must be a number of Machines or a percentage of up to 100%"

func maxUnhealthyTo(p *pass, m *mapiCheck, c *capiCheck) {
	v := m.Spec.MaxUnhealthy
	if v == nil {
		return
	}
	to := *v
	if v.Type == intstr.String && !strings.HasSuffix(v.StrVal, "%") {
		n, err := strconv.ParseInt(v.StrVal, 10, 32)
		if err != nil {
			p.Invalid("spec.maxUnhealthy", v.StrVal, percentOrNumber)
			return
		}
		to = intstr.FromInt32(int32(n))
	}
	if limit(p, "spec.maxUnhealthy", to) {
		c.Spec.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo = &to
	}
}

func maxUnhealthyFrom(p *pass, c *capiCheck, m *mapiCheck) {
	v := c.Spec.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo
	if v == nil {
		return // absent means all Machines on both sides
	}
	if limit(p, "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo", *v) {
		to := *v
		m.Spec.MaxUnhealthy = &to
	}
}

// limit returns true if a limit means the same in both APIs: a number that is not negative, or a percentage of up to 100%. Otherwise it reports an error.
func limit(p *pass, path string, v intstr.IntOrString) bool {
	if v.Type == intstr.Int && v.IntVal >= 0 || v.Type == intstr.String && percentage.MatchString(v.StrVal) {
		return true
	}
	p.Unsupported(path, v.String(), percentOrNumber)
	return false
}

func remediationTo(p *pass, m *mapiCheck, c *capiCheck) {
	const root = "spec.remediationTemplate"
	t := m.Spec.RemediationTemplate
	if t == nil || *t == (corev1.ObjectReference{}) {
		return
	}
	if t.Namespace != "" && t.Namespace != p.Env.MachineAPINamespace {
		p.Differs(root+".namespace", t.Namespace, "the namespace of the MachineHealthCheck itself", p.Env.MachineAPINamespace)
	}
	refersWhole(p, root, t.APIVersion, t.Kind, t.Name)
	c.Spec.Remediation.TemplateRef = clusterv1.MachineHealthCheckRemediationTemplateReference{APIVersion: t.APIVersion, Kind: t.Kind, Name: t.Name}
}

func refersWhole(p *pass, root, apiVersion, kind, name string) {
	for _, f := range []struct{ name, value string }{{"apiVersion", apiVersion}, {"kind", kind}, {"name", name}} {
		if f.value == "" {
			p.Required(root+"."+f.name, "set this field: a reference to a remediation template needs apiVersion, kind and name")
		}
	}
}

func remediationFrom(p *pass, c *capiCheck, m *mapiCheck) {
	t := c.Spec.Remediation.TemplateRef
	if !t.IsDefined() {
		return
	}
	refersWhole(p, "spec.remediation.templateRef", t.APIVersion, t.Kind, t.Name)
	m.Spec.RemediationTemplate = &corev1.ObjectReference{APIVersion: t.APIVersion, Kind: t.Kind, Name: t.Name}
}

// writtenCheck is the type for decoding a Machine API MachineHealthCheck as a user writes it. It has spec.authoritativeAPI, which the overlay of the CRD adds
// and the published type lacks. Its durations are text, because the CRD's patterns accept some texts that Go cannot parse as a duration.
type writtenCheck struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		machinev1beta1.MachineHealthCheckSpec `json:",inline"`
		AuthoritativeAPI                      string `json:"authoritativeAPI"`
		UnhealthyConditions                   []struct {
			Type    corev1.NodeConditionType `json:"type"`
			Status  corev1.ConditionStatus   `json:"status"`
			Timeout string                   `json:"timeout"`
		} `json:"unhealthyConditions"`
		NodeStartupTimeout *string `json:"nodeStartupTimeout"`
	} `json:"spec"`
}

func (w *writtenCheck) read(p *pass) mapiCheck {
	m := mapiCheck{Metadata: w.Metadata, Spec: w.Spec.MachineHealthCheckSpec}
	for i, u := range w.Spec.UnhealthyConditions {
		m.Spec.UnhealthyConditions = append(m.Spec.UnhealthyConditions, machinev1beta1.UnhealthyCondition{
			Type: u.Type, Status: u.Status, Timeout: parsed(p, fmt.Sprintf("spec.unhealthyConditions[%d].timeout", i), u.Timeout),
		})
	}
	if t := w.Spec.NodeStartupTimeout; t != nil {
		d := parsed(p, "spec.nodeStartupTimeout", *t)
		m.Spec.NodeStartupTimeout = &d
	}
	return m
}

func parsed(p *pass, path, text string) metav1.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		p.Invalid(path, text, "must be a duration such as 5m or 1h30m")
	}
	return metav1.Duration{Duration: d}
}

func checkToClusterAPI(p *pass, raw []byte) twin {
	var w writtenCheck
	var c capiCheck
	if decode(p, raw, &w, nothing) {
		m := w.read(p)
		MachineHealthChecks.ToClusterAPI(p, &m, &c)
	}
	return twin{core: object{metadata: c.Metadata, spec: &c.Spec}}
}

func checkToMachineAPI(p *pass, raw, _ []byte) object {
	var m mapiCheck
	var c capiCheck
	if decode(p, raw, &c, nothing) {
		MachineHealthChecks.ToMachineAPI(p, &c, &m)
	}
	return object{metadata: m.Metadata, spec: &m.Spec}
}
