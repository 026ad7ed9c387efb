// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestARollingRestartRefusesNothing restarts the Deployment while several clients ask for a move, which fails closed.
func TestARollingRestartRefusesNothing(t *testing.T) {
	p := newPlace(t)
	p.types(t, "kubectl apply -k manifests/overlays/self-managed")
	p.types(t, "kubectl -n openshift-cluster-api rollout status deployment/poundlock --timeout=3m")
	p.types(t, "kubectl wait namespaces/openshift-machine-api --for=jsonpath='{.metadata.labels.poundlock\\.openshift\\.io/admission}'=enforced --timeout=1m")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asked, refused atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				set := &machinev1beta1.MachineSet{}
				set.Namespace, set.Name = "openshift-machine-api", "worker-a"
				move := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"authoritativeAPI":"ClusterAPI"}}`))
				err := p.stage.Admin.Patch(ctx, set, move, client.DryRunAll)
				if ctx.Err() != nil {
					return
				}
				asked.Add(1)
				if err != nil && refused.Add(1) <= 10 {
					t.Errorf("request %d: %v", asked.Load(), err)
				}
			}
		})
	}
	times := 2
	if *complete {
		times = 10
	}
	for range times {
		p.types(t, "kubectl -n openshift-cluster-api rollout restart deployment/poundlock")
		p.types(t, "kubectl -n openshift-cluster-api rollout status deployment/poundlock --timeout=3m")
		p.types(t, "until [ $(kubectl -n openshift-cluster-api get pods -o name | wc -l) = 2 ]; do sleep 1; done") // those before are gone
	}
	stop()
	clients.Wait()
	t.Logf("%d restarts, %d requests, %d refused", times, asked.Load(), refused.Load())
	if asked.Load() < 100 {
		t.Errorf("%d requests are no proof", asked.Load())
	}
}
