// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package absent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/test/testcluster"
)

// TestNamespaceTakesPoundlockAlong deletes a namespace in which Poundlock's rights are, and kills Poundlock. After its restart, Poundlock reports which rights
// are missing, and answers reviews as far as it has rights. Then the commands of docs/runbooks.md let the deletion end, and the other API's Machines keep their
// instances.
func TestNamespaceTakesPoundlockAlong(t *testing.T) {
	stories.Long(t)
	embedded.LeaveOut(t)
	t.Run(capi, func(t *testing.T) { takesPoundlockAlong(t, loss{name: capi, takes: "ClusterAPI"}) })
	t.Run(mapi, func(t *testing.T) { takesPoundlockAlong(t, loss{name: mapi, takes: "MachineAPI"}) })
}

func takesPoundlockAlong(t *testing.T, l loss) {
	stage, err := testcluster.Set(t.Context(), testcluster.Options{Out: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Strike(); err != nil {
			t.Error(err)
		}
	})
	w := world{T: t, Stage: stage}
	plugin := filepath.Join(t.TempDir(), "kubectl-poundlock")
	w.must(build.Own(t.Context(), "./cmd/kubectl-poundlock", plugin, testcluster.RaceDetector))
	f := w.fleet("w", loss{})

	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	namespace.SetName(l.name)
	w.must(w.StopManager())
	w.must(w.Admin.Patch(t.Context(), namespace.DeepCopy(),
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"poundlock.openshift.io/allow-deletion":"true"}}}`))))
	w.must(w.Admin.Delete(t.Context(), namespace.DeepCopy()))
	w.eventually("Poundlock's rights to go", func(ctx context.Context) error {
		role := &unstructured.Unstructured{}
		role.SetGroupVersionKind(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"})
		if err := w.Admin.Get(ctx, client.ObjectKey{Namespace: l.name, Name: "poundlock"}, role); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Role is there: %v", err)
		}
		return nil
	})

	w.must(w.LaunchManager())
	w.eventually("the process to report what it may not read", func(ctx context.Context) error {
		if err := w.Ready(ctx); err == nil {
			return errors.New("it is ready")
		}
		if log, err := os.ReadFile(w.Plane.Log(testcluster.Poundlock)); err != nil || !strings.Contains(string(log), "the API server does not allow Poundlock to read objects that Poundlock needs") {
			return fmt.Errorf("its log has nothing of it: %v", err)
		}
		return nil
	})
	w.eventually("a webhook that fails closed to answer", func(ctx context.Context) error {
		if l.name == mapi {
			return nil // Poundlock may not read there which API is authoritative
		}
		err := w.Admin.Patch(ctx, object("cluster.x-k8s.io/v1beta2", capi, "w-lone-machineapi"),
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"x.openshift.io/y":"z"}}}`)), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "[authority/metadata-reserved]") {
			return fmt.Errorf("an edit of a mirror: %v", err)
		}
		return nil
	})
	w.must(w.StopManager())

	cleanup := func(ctx context.Context) error {
		command := exec.CommandContext(ctx, plugin, "cleanup", "--yes")
		command.Env = append(os.Environ(), "KUBECONFIG="+w.Plane.KubeconfigPath())
		out, err := command.CombinedOutput()
		t.Logf("kubectl poundlock cleanup --yes:\n%s", out)
		return err
	}
	w.must(cleanup(t.Context()))
	w.eventually("the namespace to go", func(ctx context.Context) error {
		err := w.Admin.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("it is there: %v", namespace.Object["status"]))
	})
	w.survivors(f, l)
	if err := w.Cloud.Audit(); err != nil {
		t.Error(err)
	}
}
