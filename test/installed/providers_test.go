// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/testcluster"
)

const (
	// drainRule is what only Cluster API's own server can convert.
	drainRule = `echo '{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"MachineDrainRule","metadata":{"name":"NAME"},"spec":{"drain":{"behavior":"Skip"}}}' |
		kubectl -n openshift-cluster-api apply -f -
		kubectl -n openshift-cluster-api get machinedrainrules.v1beta1.cluster.x-k8s.io NAME`
	manager   = "kubectl -n openshift-cluster-api get pods -l cluster.x-k8s.io/provider=cluster-api -o jsonpath={.items[0].metadata.name}"
	installer = "kubectl -n openshift-cluster-api get pods -l app.kubernetes.io/name=poundlock-install -o jsonpath={.items[0].metadata.name}"
	installed = "kubectl wait --for=condition=Available --timeout=2m clusteroperators.config.openshift.io/cluster-api"
)

// TestAStageByItsInstaller is what `make run INSTALL=1` shows: the installer and the real core manager run as their Deployments say, and what
// somebody breaks comes back.
func TestAStageByItsInstaller(t *testing.T) {
	stories.Long(t)
	p := installedPlace(t)
	t.Run("the API server converts through the Service of the manager", func(t *testing.T) {
		p.types(t, strings.ReplaceAll(drainRule, "NAME", "first"))
	})
	t.Run("the plugin has passed all stages", func(t *testing.T) {
		text := p.types(t, "kubectl poundlock providers")
		for _, provider := range []string{"cluster-api", "infrastructure-aws"} {
			if !strings.Contains(text, provider) || strings.Count(text, "all passed") != 2 {
				t.Errorf("%s is not installed", provider)
			}
		}
	})
	t.Run("the installer takes less than 200 MB", func(t *testing.T) {
		pid := p.stage.Plane.PID(p.types(t, installer))
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if testcluster.RaceDetector || os.IsNotExist(err) {
			t.Skip("needs Linux, and no race detector, which has memory of its own")
		}
		const most = 200_000_000 / 1024 // kB
		var kilobytes int
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		if _, scanned := fmt.Sscan(rest, &kilobytes); err != nil || scanned != nil || kilobytes > most {
			t.Errorf("%d kB, want %d at most: %v %v", kilobytes, most, err, scanned)
		}
		t.Logf("%d kB", kilobytes)
	})
	t.Run("a manager that is killed is started again", func(t *testing.T) {
		name := p.types(t, manager)
		if err := syscall.Kill(p.stage.Plane.PID(name), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		p.types(t, "kubectl -n openshift-cluster-api wait --for=jsonpath='{.status.containerStatuses[0].restartCount}'=1 --timeout=1m pod/"+name)
		p.types(t, "kubectl -n openshift-cluster-api wait --for=condition=Ready --timeout=1m pod/"+name)
		p.types(t, "until "+strings.ReplaceAll(drainRule, "NAME", "second")+"; do sleep 1; done")
	})
	t.Run("a container that somebody adds is removed", func(t *testing.T) {
		p.types(t, `kubectl -n openshift-cluster-api patch deployments.apps capi-controller-manager -p '{"spec":{"template":{"spec":{"containers":[{"name":"spy","image":"spy"}]}}}}'`)
		p.types(t, `until [ "$(kubectl -n openshift-cluster-api get deployments.apps capi-controller-manager -o jsonpath='{.spec.template.spec.containers[*].name}')" = manager ]; do sleep 1; done`)
	})
	t.Run("a Deployment that is deleted comes back, with an installer that starts anew", func(t *testing.T) {
		p.types(t, "kubectl -n openshift-cluster-api delete pod -l app.kubernetes.io/name=poundlock-install --wait=false")
		p.types(t, "kubectl -n openshift-cluster-api delete deployments.apps capi-controller-manager")
		p.types(t, "kubectl -n openshift-cluster-api wait --for=create --timeout=1m deployments.apps/capi-controller-manager")
		p.types(t, "kubectl -n openshift-cluster-api rollout status --timeout=2m deployments.apps/capi-controller-manager")
		p.types(t, "until "+strings.ReplaceAll(drainRule, "NAME", "third")+"; do sleep 1; done")
	})
	t.Run("a release's ConfigMap that is deleted is missed, and nothing goes with it", func(t *testing.T) {
		p.types(t, "kubectl -n openshift-cluster-api delete configmaps cluster-api")
		p.types(t, "kubectl wait --for=condition=Degraded --timeout=1m clusteroperators.config.openshift.io/cluster-api")
		p.types(t, strings.ReplaceAll(drainRule, "NAME", "fourth"))
		p.types(t, "kubectl apply -f "+filepath.Join(p.stage.Plane.Dir(), "bundles"))
		p.types(t, "kubectl wait --for=condition=Degraded=False --timeout=1m clusteroperators.config.openshift.io/cluster-api")
		p.types(t, installed)
	})
}

// installedPlace is a cluster to which `poundlock install` has brought Cluster API.
func installedPlace(t *testing.T) *place {
	t.Helper()
	embedded.LeaveOut(t)
	p := &place{dir: t.TempDir()}
	err := build.Own(t.Context(), "./cmd/kubectl-poundlock", filepath.Join(p.dir, "bin", "kubectl-poundlock"), false)
	if err != nil {
		t.Fatal(err)
	}
	if p.stage, err = testcluster.Set(t.Context(), testcluster.Options{Install: true, Out: os.Stderr}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	return p
}
