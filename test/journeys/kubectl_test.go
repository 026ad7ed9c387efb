// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	mapi = "openshift-machine-api"
	capi = "openshift-cluster-api"
)

// answer is kubectl's output.
type answer struct {
	out, err string
	ok       bool
}

// warnings returns the sentences after "Warning: ".
func (a answer) warnings() []string {
	var out []string
	for _, line := range strings.Split(a.err, "\n") {
		if sentence, is := strings.CutPrefix(line, "Warning: "); is {
			out = append(out, sentence)
		}
	}
	return out
}

// kubectl runs the control plane's kubectl as the cluster's administrator; stdin is its input.
func kubectl(t *testing.T, stdin string, args ...string) answer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), stage.Plane.Kubectl(), args...)
	cmd.Env = kubectlEnv(t)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	t.Logf("$ kubectl %s\n%s%s", strings.Join(args, " "), stdout.String(), stderr.String())
	return answer{stdout.String(), stderr.String(), err == nil}
}

// kubectlEnv returns an environment without a person's own kubectl settings and caches.
func kubectlEnv(t *testing.T) []string {
	t.Helper()
	home := filepath.Join(stage.Plane.Dir(), "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Dir(stage.Plane.Kubectl()) + string(os.PathListSeparator) + os.Getenv("PATH")
	return []string{"HOME=" + home, "KUBECONFIG=" + stage.Plane.KubeconfigPath(), "PATH=" + path}
}

// must runs kubectl and expects success.
func must(t *testing.T, args ...string) answer {
	t.Helper()
	a := kubectl(t, "", args...)
	if !a.ok {
		t.Fatalf("kubectl %s:\n%s", strings.Join(args, " "), a.err)
	}
	return a
}

// field returns one value by its JSONPath, as `kubectl get -o jsonpath` prints it; "" if the object or the field does not exist. Tests call it many times a
// second, so it starts no kubectl.
func field(t *testing.T, o object, path string) string {
	t.Helper()
	expression := jsonpath.New("field").AllowMissingKeys(true)
	content := &unstructured.Unstructured{}
	content.SetGroupVersionKind(kindOf(t, o.resource))
	err := stage.Admin.Get(t.Context(), client.ObjectKey{Namespace: o.namespace, Name: o.name}, content)
	if apierrors.IsNotFound(err) {
		return ""
	}
	var out strings.Builder
	if err == nil {
		err = errors.Join(expression.Parse("{"+path+"}"), expression.Execute(&out, content.Object))
	}
	if err != nil {
		t.Fatalf("reading %s of %s %s: %v", path, o.resource, o.name, err)
	}
	return out.String()
}

var kinds sync.Map

// kindOf returns a kind by its name for kubectl: resource.group, or resource.version.group for a version that is not the preferred one.
func kindOf(t *testing.T, resource string) schema.GroupVersionKind {
	t.Helper()
	if kind, known := kinds.Load(resource); known {
		return kind.(schema.GroupVersionKind)
	}
	versioned, group := schema.ParseResourceArg(resource)
	kind, err := stage.Admin.RESTMapper().KindFor(group.WithVersion(""))
	if err != nil && versioned != nil {
		kind, err = stage.Admin.RESTMapper().KindFor(*versioned)
	}
	if err != nil {
		t.Fatalf("no kind is called %s: %v", resource, err)
	}
	kinds.Store(resource, kind)
	return kind
}

// object names an object as kubectl does.
type object struct{ namespace, resource, name string }

func (o object) args(verb ...string) []string {
	return append(append([]string{"-n", o.namespace}, verb...), o.resource, o.name)
}

func mapiSet(name string) object     { return object{mapi, "machinesets.machine.openshift.io", name} }
func capiSet(name string) object     { return object{capi, "machinesets.cluster.x-k8s.io", name} }
func mapiMachine(name string) object { return object{mapi, "machines.machine.openshift.io", name} }
func capiMachine(name string) object { return object{capi, "machines.cluster.x-k8s.io", name} }
func awsMachine(name string) object {
	return object{capi, "awsmachines.infrastructure.cluster.x-k8s.io", name}
}

// patience is long enough for a machine whose processors are busy with something else, such as other stories.
const patience = 2 * time.Minute

// eventually waits until state returns want, and fails with the last other value.
func eventually(t *testing.T, what string, state func() string, want string) {
	t.Helper()
	within(t, patience, what, state, want)
}

// within does what eventually does, with a limit of its own.
func within(t *testing.T, limit time.Duration, what string, state func() string, want string) {
	t.Helper()
	var got string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		got = state()
		return got == want, nil
	})
	if err != nil {
		t.Fatalf("%s: %q after %s, want %q", what, got, limit, want)
	}
}
