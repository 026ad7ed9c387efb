// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

type versionOptions struct {
	cli.OutputFlags
	client bool
}

func versionCommand(p *plugin) *cobra.Command {
	o := &versionOptions{}
	cmd := &cobra.Command{
		Use: "version", Short: "Print the plugin's version, and the cluster's Poundlock: its image, flags and feature gate", Args: cobra.NoArgs,
		Example: `  kubectl poundlock version
  kubectl poundlock version --client`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.printVersion(cmd.Context(), *o) },
	}
	cmd.Flags().BoolVar(&o.client, "client", false, "ask no cluster")
	o.AddFlags(cmd, "text", "json", "yaml")
	return cmd
}

// versions is what version prints.
type versions struct {
	Client string  `json:"client"`
	Server *server `json:"server,omitempty"`
}

// server is Poundlock in a cluster, as its Deployment and the FeatureGate describe it.
type server struct {
	Namespace string   `json:"namespace"`
	Installed bool     `json:"installed"`
	Image     string   `json:"image,omitempty"`
	Replicas  int32    `json:"replicas"`
	Ready     int32    `json:"ready"`
	Flags     []string `json:"flags,omitempty"`
	// Gate is on or off; "" where it is not known.
	Gate string `json:"featureGate,omitempty"`
}

func (p *plugin) printVersion(ctx context.Context, o versionOptions) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	v := versions{Client: p.version()}
	var failed error
	if !o.client {
		v.Server, failed = p.server(ctx)
	}
	if done, err := p.Document(o.OutputFlags, "Version", v); done {
		if err == nil {
			err = failed
		}
		return err
	}
	fmt.Fprintln(p.Out, "client:  kubectl-poundlock", v.Client)
	if s := v.Server; s != nil {
		s.write(p)
	}
	return failed
}

func (s server) write(p *plugin) {
	if !s.Installed {
		fmt.Fprintf(p.Out, "server:  no Deployment poundlock in %s\n", s.Namespace)
	} else {
		fmt.Fprintf(p.Out, "server:  %s, %d of %d replicas are ready\n", s.Image, s.Ready, s.Replicas)
		fmt.Fprintf(p.Out, "flags:   %s\n", printers.Dash(strings.Join(s.Flags, " ")))
	}
	gate := s.Gate
	if gate == "" {
		gate = "not known"
	}
	fmt.Fprintf(p.Out, "gate:    %s is %s\n", featureGate, gate)
}

// server reads the Deployment and the FeatureGate. What does not exist or may not be read is left out.
func (p *plugin) server(ctx context.Context) (*server, error) {
	pairs, err := p.Pairs()
	if err != nil {
		return nil, err
	}
	client, err := p.Client(nil)
	if err != nil {
		return nil, err
	}
	namespace := pairs[0].ClusterAPI
	var d *appsv1.Deployment
	if d, err = read[appsv1.Deployment](ctx, client.Resource(deployments).Namespace(namespace), leaseName); err != nil {
		return nil, fmt.Errorf("reading Deployment %s/%s: %w", namespace, leaseName, err)
	}
	gates, err := read[configv1.FeatureGate](ctx, client.Resource(featureGates), "cluster")
	if err != nil {
		return nil, fmt.Errorf("reading FeatureGate cluster: %w", err)
	}
	return new(serverOf(namespace, d, gates)), nil
}

var featureGates = schema.GroupVersionResource{Group: configv1.GroupName, Version: "v1", Resource: "featuregates"}

// featureGate is what OpenShift's Machine API controllers obey authority by.
const featureGate = "MachineAPIMigration"

// read is nil where the object does not exist, or may not be read.
func read[T any](ctx context.Context, client dynamic.ResourceInterface, name string) (*T, error) {
	u, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
}

// serverOf describes Poundlock by its Deployment and the FeatureGate. Either may be nil.
func serverOf(namespace string, d *appsv1.Deployment, gates *configv1.FeatureGate) server {
	s := server{Namespace: namespace, Installed: d != nil}
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

// gateIn is on where every release that the object describes has it on, as Poundlock reads it.
func gateIn(gates *configv1.FeatureGate) string {
	on := len(gates.Status.FeatureGates) > 0
	for _, details := range gates.Status.FeatureGates {
		on = on && slices.ContainsFunc(details.Enabled, func(f configv1.FeatureGateAttributes) bool { return f.Name == featureGate })
	}
	return map[bool]string{true: "on", false: "off"}[on]
}

// gateOff returns that the feature gate is off, and what follows; "" where it is on, or where that is unknown.
func (s server) gateOff() string {
	if s.Gate != "off" {
		return ""
	}
	where := "Turn it on in spec of FeatureGate cluster"
	if slices.Contains(s.Flags, "--feature-gate=off") {
		where = "Remove --feature-gate=off from Deployment " + s.Namespace + "/" + leaseName
	}
	return "The feature gate " + featureGate + " is off: Poundlock mirrors and migrates nothing. " + where + "."
}

func (p *plugin) version() string {
	if info, ok := debug.ReadBuildInfo(); ok && p.Version == "" {
		return info.Main.Version
	}
	return p.Version
}
