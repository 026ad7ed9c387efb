// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/machine/health"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// healthChecks is the controller of MachineHealthChecks. It reads the checks untyped, for two reasons: the published Go type has no fields of authority, and a
// typed cache would fail for all checks if one check has a duration that cannot be parsed.
type healthChecks struct {
	client.Client
	// checks reads MachineHealthChecks from the cache; live reads anything from the API server.
	checks, live client.Reader
	clock        clock.PassiveClock
	on           bool
	recorder     events.EventRecorder
	meters       healthMeters
	kinds        requestKinds
}

// AddHealthChecks adds the controller of MachineHealthChecks to a manager. It ignores Options.Actuator and Options.Node.
func AddHealthChecks(m manager.Manager, o Options) error {
	o, err := o.filled()
	if err != nil {
		return err
	}
	meters, err := newHealthMeters()
	if err != nil {
		return fmt.Errorf("registering the metrics of MachineHealthChecks: %w", err)
	}
	r := &healthChecks{
		Client: m.GetClient(), checks: m.GetCache(), live: m.GetAPIReader(), clock: o.Clock, on: o.Gated,
		recorder: m.GetEventRecorder("machinehealthcheck-controller"), meters: meters,
	}
	return r.watch(m, o)
}

func (r *healthChecks) gated() *gated[*unstructured.Unstructured] {
	return &gated[*unstructured.Unstructured]{client: r, clock: r.clock, on: r.on, read: r.read, work: r.work, finish: r.finish}
}

var healthCheckKind = machinev1beta1.GroupVersion.WithKind("MachineHealthCheck")

func (r *healthChecks) read(ctx context.Context, key types.NamespacedName) (subject[*unstructured.Unstructured], error) {
	s, err := readCheck(ctx, r.checks, key)
	if apierrors.IsNotFound(err) {
		r.meters.forget(key)
		if failure := r.withdrawAll(ctx, key, nil, nil, "the check is deleted"); failure != nil {
			return s, failure
		}
	}
	return s, err
}

// finish deletes the check's remediation requests before a pause is acknowledged, because Cluster API's check makes its own requests.
func (r *healthChecks) finish(ctx context.Context, o *unstructured.Unstructured) (reconcile.Result, error) {
	return reconcile.Result{}, r.withdrawAll(ctx, client.ObjectKeyFromObject(o), o, kindsOf(o), "the check is moving to Cluster API, or has moved")
}

func readCheck(ctx context.Context, from client.Reader, key types.NamespacedName) (subject[*unstructured.Unstructured], error) {
	var s subject[*unstructured.Unstructured]
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(healthCheckKind)
	if err := from.Get(ctx, key, o); err != nil {
		return s, err
	}
	raw, err := o.MarshalJSON()
	if err != nil {
		return s, err
	}
	parsed, err := policies.ParseObject(raw)
	if err != nil {
		return s, err
	}
	s.object, s.shape = o, authority.Read(parsed)
	s.conditions, err = conditionsOfCheck(o)
	return s, err
}

// conditionsOfCheck reads a check's conditions separately from its spec. So no condition of another writer is lost if the spec cannot be read.
func conditionsOfCheck(o *unstructured.Unstructured) ([]machinev1beta1.Condition, error) {
	var status struct {
		Conditions []machinev1beta1.Condition `json:"conditions"`
	}
	content, _, _ := unstructured.NestedMap(o.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status); err != nil {
		return nil, fmt.Errorf("reading status.conditions: %w", err)
	}
	return status.Conditions, nil
}

// check is a MachineHealthCheck during one pass.
type check struct {
	stored     *unstructured.Unstructured
	spec       machinev1beta1.MachineHealthCheckSpec
	conditions []machinev1beta1.Condition
	selector   labels.Selector
}

// work judges the Machines and remediates the unhealthy ones. It does not remediate while the check has the paused annotation, which people set before they
// upgrade a cluster.
func (r *healthChecks) work(ctx context.Context, o *unstructured.Unstructured) (reconcile.Result, error) {
	if o.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, r.withdrawAll(ctx, client.ObjectKeyFromObject(o), o, kindsOf(o), "the check is being deleted")
	}
	conditions, err := conditionsOfCheck(o)
	if err != nil {
		return reconcile.Result{}, err
	}
	c := &check{stored: o, conditions: conditions}
	_, paused := o.GetAnnotations()[authority.PausedAnnotation]
	switch err := c.parse(); {
	case paused:
		return reconcile.Result{}, r.whilePaused(ctx, c, err == nil)
	case err != nil:
		return reconcile.Result{}, r.refuse(ctx, c, err)
	}
	if err := r.withdrawFormer(ctx, c); err != nil {
		return reconcile.Result{}, err
	}
	j, err := r.judge(ctx, r, c)
	if invalid(err) {
		return reconcile.Result{}, r.refuse(ctx, c, err)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	done, failure := r.remediate(ctx, c, j)
	if err := r.report(ctx, c, j, done.conditions); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: sooner(done.again, j.Next)}, failure
}

// judge lists the Machines that the check selects, and judges them now. An empty selector selects all Machines of the namespace.
func (r *healthChecks) judge(ctx context.Context, machines client.Reader, c *check) (health.Judgement, error) {
	l := &machinev1beta1.MachineList{}
	err := machines.List(ctx, l, client.InNamespace(c.stored.GetNamespace()), client.MatchingLabelsSelector{Selector: c.selector}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return health.Judgement{}, fmt.Errorf("listing the Machines of the check: %w", err)
	}
	var targets []health.Target
	nodes := &nodeLook{healthChecks: r, from: r}
	for i := range l.Items {
		t, err := nodes.target(ctx, &l.Items[i])
		if err != nil {
			return health.Judgement{}, err
		}
		targets = append(targets, t)
	}
	j, err := health.Judge(&c.spec, targets, r.clock.Now(), nil)
	if err != nil {
		return j, &invalidCheck{err}
	}
	return j, nil
}

// nodeLook finds the Nodes of Machines. It reads a Node by its name with the reader "from".
type nodeLook struct {
	*healthChecks
	from client.Reader
	// instances are all Nodes of the cache by the key of their instance. They are listed once, as soon as a Node is not found by its name.
	instances map[string]*corev1.Node
}

// target returns the Machine together with its Node. Both may be shared with the cache: do not change them.
func (l *nodeLook) target(ctx context.Context, m *machinev1beta1.Machine) (health.Target, error) {
	t := health.Target{Machine: m}
	if m.Status.NodeRef == nil {
		return t, nil
	}
	n := &corev1.Node{}
	switch err := l.from.Get(ctx, types.NamespacedName{Name: m.Status.NodeRef.Name}, n, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		t.Node, err = l.renamed(ctx, m)
		return t, err
	case err != nil:
		return t, fmt.Errorf("reading the Node of Machine %s: %w", m.Name, err)
	}
	t.Node = n
	return t, nil
}

// renamed returns the Node of a Machine's instance if the instance has registered again under another name than status.nodeRef has; nil if there is none. The
// Machine controller updates the reference a moment later.
func (l *nodeLook) renamed(ctx context.Context, m *machinev1beta1.Machine) (*corev1.Node, error) {
	instance := instanceKeyOf(m)
	if instance == "" {
		return nil, nil
	}
	if l.instances == nil {
		all := &corev1.NodeList{}
		if err := l.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("looking up the Node of Machine %s by provider ID and address: %w", m.Name, err)
		}
		l.instances = map[string]*corev1.Node{}
		for i := range all.Items {
			l.instances[instanceid.Key(all.Items[i].Spec.ProviderID)] = &all.Items[i]
		}
	}
	return l.instances[instance], nil
}

// remediated is the result of one attempt to remediate: when to requeue, and the conditions to report.
type remediated struct {
	again      time.Duration
	conditions []machinev1beta1.Condition
}

// invalidCheck is an error about the check's spec. No retry helps.
type invalidCheck struct{ error }

// parse reads the spec into c.spec and c.selector. The error is a sentence about the field that is wrong.
func (c *check) parse() error {
	content, _, _ := unstructured.NestedMap(c.stored.Object, "spec")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &c.spec); err != nil {
		return fmt.Errorf("spec cannot be read: %w", err)
	}
	var err error
	if c.selector, err = metav1.LabelSelectorAsSelector(&c.spec.Selector); err != nil {
		return fmt.Errorf("spec.selector cannot be read: %w", err)
	}
	return errors.Join(validStrategy(c.stored), validTemplate(c.stored.GetNamespace(), c.spec.RemediationTemplate))
}

func validStrategy(o *unstructured.Unstructured) error {
	if s, ok := o.GetAnnotations()[strategyAnnotation]; ok && s != strategyBareMetal {
		return fmt.Errorf("the check's annotation %s is %q, which is not a valid value: set it to %s, or remove the annotation so that unhealthy "+
			"Machines are deleted", strategyAnnotation, s, strategyBareMetal)
	}
	return nil
}
