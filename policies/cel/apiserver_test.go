// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/cel"
	"github.com/poundlock/poundlock/policies/policiestest"
	"github.com/poundlock/poundlock/test/embedded"
)

// story is a control plane with the Machine API's CRDs and the policies, and nothing else of Poundlock.
type story struct {
	plane     *embedded.Plane
	admin     kubernetes.Interface
	poundlock dynamic.Interface
}

// TestAPIServer puts the policies into a real API server: they are accepted, lock while no webhook is there, and let
// pass what a person may do.
func TestAPIServer(t *testing.T) {
	embedded.LeaveOut(t)
	s := begin(t)
	s.install(t)
	s.checkTypes(t)

	labels := map[string]string{"Machine": `"metadata":{"labels":{"a":"b"}}`, "MachineSet": `"template":{"metadata":{"labels":{"a":"b"}}}`}
	for _, kind := range []string{"Machine", "MachineSet"} {
		manifest := func(authority, more string) string {
			return fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1beta1","kind":%q,"metadata":{"name":"worker-a","namespace":%q,"labels":{"team":"a"}},`+
				`"spec":{"authoritativeAPI":%q%s}}`, kind, policiestest.MachineAPINamespace, authority, more)
		}
		resource := strings.ToLower(kind) + "s.machine.openshift.io/worker-a"
		patch := func(body string, more ...string) []string {
			return append([]string{"patch", resource, "--type=merge", "-p", body}, more...)
		}
		s.want(t, manifest("ClusterAPI", ""), "", "apply", "-f", "-")
		s.eventually(t, "authority/uninitialised", patch(`{"spec":{"authoritativeAPI":"MachineAPI"}}`)...)
		s.want(t, "", "", patch(`{"metadata":{"labels":{"k8s.io/x":"y"}}}`)...)
		s.want(t, "", "authority/status-owned", patch(`{"status":{"authoritativeAPI":"Migrating"}}`, "--subresource=status")...)
		s.adopt(t, kind)

		locked := `{"spec":{"providerID":"x","template":{"spec":{"providerID":"x"}}}}`
		s.want(t, "", "authority/spec-locked", patch(locked)...)
		s.want(t, "", "authority/spec-locked", patch(locked, "--dry-run=server")...)
		spot := `"providerSpec":{"value":{"spotMarketOptions":{}}}`
		s.want(t, "", "authority/spec-locked", patch(`{"spec":{`+spot+`,"template":{"spec":{`+spot+`}}}}`)...)
		s.want(t, "", "authority/metadata-reserved", patch(`{"metadata":{"labels":{"node-role.kubernetes.io/x":"y"}}}`)...)
		s.want(t, "", "", patch(`{"metadata":{"labels":{"kubernetes.iofoo/x":"y"}}}`)...)
		s.want(t, "", "authority/status-owned", patch(`{"status":{"synchronizedGeneration":7}}`, "--subresource=status")...)
		s.want(t, manifest("MachineAPI", ""), "", "apply", "-f", "-")
		s.want(t, manifest("MachineAPI", ","+labels[kind]), "authority/spec-locked", "apply", "-f", "-")
	}
	s.want(t, "", "authority/finalizer-fence", "patch", "machines.machine.openshift.io/worker-a", "--type=merge", "-p",
		`{"metadata":{"finalizers":["machine.machine.openshift.io"]}}`)
	s.want(t, "", "", "delete", "machines.machine.openshift.io/worker-a")
	s.controlPlane(t)
}

// controlPlane: a set cannot be deleted in the foreground, webhook or not.
func (s *story) controlPlane(t *testing.T) {
	manifest := func(name, domains string) string {
		return fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1","kind":"ControlPlaneMachineSet","metadata":{"name":%q,"namespace":%q},"spec":{"state":"Active","replicas":3,`+
			`"selector":{"matchLabels":{"a":"b"}},"template":{"machineType":"machines_v1beta1_machine_openshift_io","machines_v1beta1_machine_openshift_io":{"failureDomains":{"platform":"GCP","gcp":[%s]},`+
			`"metadata":{"labels":{"machine.openshift.io/cluster-api-cluster":"c","machine.openshift.io/cluster-api-machine-role":"master","machine.openshift.io/cluster-api-machine-type":"master"}},`+
			`"spec":{"providerSpec":{"value":{"kind":"GCPMachineProviderSpec"}}}}}}}`, name, policiestest.MachineAPINamespace, domains)
	}
	const set = "controlplanemachinesets.machine.openshift.io/cluster"
	s.want(t, manifest("mine", `{"zone":"a"}`), "controlplane/name", "create", "-f", "-")
	s.want(t, manifest("cluster", `{"zone":"a"},{"zone":"b"},{"zone":"a"}`), "controlplane/duplicate-domains", "create", "-f", "-")
	s.want(t, manifest("cluster", `{"zone":"a"},{"zone":"b"}`), "", "create", "-f", "-")
	s.want(t, "", "controlplane/foreground", "delete", set, "--cascade=foreground")
	s.want(t, "", "controlplane/foreground", "delete", "controlplanemachinesets.machine.openshift.io", "--all", "--cascade=foreground")
	s.want(t, "", "controlplane/foreground", "patch", set, "--type=merge", "-p", `{"metadata":{"finalizers":["foregroundDeletion"]}}`)
	s.want(t, "", "", "patch", set, "--type=merge", "-p", `{"metadata":{"finalizers":["a/b"]}}`)
	s.want(t, "", "", "delete", set, "--wait=false")
	s.want(t, "", "controlplane/foreground", "delete", set, "--cascade=foreground", "--wait=false")
	s.want(t, "", "", "patch", set, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

func begin(t *testing.T) *story {
	t.Helper()
	all, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range all {
		if crd.Spec.Group == "machine.openshift.io" {
			crds = append(crds, crd)
		}
	}
	s := &story{plane: embedded.ForTest(t, embedded.Options{
		CRDs: crds, ControllerManager: true,
		ControllerManagerArgs: []string{"--controllers=validatingadmissionpolicy-status-controller"},
	})}
	if s.admin, err = kubernetes.NewForConfig(s.plane.Admin()); err != nil {
		t.Fatal(err)
	}
	own, err := s.plane.As(users()[policies.Poundlock][0], "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if s.poundlock, err = dynamic.NewForConfig(own); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *story) install(t *testing.T) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: policiestest.MachineAPINamespace}}
	if _, err := s.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	all, err := cel.Policies(options())
	if err != nil {
		t.Fatal(err)
	}
	client := s.admin.AdmissionregistrationV1()
	// There is no Cluster API here: those with its objects as parameters refuse nothing.
	for _, p := range slices.Concat(all, cel.ScalePolicies(options()), cel.BesidePolicies(options()), cel.ForSetPolicies(options()),
		cel.HookedPolicies(options()), cel.PastHooksPolicies(options()), cel.KeptPolicies(options())) {
		if _, err := client.ValidatingAdmissionPolicies().Create(t.Context(), p.Policy, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.ValidatingAdmissionPolicyBindings().Create(t.Context(), p.Binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// checkTypes waits for the server's own check of every expression against the CRDs.
func (s *story) checkTypes(t *testing.T) {
	t.Helper()
	poll(t, "the policies' types are checked", func(ctx context.Context) error {
		list, err := s.admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range list.Items {
			if p.Status.TypeChecking == nil {
				return fmt.Errorf("%s is not checked yet", p.Name)
			}
			for _, w := range p.Status.TypeChecking.ExpressionWarnings {
				t.Errorf("%s: %s: %.500s", p.Name, w.FieldRef, w.Warning)
			}
		}
		return nil
	})
}

// adopt does what Poundlock does first with a new object.
func (s *story) adopt(t *testing.T, kind string) {
	t.Helper()
	gvr := schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: strings.ToLower(kind) + "s"}
	status := []byte(`{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`)
	_, err := s.poundlock.Resource(gvr).Namespace(policiestest.MachineAPINamespace).
		Patch(t.Context(), "worker-a", types.MergePatchType, status, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
}

// want runs kubectl; it succeeds where rule is empty and is otherwise refused by it, with a remedy.
func (s *story) want(t *testing.T, stdin, rule string, args ...string) {
	t.Helper()
	out, err := s.kubectl(t.Context(), stdin, args...)
	if rule == "" && err != nil {
		t.Errorf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	if rule != "" && (err == nil || !strings.Contains(out, "["+rule+"]")) {
		t.Errorf("kubectl %s: want a refusal by %s, got %v: %s", strings.Join(args, " "), rule, err, out)
	}
}

// eventually is want for the first time, while the server still compiles the policies.
func (s *story) eventually(t *testing.T, rule string, args ...string) {
	t.Helper()
	poll(t, rule+" refuses", func(ctx context.Context) error {
		out, err := s.kubectl(ctx, "", append(args, "--dry-run=server")...)
		if err == nil || !strings.Contains(out, "["+rule+"]") {
			return fmt.Errorf("kubectl answers: %v: %s", err, out)
		}
		return nil
	})
}

func (s *story) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, s.plane.Kubectl(), append([]string{"-n", policiestest.MachineAPINamespace}, args...)...)
	c.Env = append(os.Environ(), "KUBECONFIG="+s.plane.KubeconfigPath(), "HOME="+filepath.Dir(s.plane.KubeconfigPath()))
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}

// poll tries until it works or two minutes are over.
func poll(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}
