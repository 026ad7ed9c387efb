// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// TestInAManager: with a cache that lags, and woken by nothing but what it watches.
func TestInAManager(t *testing.T) {
	w := newWorld(t, 3)
	mgr, err := ctrl.NewManager(plane.Admin(), ctrl.Options{
		Scheme: testScheme(t), Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}}, Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	w.must(err)
	w.must(SetupWithManager(mgr, Options{Pairs: authority.Pairs{w.pair}, Version: "4.22.0"}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	w.until("there is no set", func() bool {
		return strings.HasPrefix(w.operatorCondition(controlplane.Available), "True NoControlPlaneMachineSet")
	})
	w.found(larger)
	w.until("the rollout ends", func() bool {
		s := w.set()
		return s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == 3 && s.Status.Replicas == 3
	})
	w.until("the ClusterOperator says so", func() bool {
		return strings.HasPrefix(w.operatorCondition(controlplane.Upgradeable), "True AsExpected")
	})
	w.wantDone("m6i.2xlarge", 3)

	o := object(operatorKind)
	o.SetName(controlplane.OperatorName)
	w.must(w.Delete(t.Context(), o))
	w.until("the ClusterOperator is there again", func() bool { return w.operatorCondition(controlplane.Available) != "" })

	w.must(w.Delete(t.Context(), w.set()))
	w.until("the set is gone", func() bool {
		err := w.Get(t.Context(), client.ObjectKey{Namespace: w.pair.MachineAPI, Name: controlplane.Name}, &machinev1.ControlPlaneMachineSet{})
		return client.IgnoreNotFound(err) == nil && err != nil
	})
	w.wantKept(w.names()...)
	w.until("there is no set again", func() bool {
		return strings.HasPrefix(w.operatorCondition(controlplane.Available), "True NoControlPlaneMachineSet")
	})
}

// until lets the world go on until something is so.
func (w *world) until(text string, is func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		w.live()
		return is(), nil
	})
	if err != nil {
		w.t.Fatalf("waiting until %s: %v", text, err)
	}
}
