// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package private

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/test/build"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/translation"
)

// The names of the processes, and of their logs.
const (
	Proxy   = "proxy"
	Shim    = "shim"
	Manager = "core-manager"
)

// Namespace is the namespace of a stage's objects, and of the ServiceAccount of its clients.
const Namespace = "clusters"

const client = "cluster-api"

// Options are the options of a stage. The zero value is one for a test.
type Options struct {
	// Dir is the folder of the stage, which is kept; "" is a temporary folder.
	Dir string
	// Bin is a folder with poundlock-private and the plugin, as Build leaves them; if it is "", they are built.
	Bin string
	// Port is the API server's port; 0 is a free one.
	Port int
	// Out receives a line for each step. It may be nil.
	Out io.Writer
	// Release is the release of Cluster API whose manager and definitions are private; "" is the product's. The platform always has the product's definitions.
	Release string
	// Providers are real providers that run behind the proxy, too. Without any, a stand-in reports that infrastructure exists.
	Providers []Provider
}

// Stage is everything that runs.
type Stage struct {
	Plane *embedded.Plane
	// Broken is closed when something ended although nobody stopped it. Cause then returns what.
	Broken chan struct{}
	cause  error

	options Options
	binary  string // the path of the core manager
	ports   ports
	// managers are the managers of the providers.
	managers []*manager
	stop     context.CancelFunc
}

type ports struct{ Proxy, Health, Reviews, ShimHealth, Webhooks, ManagerHealth int }

// Set starts everything, and returns when the manager works and conversions are answered. ctx bounds only the start.
func Set(ctx context.Context, o Options) (*Stage, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	s := &Stage{options: o, Broken: make(chan struct{})}
	if err := s.set(ctx); err != nil {
		if s.Plane != nil {
			_ = s.Strike()
		}
		return nil, err
	}
	return s, nil
}

func (s *Stage) set(ctx context.Context) error {
	platform, err := platforms(ctx)
	if err != nil {
		return err
	}
	if s.binary, err = build.ClusterAPIRelease(ctx, s.options.Release, s.options.Out); err != nil {
		return err
	}
	if err := s.buildProviders(ctx); err != nil {
		return err
	}
	s.Plane, err = embedded.Start(ctx, embedded.Options{Dir: s.options.Dir, Port: s.options.Port, Out: s.options.Out, CRDs: platform, ControllerManager: true})
	if err != nil {
		return err
	}
	free, err := embedded.FreePorts(6 + 2*len(s.managers))
	if err != nil {
		return err
	}
	s.ports = ports{free[0], free[1], free[2], free[3], free[4], free[5]}
	for i, m := range s.managers {
		m.webhooks, m.health = free[6+2*i], free[7+2*i]
	}
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.watch(living)
	for _, step := range []struct {
		message string
		do      func(context.Context) error
	}{
		{"building poundlock-private and the plugin", s.build},
		{"installing private types beside the platform's, by kubectl poundlock private-types install", s.install},
		{"starting the proxy and the conversion shim", s.startOurs},
		{"starting Cluster API's core manager behind the proxy", s.startManager},
		{"starting the providers", s.startProviders},
	} {
		fmt.Fprintln(s.options.Out, step.message)
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	if len(s.managers) == 0 {
		go s.provide(living)
	}
	return nil
}

// Strike ends everything.
func (s *Stage) Strike() error {
	if s.stop != nil {
		s.stop()
	}
	return s.Plane.Stop()
}

// Cause returns what ended by itself.
func (s *Stage) Cause() error { return s.cause }

func (s *Stage) watch(ctx context.Context) {
	select {
	case s.cause = <-s.Plane.Exited():
		close(s.Broken)
	case <-ctx.Done():
	}
}

// platforms returns the definitions that the platform has: those of Cluster API, and of its provider those that a Machine needs.
func platforms(ctx context.Context) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := embedded.CRDs(ctx)
	return slices.DeleteFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return !strings.HasSuffix(crd.Spec.Group, translation.Standard)
	}), err
}

func (s *Stage) path(name ...string) string {
	return filepath.Join(append([]string{s.Plane.Dir()}, name...)...)
}

func (s *Stage) build(ctx context.Context) error {
	if s.options.Bin != "" {
		return nil
	}
	s.options.Bin = s.path("bin")
	return Build(ctx, s.options.Bin)
}

// Build builds poundlock-private and the plugin into a folder.
func Build(ctx context.Context, dir string) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "./cmd/poundlock-private",
		"./cmd/kubectl-poundlock")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as they are built for the image
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building Poundlock: %w:\n%s", err, output)
	}
	return nil
}

// Plugin runs the plugin as a person would, and returns its output.
func (s *Stage) Plugin(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.options.Bin, "kubectl-poundlock"), append([]string{"--kubeconfig=" + s.Plane.KubeconfigPath()}, args...)...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("kubectl poundlock %s: %w:\n%s", strings.Join(args, " "), err, output)
	}
	return string(output), nil
}

func (s *Stage) install(ctx context.Context) error {
	if err := s.Plane.Serving(s.path("serving")); err != nil {
		return err
	}
	if err := os.WriteFile(s.path("ca.crt"), s.Plane.Admin().CAData, 0o600); err != nil {
		return err
	}
	core, err := build.ClusterAPIDefinitions(ctx, s.options.Release)
	if err != nil {
		return err
	}
	if err := s.define(ctx); err != nil {
		return err
	}
	if err := s.allow(ctx); err != nil {
		return err
	}
	text, err := s.Plugin(ctx, "private-types", "install", "-f", core, "-f", s.path("provider"), fmt.Sprintf("--shim-url=https://127.0.0.1:%d/convert",
		s.ports.Reviews),
		"--ca-bundle="+s.path("ca.crt"), "--client="+Namespace+"/"+client, "--namespace="+Namespace)
	if err != nil {
		return err
	}
	return os.WriteFile(s.path("logs", "install.log"), []byte(text), 0o600)
}

// allow gives the manager's ServiceAccount the rights that it needs beside the private types. --client gives it those for the private types.
func (s *Stage) allow(ctx context.Context) error {
	all := []string{"*"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cluster-api-manager"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps", "events", "namespaces", "nodes"}, Verbs: all},
		{APIGroups: []string{"events.k8s.io", "coordination.k8s.io", "apiextensions.k8s.io"}, Resources: all, Verbs: all},
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: client}},
	}
	c, err := kubernetes.NewForConfig(s.Plane.Admin())
	if err != nil {
		return err
	}
	if _, err := c.CoreV1().Namespaces().Create(ctx, namespace(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if _, err := c.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if _, err := c.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	identity, err := s.Plane.As("system:serviceaccount:" + Namespace + ":" + client)
	if err != nil {
		return err
	}
	if err := s.Plane.Kubeconfig(identity, s.path("proxy.kubeconfig")); err != nil {
		return err
	}
	return s.Plane.Kubeconfig(s.Proxied(), s.ProxiedKubeconfig())
}

func namespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
}

// Proxied returns the configuration of a client behind the proxy.
func (s *Stage) Proxied() *rest.Config {
	return &rest.Config{Host: "http://" + local(s.ports.Proxy), QPS: -1}
}

// ProxiedKubeconfig returns the path of a kubeconfig that leads through the proxy.
func (s *Stage) ProxiedKubeconfig() string { return s.path("proxied.kubeconfig") }

// MetricsURLs returns the addresses of the metrics of proxy and shim.
func (s *Stage) MetricsURLs() []string {
	return []string{"http://" + local(s.ports.Health) + "/metrics", "http://" + local(s.ports.ShimHealth) + "/metrics"}
}

// converter returns the value of the flag --upstream for the groups with a prefix.
func converter(prefix string, port int) string {
	return fmt.Sprintf("%s%s=https://%s/convert", prefix, translation.Standard, local(port))
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func (s *Stage) startOurs(ctx context.Context) error {
	if err := s.StartProxy(ctx); err != nil {
		return err
	}
	return s.startShim()
}

// StartProxy starts the proxy, for the first time or after it was stopped, and waits until it is ready.
func (s *Stage) StartProxy(ctx context.Context) error {
	err := s.Plane.Attach(Proxy, filepath.Join(s.options.Bin, ours), "proxy", "--kubeconfig="+s.path("proxy.kubeconfig"), "--listen="+local(s.ports.Proxy),
		"--health-listen="+local(s.ports.Health))
	if err != nil {
		return err
	}
	return s.ready(ctx, Proxy, s.ports.Health)
}

// StartShim starts the conversion shim again after it was stopped, and waits until it is ready.
func (s *Stage) StartShim(ctx context.Context) error {
	if err := s.startShim(); err != nil {
		return err
	}
	return s.ready(ctx, Shim, s.ports.ShimHealth)
}

const ours = "poundlock-private"

// startShim starts the shim and does not wait. The shim is ready only once its converter has answered, and the converter does not run yet at first.
func (s *Stage) startShim() error {
	shim := []string{"shim", "--upstream=" + converter("", s.ports.Webhooks), "--upstream-ca=" + s.path("ca.crt"), "--webhook-cert-dir=" + s.path("serving"),
		"--listen=" + local(s.ports.Reviews), "--health-listen=" + local(s.ports.ShimHealth)}
	for _, m := range s.managers {
		shim = append(shim, "--upstream="+converter(m.Groups, m.webhooks))
	}
	return s.Plane.Attach(Shim, filepath.Join(s.options.Bin, ours), shim...)
}

// startManager starts the core manager, as a pod would once its sidecar is ready. It waits until the shim has had an answer from its converter.
func (s *Stage) startManager(ctx context.Context) error {
	flags := []string{
		"--kubeconfig=" + s.ProxiedKubeconfig(), fmt.Sprintf("--webhook-port=%d", s.ports.Webhooks), "--webhook-cert-dir=" + s.path("serving"),
		"--health-addr=" + local(s.ports.ManagerHealth), "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--feature-gates=MachinePool=false", "--v=2",
	}
	// Release 1.14 cannot use an informer of a cache that is limited to one namespace ("failed to cast … informer"). By the release's source, the proxy has no
	// part in that.
	if s.options.Release != "1.14" {
		flags = append(flags, "--namespace="+Namespace)
	}
	if err := s.Plane.Attach(Manager, s.binary, flags...); err != nil {
		return err
	}
	if err := s.ready(ctx, Manager, s.ports.ManagerHealth); err != nil {
		return err
	}
	return s.ready(ctx, Shim, s.ports.ShimHealth)
}

func (s *Stage) ready(ctx context.Context, name string, port int) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		if s.Plane.PID(name) == 0 {
			return false, errors.New("it ended by itself")
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+local(port)+"/readyz", http.NoBody)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false, nil // not yet
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("starting the %s: %w: its log is %s", name, err, s.Plane.Log(name))
	}
	return nil
}
