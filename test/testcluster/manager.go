// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
)

// The programs of this checkout that a stage builds.
const ourManager, ourSimulation = "./cmd/poundlock", "./test/simulation/cmd/simulation"

// Poundlock is the name of Poundlock's process and of its log.
const Poundlock = "poundlock"

type managerPorts struct{ webhooks, health, metrics int }

// binary returns the path of the manager: in the stage's own folder, so that no other build changes it.
func (s *Stage) binary() string { return filepath.Join(s.Plane.Dir(), "bin", Poundlock) }

func (s *Stage) buildManager(ctx context.Context) error {
	return build.Own(ctx, ourManager, s.binary(), RaceDetector)
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// MetricsURL returns the address of the manager's metrics.
func (s *Stage) MetricsURL() string { return "http://" + local(s.manager.metrics) + "/metrics" }

// StopManager kills the manager, as a crash would.
func (s *Stage) StopManager() error { return s.Plane.StopPart(Poundlock) }

// StartManager starts the manager again after StopManager, and returns when it answers. The flags only apply to this start.
func (s *Stage) StartManager(ctx context.Context, flags ...string) error {
	if err := s.Plane.AttachWith([]string{embedded.Collecting}, Poundlock, s.binary(), append(s.managerArgs(), flags...)...); err != nil {
		return err
	}
	if err := s.waitForManager(ctx); err != nil {
		return fmt.Errorf("starting Poundlock: %w; the end of its log, %s:\n%s", err, s.Plane.Log(Poundlock), end(s.Plane.Log(Poundlock)))
	}
	return nil
}

// LaunchManager starts the manager again after StopManager, and does not wait until it answers.
func (s *Stage) LaunchManager() error {
	return s.Plane.AttachWith([]string{embedded.Collecting}, Poundlock, s.binary(), s.managerArgs()...)
}

func (s *Stage) managerArgs() []string {
	args := []string{
		"manager",
		"--kubeconfig=" + s.identityFile(),
		"--webhook-bind-address=" + local(s.manager.webhooks),
		"--health-bind-address=" + local(s.manager.health),
		"--metrics-bind-address=" + local(s.manager.metrics),
		"--cert-hosts=127.0.0.1",
		"--shutdown-delay=0s",
	}
	if s.managesControlPlane {
		args = append(args, "--control-plane")
	}
	return args
}

func (s *Stage) identityFile() string { return filepath.Join(s.Plane.Dir(), "poundlock.kubeconfig") }

func (s *Stage) waitForManager(ctx context.Context) error {
	last := fmt.Errorf("no answer yet")
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 90*time.Second, true, func(ctx context.Context) (bool, error) {
		now := s.managerReady(ctx)
		if now == nil {
			now = s.serverReachesManager(ctx)
		}
		if now == nil {
			now = s.enforced(ctx)
		}
		if ctx.Err() == nil { // else the error says only that time is up
			last = now
		}
		return now == nil, nil
	})
	if err != nil {
		return fmt.Errorf("it is not ready after 90 s: %w", last)
	}
	return nil
}

func (s *Stage) managerReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+local(s.manager.health)+"/readyz?verbose", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		value, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return fmt.Errorf("/readyz answers %s:\n%s", answer.Status, value)
	}
	return nil
}

// serverReachesManager returns an error if the API server does not reach the manager. It tries to create an object for Cluster API as a dry run. The API server
// cannot call the webhooks until it has the CA of the manager's certificate. Until then it refuses the creation, because these webhooks fail closed.
func (s *Stage) serverReachesManager(ctx context.Context) error {
	fleet, err := fleet(s.kit)
	if err != nil {
		return err
	}
	probe := fleet[0]
	probe.SetName("probe")
	if err := unstructured.SetNestedField(probe.Object, "ClusterAPI", "spec", "authoritativeAPI"); err != nil {
		return err
	}
	err = s.Admin.Create(ctx, probe, dryRun)
	if err != nil && strings.Contains(err.Error(), "failed calling webhook") {
		return err
	}
	return nil
}

// enforced returns an error unless all mirrored namespaces have the label by which Poundlock makes the webhooks fail closed there.
func (s *Stage) enforced(ctx context.Context) error {
	for _, name := range []string{machineAPI, clusterAPI} {
		ns := &corev1.Namespace{}
		if err := s.Admin.Get(ctx, client.ObjectKey{Name: name}, ns); err != nil {
			return err
		}
		if ns.Labels[authority.AdmissionLabel] != authority.Enforced {
			return fmt.Errorf("its locks do not fail closed yet in %s", name)
		}
	}
	return nil
}

func end(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "  " + err.Error()
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(raw)), "\n"), func(line string) bool {
		return strings.Contains(line, "healthz check failed") // printed for each request, without the answer
	})
	lines = lines[max(0, len(lines)-8):]
	for i, line := range lines {
		lines[i] = "  " + line[:min(len(line), 400)]
	}
	return strings.Join(lines, "\n")
}
