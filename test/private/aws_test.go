// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package private

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/translation"
)

// The real provider of AWS runs behind the proxy until it needs a cloud: it becomes the leader, puts its finalizer on an AWSCluster, creates
// its identity, and says in conditions what AWSMachines wait for, and what the cloud has answered.
func TestTheProviderOfAWS(t *testing.T) {
	if !*complete {
		t.Skip("the provider is built for it: make proof WHAT=private plays it")
	}
	var asked atomic.Int64
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w,
			`<Response><Errors><Error><Code>AuthFailure</Code><Message>this is no cloud</Message></Error></Errors><RequestID>r</RequestID></Response>`)
	}))
	t.Cleanup(cloud.Close)
	s := begin(t, Options{Providers: AWS(cloud.URL)})
	s.apply("aws.yaml")
	s.wait("what the cloud has answered, in a condition of the AWSCluster", func() bool {
		return s.says("awsclusters", "VpcReady", metav1.ConditionFalse, "this is no cloud") == 1
	})
	s.wait("two AWSMachines that wait for it", func() bool { return s.says("awsmachines", "InstanceReady", metav1.ConditionFalse, "") == 2 })
	cluster, err := s.at("awsclusters", "infrastructure.").Patch(t.Context(), "c", types.MergePatchType, []byte(`{"status":{"ready":true}}`),
		metav1.PatchOptions{}, "status")
	if err != nil || !slices.Contains(cluster.GetFinalizers(), "awscluster.infrastructure."+translation.Standard) {
		t.Fatal(cluster, err)
	}
	s.wait("the same answer in those of the AWSMachines", func() bool {
		return s.says("awsmachines", "InstanceReady", metav1.ConditionUnknown, "this is no cloud") == 2
	})
	if asked.Load() == 0 {
		t.Error("nobody has asked the cloud")
	}
	s.checkStored(5, "awsclusters", "awsmachines", "awsmachinetemplates", "machinesets", "machines", "leases", "events")
	identities := s.direct.Resource(schema.GroupVersionResource{Group: "infrastructure." + translation.Private, Version: "v1beta2",
		Resource: "awsclustercontrolleridentities"})
	identity, err := identities.Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.checkObject(*identity)
	if _, err := s.direct.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(Namespace).
		Get(t.Context(), "controller-leader-elect-capa", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	peakOf(t, s.stage.Plane.PID(Proxy))
}

// says counts the objects with a condition that has a status, and a sentence in its message.
func (s *story) says(plural, condition string, status metav1.ConditionStatus, sentence string) (n int) {
	for _, o := range s.list(plural, "infrastructure.").Items {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			c, is := c.(map[string]any)
			message, _ := c["message"].(string)
			if is && c["type"] == condition && c["status"] == string(status) && strings.Contains(message, sentence) {
				n++
			}
		}
	}
	return n
}
