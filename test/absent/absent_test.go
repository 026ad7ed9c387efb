// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package absent

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

const (
	mapi = "openshift-machine-api"
	capi = "openshift-cluster-api"
)

type world struct {
	*testing.T
	*testcluster.Stage
}

// TestClusterAPIAbsent installs Poundlock, installs Cluster API, uninstalls Cluster API, and installs it again. The same process of Poundlock runs all the
// time.
func TestClusterAPIAbsent(t *testing.T) {
	stories.Long(t)
	embedded.LeaveOut(t)
	stage, err := testcluster.Set(t.Context(), testcluster.Options{WithoutClusterAPI: true, Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	w := world{T: t, Stage: stage}
	process := w.Plane.PID(testcluster.Poundlock)

	w.create("first")
	w.waits("first")
	w.idle("first")

	w.must(w.InstallClusterAPI(t.Context()))
	w.mirrored("first")

	w.must(w.UninstallClusterAPI(t.Context()))
	w.waits("first")
	w.create("second")
	w.waits("second")
	w.create("third")
	w.must(w.Admin.Delete(t.Context(), object("machine.openshift.io/v1beta1", mapi, "third")))
	w.eventually("the Machine third to be gone", func(ctx context.Context) error {
		if _, err := w.machineAPI(ctx, "third"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	w.idle("second")

	w.must(w.InstallClusterAPI(t.Context()))
	w.mirrored("first")
	w.mirrored("second")
	w.reconcilersAreReady()
	if now := w.Plane.PID(testcluster.Poundlock); now != process || process == 0 {
		t.Errorf("Poundlock's process was %d and is %d", process, now)
	}
}

// reconcilersAreReady starts a second process without webhooks, and waits until a kubelet would call it ready.
func (w world) reconcilersAreReady() {
	w.Helper()
	ports, err := embedded.FreePorts(1)
	w.must(err)
	health := fmt.Sprintf("127.0.0.1:%d", ports[0])
	w.must(w.Plane.AttachWith([]string{embedded.Collecting}, "reconcilers", filepath.Join(w.Plane.Dir(), "bin", testcluster.Poundlock), "manager",
		"--webhooks=false", "--leader-elect", "--metrics-bind-address=0",
		"--health-bind-address="+health, "--kubeconfig="+filepath.Join(w.Plane.Dir(), "poundlock.kubeconfig")))
	w.eventually("a process without webhooks to be ready", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health+"/readyz", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answers %s", answer.Status)
		}
		return nil
	})
}

// create creates a Machine of the Machine API, and checks that no webhook keeps the request waiting.
func (w world) create(name string) {
	w.Helper()
	o, err := w.Machine(name)
	w.must(err)
	began := time.Now()
	w.must(w.Admin.Create(w.Context(), o))
	if took := time.Since(began); took > 5*time.Second {
		w.Errorf("creating %s took %s", name, took)
	}
}

// waits waits until the Machine reports that it waits for Cluster API.
func (w world) waits(name string) {
	w.Helper()
	w.eventually("the Machine "+name+" to wait for Cluster API", func(ctx context.Context) error {
		return w.synchronized(ctx, name, "Unknown", "ClusterAPINotInstalled", "Info")
	})
}

// mirrored waits until the Machine has its twin.
func (w world) mirrored(name string) {
	w.Helper()
	w.eventually("the Machine "+name+" to be mirrored", func(ctx context.Context) error {
		return w.synchronized(ctx, name, "True", "ResourceSynchronized", "")
	})
	w.must(w.Admin.Get(w.Context(), client.ObjectKey{Namespace: capi, Name: name}, object("cluster.x-k8s.io/v1beta2", capi, name)))
}

// idle writes a label to a Machine, and checks that Poundlock writes nothing because of that.
func (w world) idle(name string) {
	w.Helper()
	w.eventually(name+" to be looked at by the handoff, too", func(ctx context.Context) error {
		_, err := w.condition(ctx, name, "AuthoritySettled")
		return err
	})
	o := object("machine.openshift.io/v1beta1", mapi, name)
	w.must(w.Admin.Patch(w.Context(), o,
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"poke":"`+time.Now().Format("150405.000")+`"}}}`))))
	version := o.GetResourceVersion()
	other, err := w.Machine(name + "-later")
	w.must(err)
	w.must(w.Admin.Create(w.Context(), other))
	w.waits(other.GetName()) // the queue is served in turn: by now the first Machine was looked at, too
	w.must(w.Admin.Delete(w.Context(), other))
	now, err := w.machineAPI(w.Context(), name)
	w.must(err)
	if now.GetResourceVersion() != version {
		w.Errorf("an idle pass wrote to the Machine %s: %v", name, now.GetManagedFields())
	}
}

func (w world) synchronized(ctx context.Context, name string, want ...string) error {
	c, err := w.condition(ctx, name, "Synchronized")
	if err != nil {
		return err
	}
	severity, _ := c["severity"].(string)
	if got := fmt.Sprint([]string{fmt.Sprint(c["status"]), fmt.Sprint(c["reason"]), severity}); got != fmt.Sprint(want) {
		return fmt.Errorf("Synchronized is %s: %v", got, c["message"])
	}
	return nil
}

func (w world) condition(ctx context.Context, name, kind string) (map[string]any, error) {
	o, err := w.machineAPI(ctx, name)
	if err != nil {
		return nil, err
	}
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no condition %s: %v", kind, o.Object["status"])
}

func (w world) machineAPI(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	o := object("machine.openshift.io/v1beta1", mapi, name)
	return o, w.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)
}

func object(apiVersion, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, "Machine"))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func (w world) eventually(what string, check func(context.Context) error) {
	w.Helper()
	var last error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if last = check(w.Context()); last == nil {
			return
		}
		select {
		case <-w.Broken:
			w.Fatalf("%s: %v", what, w.Cause())
		case <-time.After(100 * time.Millisecond):
		}
	}
	w.Fatalf("%s: not in two minutes: %v; Poundlock's log is %s", what, last, w.Plane.Log(testcluster.Poundlock))
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
