// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
)

var machines = schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: "machines"}

const namespace = "openshift-machine-api"

// TestLife is one story, since each start costs seconds: a folder's control plane works, is refused a rival, loses a part and gets it back, and is
// found again by the next start.
func TestLife(t *testing.T) {
	stories.Long(t)
	crds, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := embedded.Options{Dir: t.TempDir(), Out: os.Stderr, ControllerManager: true, CRDs: crds}
	p := start(t, o)

	t.Run("a Machine is created, and its authority field survives", func(t *testing.T) { createMachine(t, p) })
	t.Run("a service account's identity is what its token would say", func(t *testing.T) { identifies(t, p) })
	t.Run("an identity without a role may do nothing", func(t *testing.T) { forbids(t, p) })
	t.Run("its kubectl works with its kubeconfig", func(t *testing.T) { runsKubectl(t, p) })
	t.Run("the garbage collector collects what a Machine owned", func(t *testing.T) { collects(t, p) })
	t.Run("a second start on the folder is refused", func(t *testing.T) {
		_, err := embedded.Start(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("already running, pid %d, folder %s", os.Getpid(), o.Dir)) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a part that is killed is reported by name and can be started again", func(t *testing.T) { reportsDeath(t, p) })
	t.Run("a part that is stopped is not reported, and the others stay", func(t *testing.T) { stopsPart(t, p) })

	kubeconfig := read(t, p.KubeconfigPath())
	pids := stop(t, p)
	for part, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s, pid %d, is still there after Stop: %v", part, pid, err)
		}
	}

	again := start(t, o)
	if _, err := dynamicClient(t, again.Admin()).Resource(machines).Namespace(namespace).Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if read(t, again.KubeconfigPath()) != kubeconfig {
		t.Error("the kubeconfig of a restarted control plane is another one")
	}
	stop(t, again)
}

func TestATemporaryFolderGoesWithTheControlPlane(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := start(t, embedded.Options{})
	if _, err := os.Stat(p.Dir()); err != nil {
		t.Fatal(err)
	}
	stop(t, p)
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

// An API server that dies between its two writes to a new CRD's status leaves a CRD that the next one does not establish: an interrupted `make run` could not
// begin again.
func TestACRDThatIsHalfEstablished(t *testing.T) {
	stories.Long(t)
	crds, err := embedded.CRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, embedded.Options{CRDs: crds[:1]})
	defer stop(t, p)
	if err := p.StopPart(build.APIServer); err != nil {
		t.Fatal(err)
	}
	half := 0
	err = p.Multiply(t.Context(), []string{"/registry/apiextensions.k8s.io/customresourcedefinitions/"}, 1, func(text string, _ int) string {
		was := regexp.MustCompile(`("type":"Established","status":)"True"`)
		if was.MatchString(text) {
			half++
		}
		return was.ReplaceAllString(text, `$1"False"`)
	})
	if err != nil || half != 1 {
		t.Fatalf("%d CRDs are half established: %v", half, err)
	}
	if err := errors.Join(p.StartPart(t.Context(), build.APIServer), p.InstallCRDs(t.Context(), crds[0])); err != nil {
		t.Error(err)
	}
}

func TestATakenPortIsRefusedInASentence(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = embedded.Start(t.Context(), embedded.Options{Port: port})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d on 127.0.0.1 is taken", port)) {
		t.Errorf("got %v", err)
	}
}

// TestChildrenDieWithAKilledParent runs this test binary again as the parent, and kills it with SIGKILL.
func TestChildrenDieWithAKilledParent(t *testing.T) {
	if os.Getenv(parentEnv) != "" {
		beParent(t)
		return
	}
	if !pdeathsig {
		t.Skip("only Linux can do this")
	}
	dir := t.TempDir()
	parent := exec.Command(os.Args[0], "-test.run=^TestChildrenDieWithAKilledParent$")
	parent.Env = append(os.Environ(), parentEnv+"="+dir)
	parent.Stderr = os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pids := filepath.Join(dir, "pids")
	eventually(t, 2*time.Minute, "the parent's control plane runs", func() error { _, err := os.Stat(pids); return err })
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed, as it should
	var all map[string]int
	if err := json.Unmarshal([]byte(read(t, pids)), &all); err != nil || len(all) != 2 {
		t.Fatalf("%v: %v", all, err)
	}
	for part, pid := range all {
		eventually(t, 10*time.Second, part+" is gone", func() error {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("pid %d: %v", pid, err)
			}
			return nil
		})
	}
	stop(t, start(t, embedded.Options{Dir: filepath.Join(dir, "data")})) // the lock went with its holder
}

const parentEnv = "POUNDLOCK_TEST_PARENT"

func beParent(t *testing.T) {
	dir := os.Getenv(parentEnv)
	p := start(t, embedded.Options{Dir: filepath.Join(dir, "data")})
	text, err := json.Marshal(map[string]int{build.Etcd: p.PID(build.Etcd), build.APIServer: p.PID(build.APIServer)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "next"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "pids")); err != nil {
		t.Fatal(err)
	}
	select {} // until SIGKILL
}

// TestMain makes this test binary, if it is asked to, a package whose tests share a control plane.
func TestMain(m *testing.M) {
	switch os.Getenv(mainEnv) {
	case "":
		os.Exit(m.Run())
	case "works":
		os.Exit(embedded.Main(m, embedded.Options{}, func(p *embedded.Plane) error { return syscall.Kill(p.PID(build.Etcd), 0) }))
	default:
		os.Exit(embedded.Main(m, embedded.Options{}, func(*embedded.Plane) error { return errors.New("the package cannot use it") }))
	}
}

const mainEnv = "POUNDLOCK_TEST_MAIN"

func TestMainSharesOneControlPlane(t *testing.T) {
	for _, c := range []struct {
		use, contains string
		passes        bool
	}{{"works", "the control plane is ready", true}, {"fails", "the package cannot use it", false}} {
		temp := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), mainEnv+"="+c.use, "TMPDIR="+temp)
		out, err := cmd.CombinedOutput()
		if (err == nil) != c.passes || !strings.Contains(string(out), c.contains) {
			t.Errorf("%s: %v: %s", c.use, err, out)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
			t.Errorf("%s: left behind: %v, %v", c.use, left, err)
		}
	}
}

func start(t *testing.T, o embedded.Options) *embedded.Plane {
	t.Helper()
	return embedded.ForTest(t, o)
}

// stop returns the process ids that there were before.
func stop(t *testing.T, p *embedded.Plane) map[string]int {
	t.Helper()
	pids := map[string]int{}
	for _, part := range []string{build.Etcd, build.APIServer, build.ControllerManager} {
		if pid := p.PID(part); pid != 0 {
			pids[part] = pid
		}
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	return pids
}

func createMachine(t *testing.T, p *embedded.Plane) {
	client := kubernetes.NewForConfigOrDie(p.Admin())
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kept", "owner"} {
		created := newMachine(t, p, name)
		if got, _, _ := unstructured.NestedString(created.Object, "spec", "authoritativeAPI"); got != "ClusterAPI" {
			t.Errorf("spec.authoritativeAPI of %s is %q", name, got)
		}
	}
}

func newMachine(t *testing.T, p *embedded.Plane, name string) *unstructured.Unstructured {
	t.Helper()
	machine := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"authoritativeAPI": "ClusterAPI"},
	}}
	created, err := dynamicClient(t, p.Admin()).Resource(machines).Namespace(namespace).Create(t.Context(), machine, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func identifies(t *testing.T, p *embedded.Plane) {
	cfg, err := p.As("system:serviceaccount:openshift-cluster-api:poundlock", "extra")
	if err != nil {
		t.Fatal(err)
	}
	review, err := kubernetes.NewForConfigOrDie(cfg).AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := review.Status.UserInfo.Username, "system:serviceaccount:openshift-cluster-api:poundlock"; got != want {
		t.Errorf("user %s, want %s", got, want)
	}
	groups := slices.Sorted(slices.Values(review.Status.UserInfo.Groups))
	want := []string{"extra", "system:authenticated", "system:serviceaccounts", "system:serviceaccounts:openshift-cluster-api"}
	if !slices.Equal(groups, want) {
		t.Errorf("groups %v, want %v", groups, want)
	}
}

func forbids(t *testing.T, p *embedded.Plane) {
	cfg, err := p.As("alice")
	if err != nil {
		t.Fatal(err)
	}
	_, err = dynamicClient(t, cfg).Resource(machines).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("alice may list Machines: %v", err)
	}
}

func runsKubectl(t *testing.T, p *embedded.Plane) {
	for _, args := range [][]string{{"version"}, {"-n", namespace, "get", "machines.machine.openshift.io", "kept"}} {
		cmd := exec.CommandContext(t.Context(), p.Kubectl(), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+p.KubeconfigPath(), "HOME="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

func collects(t *testing.T, p *embedded.Plane) {
	client := kubernetes.NewForConfigOrDie(p.Admin())
	api := dynamicClient(t, p.Admin()).Resource(machines).Namespace(namespace)
	owner, err := api.Get(t.Context(), "owner", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "machine.openshift.io/v1beta1", Kind: "Machine", Name: "owner", UID: owner.GetUID(),
	}}}}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 40*time.Second, "the ConfigMap is collected", func() error {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "owned", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
}

func reportsDeath(t *testing.T, p *embedded.Plane) {
	if err := syscall.Kill(p.PID(build.ControllerManager), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.Exited():
		var exit *embedded.ExitError
		if !errors.As(err, &exit) || exit.Part != build.ControllerManager || exit.Tail == "" {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was reported")
	}
	if err := p.StartPart(t.Context(), build.ControllerManager); err != nil {
		t.Error(err)
	}
}

func stopsPart(t *testing.T, p *embedded.Plane) {
	etcd := p.PID(build.Etcd)
	if err := p.StopPart(build.APIServer); err != nil {
		t.Fatal(err)
	}
	if p.PID(build.APIServer) != 0 || p.PID(build.Etcd) != etcd {
		t.Error("the wrong part was stopped")
	}
	if err := p.StartPart(t.Context(), build.APIServer); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.Exited():
		t.Errorf("reported: %v", err)
	default:
	}
}

func dynamicClient(t *testing.T, cfg *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func eventually(t *testing.T, within time.Duration, what string, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, err)
		case <-ticker.C:
		}
	}
}
