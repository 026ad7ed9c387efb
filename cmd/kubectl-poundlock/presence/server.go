// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
)

// Server describes Poundlock in a cluster, by its Deployment and the FeatureGate.
type Server struct {
	Namespace string   `json:"namespace"`
	Installed bool     `json:"installed"`
	Image     string   `json:"image,omitempty"`
	Replicas  int32    `json:"replicas"`
	Ready     int32    `json:"ready"`
	Flags     []string `json:"flags,omitempty"`
	// Gate is on or off; "" if it is unknown.
	Gate string `json:"featureGate,omitempty"`
	// Unread are the objects that the user may not read, so that their content is not known.
	Unread []Unread `json:"unread,omitempty"`
}

// Unread is the kind of an object that the user may not read, and the refusal with the role that has the right.
type Unread struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// The kinds that ReadServer reads.
const (
	KindDeployment  = "Deployment"
	KindFeatureGate = "FeatureGate"
)

// Refusal returns why the user may not read the object of a kind; "" if it was read, or does not exist.
func (s Server) Refusal(kind string) string {
	for _, u := range s.Unread {
		if u.Kind == kind {
			return u.Reason
		}
	}
	return ""
}

// ReadServer reads the Deployment and the FeatureGate. It leaves out what does not exist, and lists what the user may not read.
func ReadServer(ctx context.Context, p *cli.Plugin) (*Server, error) {
	pairs, err := p.Pairs()
	if err != nil {
		return nil, err
	}
	client, err := p.Client(nil)
	if err != nil {
		return nil, err
	}
	namespace := pairs[0].ClusterAPI
	var unread []Unread
	refused := func(kind string, err error) bool {
		if apierrors.IsForbidden(err) {
			unread = append(unread, Unread{kind, inventory.Allowed(err).Error()})
		}
		return apierrors.IsForbidden(err)
	}
	d, err := read[appsv1.Deployment](ctx, client.Resource(Deployments).Namespace(namespace), Name)
	if err != nil && !refused(KindDeployment, err) {
		return nil, fmt.Errorf("reading Deployment %s/%s: %w", namespace, Name, err)
	}
	gates, err := read[configv1.FeatureGate](ctx, client.Resource(featureGates), "cluster")
	if err != nil && !refused(KindFeatureGate, err) {
		return nil, fmt.Errorf("reading FeatureGate cluster: %w", err)
	}
	s := serverOf(namespace, d, gates)
	s.Unread = unread
	return &s, nil
}

var featureGates = schema.GroupVersionResource{Group: configv1.GroupName, Version: "v1", Resource: "featuregates"}

// FeatureGate is the gate by which OpenShift's Machine API controllers obey authority.
const FeatureGate = "MachineAPIMigration"

// read returns an object; nil if it does not exist.
func read[T any](ctx context.Context, client dynamic.ResourceInterface, name string) (*T, error) {
	u, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
}

// serverOf describes Poundlock by its Deployment and the FeatureGate. Either may be nil.
func serverOf(namespace string, d *appsv1.Deployment, gates *configv1.FeatureGate) Server {
	s := Server{Namespace: namespace, Installed: d != nil}
	if d != nil {
		s.Ready = d.Status.ReadyReplicas
		if s.Replicas = 1; d.Spec.Replicas != nil {
			s.Replicas = *d.Spec.Replicas
		}
		if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
			s.Image, s.Flags = containers[0].Image, slices.DeleteFunc(slices.Clone(containers[0].Args), func(a string) bool { return !strings.HasPrefix(a, "-") })
		}
	}
	for _, flag := range s.Flags {
		if value, is := strings.CutPrefix(flag, "--feature-gate="); is && value != "cluster" {
			s.Gate = value
			return s
		}
	}
	if gates != nil {
		s.Gate = gateIn(gates)
	}
	return s
}

// gateIn returns "on" if the gate is on in every release that the object lists, and "off" otherwise. Poundlock decides in the same way if no release is named.
func gateIn(gates *configv1.FeatureGate) string {
	on := len(gates.Status.FeatureGates) > 0
	for _, details := range gates.Status.FeatureGates {
		on = on && slices.ContainsFunc(details.Enabled, func(f configv1.FeatureGateAttributes) bool { return f.Name == FeatureGate })
	}
	return map[bool]string{true: "on", false: "off"}[on]
}

// GateOff returns the sentence that the feature gate is off, with the consequence; "" if the gate is on or unknown.
func (s Server) GateOff() string {
	if s.Gate != "off" {
		return ""
	}
	where := "Turn it on in spec of FeatureGate cluster"
	if slices.Contains(s.Flags, "--feature-gate=off") {
		where = "Remove --feature-gate=off from Deployment " + s.Namespace + "/" + Name
	}
	return "The feature gate " + FeatureGate + " is off: Poundlock mirrors and migrates nothing. " + where + "."
}

// GateUnknown returns the sentence about what the user may not read of the feature gate, with the consequence; "" if the gate is known.
func (s Server) GateUnknown() string {
	deployment, gates := s.Refusal(KindDeployment) != "", s.Refusal(KindFeatureGate) != ""
	here := KindDeployment + " " + s.Namespace + "/" + Name
	const there = KindFeatureGate + " cluster"
	switch {
	case deployment && gates:
		return fmt.Sprintf(unknown, here+" and "+there, "is on") + "; bind the role cluster-wide."
	case deployment: // a flag in the Deployment would override the FeatureGate, which was read
		return fmt.Sprintf(unknown, here, "is overridden by a flag of the Deployment") + "; bind the role in the namespaces of both APIs."
	case gates && s.Gate == "":
		return fmt.Sprintf(unknown, there, "is on") + "; bind the role cluster-wide."
	}
	return ""
}

const unknown = "You may not read %s, so it is unknown whether the feature gate " + FeatureGate + " %s. " +
	"While the gate is off, Poundlock mirrors and migrates nothing. " + inventory.ViewerRole
