// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/simulation"
)

// The programs of the machine-api-operator that run, and the names of their logs.
const (
	MachineSets  = "machineset"
	HealthChecks = "machine-healthcheck"
)

// realMachineAPI has OpenShift's own controllers, once they run.
type realMachineAPI struct {
	binaries   map[string]string
	kubeconfig string
	webhooks   int
	health     map[string]int
}

// prepareReal builds the programs, and creates what a cluster has for them: an identity, a DNS, a certificate.
func (s *Stage) prepareReal(ctx context.Context) error {
	r := realMachineAPI{binaries: map[string]string{}, health: map[string]int{}, kubeconfig: filepath.Join(s.Plane.Dir(), "machine-api.kubeconfig")}
	ports, err := embedded.FreePorts(3)
	if err != nil {
		return err
	}
	r.webhooks = ports[2]
	for i, name := range []string{MachineSets, HealthChecks} {
		if r.binaries[name], err = build.MachineAPI(ctx, name, s.options.Out); err != nil {
			return err
		}
		r.health[name] = ports[i]
	}
	// Their roles come with a release, which is not installed here. What they may not do is for webhooks and policies to refuse.
	identity, err := s.Plane.As(simulation.MachineAPIControllers, "system:masters")
	if err != nil {
		return err
	}
	dns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "DNS", "metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"baseDomain": "example.com"},
	}}
	err = errors.Join(s.Plane.Kubeconfig(identity, r.kubeconfig), s.Plane.Serving(s.realCertificates()), ignoreExists(s.Admin.Create(ctx, dns)))
	s.real = r
	return err
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (s *Stage) realCertificates() string {
	return filepath.Join(s.Plane.Dir(), "machine-api-webhooks")
}

func (s *Stage) startReal(side simulation.Side) error {
	if !s.options.RealMachineAPI || side != simulation.MachineAPI {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	first := s.real.binaries == nil
	if first {
		if err := s.prepareReal(ctx); err != nil {
			return fmt.Errorf("preparing OpenShift's own controllers: %w", err)
		}
	}
	common := func(name string) []string {
		return []string{"--kubeconfig=" + s.real.kubeconfig, "--namespace=" + machineAPI, "--metrics-bind-address=127.0.0.1:0",
			"--health-addr=" + local(s.real.health[name])}
	}
	sets := append(common(MachineSets), fmt.Sprintf("--webhook-port=%d", s.real.webhooks), "--webhook-cert-dir="+s.realCertificates(),
		fmt.Sprintf("--feature-gates=MachineAPIMigration=%t", !s.ungated))
	err := errors.Join(s.Plane.Attach(MachineSets, s.real.binaries[MachineSets], sets...),
		s.Plane.Attach(HealthChecks, s.real.binaries[HealthChecks], common(HealthChecks)...))
	for _, name := range []string{MachineSets, HealthChecks} {
		err = errors.Join(err, s.answers(ctx, name))
	}
	if err != nil || !first {
		return err
	}
	return s.configureReal(ctx)
}

func (s *Stage) answers(ctx context.Context, name string) error {
	url := "http://" + local(s.real.health[name]) + "/readyz"
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		answer, err := http.Get(url)
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w; the end of its log, %s:\n%s", name, err, s.Plane.Log(name), end(s.Plane.Log(name)))
	}
	return nil
}

func (s *Stage) stopReal(side simulation.Side) error {
	if s.real.binaries == nil || side != simulation.MachineAPI {
		return nil
	}
	return errors.Join(s.Plane.StopPart(MachineSets), s.Plane.StopPart(HealthChecks))
}

// configureReal makes the API server call the operator's webhooks. The configurations have the operator's names, so that the API server calls these webhooks
// and Poundlock's in the order of a real cluster.
func (s *Stage) configureReal(ctx context.Context) error {
	ca := s.Plane.Admin().CAData
	hook := func(verb, kind, plural string) (string, admissionregistrationv1.WebhookClientConfig, []admissionregistrationv1.RuleWithOperations) {
		url := fmt.Sprintf("https://%s/%s-machine-openshift-io-v1beta1-%s", local(s.real.webhooks), verb, kind)
		ops := []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
		if verb == "validate" {
			ops = append(ops, admissionregistrationv1.Update)
		}
		return fmt.Sprintf("%s.%s.machine.openshift.io", map[string]string{"mutate": "default", "validate": "validation"}[verb], kind),
			admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			[]admissionregistrationv1.RuleWithOperations{{Operations: ops, Rule: admissionregistrationv1.Rule{APIGroups: []string{"machine.openshift.io"},
				APIVersions: []string{"v1beta1"}, Resources: []string{plural}}}}
	}
	none, ignore := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "machine-api"}}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "machine-api"}}
	for kind, plural := range map[string]string{"machine": "machines", "machineset": "machinesets"} {
		name, config, rules := hook("mutate", kind, plural)
		mutating.Webhooks = append(mutating.Webhooks, admissionregistrationv1.MutatingWebhook{Name: name, ClientConfig: config, Rules: rules, SideEffects: &none,
			FailurePolicy: &ignore, AdmissionReviewVersions: []string{"v1"}})
		name, config, rules = hook("validate", kind, plural)
		validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{Name: name, ClientConfig: config, Rules: rules,
			SideEffects: &none, FailurePolicy: &ignore, AdmissionReviewVersions: []string{"v1"}})
	}
	admin, err := client.New(s.admin(), client.Options{}) // for Kubernetes' own kinds
	if err != nil {
		return err
	}
	for _, o := range []client.Object{mutating, validating} {
		if err := ignoreExists(admin.Create(ctx, o)); err != nil {
			return err
		}
	}
	return nil
}
