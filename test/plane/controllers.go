// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	extensionscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	serviceaccounts "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// manager is what the controllers share. Each sends requests under its own name, as in a cluster, because rules of admission let the garbage collector pass by
// its name.
type manager struct {
	kubeconfig, keyFile, caFile, certFile, certKeyFile, address string
	names                                                       []string

	root, own clientbuilder.ControllerClientBuilder
	factory   informers.SharedInformerFactory
	metadata  metadatainformer.SharedInformerFactory
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	started   chan struct{}
}

// controller is one of kube-controller-manager's controllers. account is the account whose name it uses; "" is the manager's own. make is called before the
// informers start, and returns the function that runs the controller.
type controller struct {
	account string
	make    func(context.Context, *manager, asker) (func(context.Context), error)
}

// asker is the access to the API server under the name of one account.
type asker struct {
	config *rest.Config
	client kubernetes.Interface
}

// controllers lists the controllers by kube-controller-manager's names for them. They have as many workers as kube-controller-manager gives them.
var controllers = map[string]controller{
	"garbage-collector-controller":                {"generic-garbage-collector", collector},
	"namespace-controller":                        {"namespace-controller", namespaces},
	"serviceaccount-controller":                   {"service-account-controller", accounts},
	"serviceaccount-token-controller":             {"", tokens},
	"root-ca-certificate-publisher-controller":    {"root-ca-cert-publisher", publisher},
	"clusterrole-aggregation-controller":          {"clusterrole-aggregation-controller", aggregation},
	"disruption-controller":                       {"disruption-controller", disruptions},
	"deployment-controller":                       {"deployment-controller", deployments},
	"replicaset-controller":                       {"replicaset-controller", replicaSets},
	"endpointslice-controller":                    {"endpointslice-controller", endpointSlices},
	"validatingadmissionpolicy-status-controller": {"validatingadmissionpolicy-status-controller", policyTypes},
}

// controllerManager returns kube-controller-manager with only these controllers. The others would bring the scheduler, the kubelet and the volume plugins. On a
// machine that has never compiled Kubernetes, those take a fifth of the build.
func controllerManager() *cobra.Command {
	m := &manager{started: make(chan struct{})}
	command := &cobra.Command{Use: "kube-controller-manager", Args: cobra.NoArgs, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return m.run(server.SetupSignalContext())
	}}
	f := command.Flags()
	f.StringVar(&m.kubeconfig, "kubeconfig", "", "how to reach the API server")
	f.StringSliceVar(&m.names, "controllers", nil, "the controllers to run; the flag may be given more than once")
	f.StringVar(&m.keyFile, "service-account-private-key-file", "", "what signs the tokens in Secrets")
	f.StringVar(&m.caFile, "root-ca-file", "", "what pods trust the API server by")
	f.StringVar(&m.certFile, "tls-cert-file", "", "the certificate of /healthz")
	f.StringVar(&m.certKeyFile, "tls-private-key-file", "", "its key")
	f.StringVar(&m.address, "listen", "", "where /healthz listens")
	return command
}

func (m *manager) run(ctx context.Context) error {
	listener, err := net.Listen("tcp", m.address)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := m.connect(ctx); err != nil {
		return err
	}
	slices.Sort(m.names)
	m.names = slices.Compact(m.names)
	var begin []func(context.Context)
	for _, name := range m.names {
		c, known := controllers[name]
		if !known {
			return fmt.Errorf("--controllers: there is no %s here", name)
		}
		run, err := m.make(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		begin = append(begin, run)
	}
	for _, run := range begin {
		go run(ctx)
	}
	m.factory.Start(ctx.Done())
	m.metadata.Start(ctx.Done())
	close(m.started)
	return m.serve(ctx, listener)
}

// connect creates what the controllers share, once the API server answers.
func (m *manager) connect(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", m.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst, config.UserAgent = 20, 30, "kube-controller-manager"
	m.root = clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := app.WaitForAPIServer(client, 10*time.Second); err != nil {
		return fmt.Errorf("waiting for the API server: %w", err)
	}
	m.own = clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(config), client.CoreV1(), "kube-system")
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	const resync = 12 * time.Hour
	m.factory, m.metadata = informers.NewSharedInformerFactory(client, resync), metadatainformer.NewSharedInformerFactory(objects, resync)
	m.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	go wait.UntilWithContext(ctx, func(context.Context) { m.mapper.Reset() }, 30*time.Second)
	return nil
}

// serve serves /healthz. The verbose answer has a line for each controller, since all have begun by then.
func (m *manager) serve(ctx context.Context, listener net.Listener) error {
	var checks []healthz.HealthChecker
	for _, name := range m.names {
		checks = append(checks, healthz.NamedCheck(name, func(*http.Request) error { return nil }))
	}
	mux := http.NewServeMux()
	healthz.InstallHandler(mux, checks...)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.ServeTLS(listener, m.certFile, m.certKeyFile); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (m *manager) make(ctx context.Context, c controller) (func(context.Context), error) {
	clients := m.own
	if c.account == "" {
		clients = m.root
	}
	config, err := clients.Config(c.account)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return c.make(ctx, m, asker{config, client})
}

func collector(ctx context.Context, m *manager, as asker) (func(context.Context), error) {
	deleting := rest.CopyConfig(as.config)
	deleting.QPS *= 2 // a deletion takes it two requests
	objects, err := metadata.NewForConfig(deleting)
	if err != nil {
		return nil, err
	}
	// The informers watch as the manager, so that one watch serves all controllers.
	watching, err := m.root.Config("metadata-informers")
	if err != nil {
		return nil, err
	}
	watched, err := metadata.NewForConfig(watching)
	if err != nil {
		return nil, err
	}
	graph := garbagecollector.NewDependencyGraphBuilder(ctx, watched, m.mapper, garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(m.factory, m.metadata), m.started)
	gc, err := garbagecollector.NewComposedGarbageCollector(ctx, as.client, objects, m.mapper, graph)
	if err != nil {
		return nil, err
	}
	const period = 30 * time.Second
	return func(ctx context.Context) {
		go gc.Sync(ctx, as.client.Discovery(), period)
		gc.Run(ctx, 20, period)
	}, nil
}

func namespaces(ctx context.Context, m *manager, as asker) (func(context.Context), error) {
	config := rest.CopyConfig(as.config)
	config.QPS, config.Burst = config.QPS*20, config.Burst*100 // it lists each kind in a namespace
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources, m.factory.Core().V1().Namespaces(),
		5*time.Minute, corev1.FinalizerKubernetes)
	return workers(c.Run, 10), nil
}

func accounts(ctx context.Context, m *manager, as asker) (func(context.Context), error) {
	core := m.factory.Core().V1()
	c, err := serviceaccounts.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), as.client,
		serviceaccounts.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return nil, err
	}
	return workers(c.Run, 1), nil
}

func tokens(ctx context.Context, m *manager, as asker) (func(context.Context), error) {
	key, err := keyutil.PrivateKeyFromFile(m.keyFile)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(m.caFile)
	if err != nil {
		return nil, err
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return nil, err
	}
	core := m.factory.Core().V1()
	c, err := serviceaccounts.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), as.client,
		serviceaccounts.TokensControllerOptions{TokenGenerator: generator, RootCA: ca})
	if err != nil {
		return nil, err
	}
	return workers(c.Run, 5), nil
}

func publisher(_ context.Context, m *manager, as asker) (func(context.Context), error) {
	ca, err := os.ReadFile(m.caFile)
	if err != nil {
		return nil, err
	}
	core := m.factory.Core().V1()
	c, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), as.client, ca)
	if err != nil {
		return nil, err
	}
	return workers(c.Run, 1), nil
}

func aggregation(_ context.Context, m *manager, as asker) (func(context.Context), error) {
	return workers(clusterroleaggregation.NewClusterRoleAggregation(m.factory.Rbac().V1().ClusterRoles(), as.client.RbacV1()).Run, 5), nil
}

func disruptions(ctx context.Context, m *manager, as asker) (func(context.Context), error) {
	scales, err := scale.NewForConfig(as.config, m.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(as.client.Discovery()))
	if err != nil {
		return nil, err
	}
	core, apps := m.factory.Core().V1(), m.factory.Apps().V1()
	return disruption.NewDisruptionController(ctx, core.Pods(), m.factory.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(), apps.ReplicaSets(),
		apps.Deployments(), apps.StatefulSets(), as.client, m.mapper, scales, as.client.Discovery()).Run, nil
}

func deployments(ctx context.Context, m *manager, as asker) (func(context.Context), error) {
	apps := m.factory.Apps().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), m.factory.Core().V1().Pods(), as.client)
	if err != nil {
		return nil, err
	}
	return workers(c.Run, 5), nil
}

func replicaSets(ctx context.Context, m *manager, as asker) (func(context.Context), error) {
	c := replicaset.NewReplicaSetController(ctx, m.factory.Apps().V1().ReplicaSets(), m.factory.Core().V1().Pods(), as.client, replicaset.BurstReplicas)
	return workers(c.Run, 5), nil
}

func endpointSlices(ctx context.Context, m *manager, as asker) (func(context.Context), error) {
	core := m.factory.Core().V1()
	c := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), m.factory.Discovery().V1().EndpointSlices(), 100, as.client, 0)
	return workers(c.Run, 5), nil
}

// policyTypes returns the controller that checks the types of expressions in policies.
func policyTypes(_ context.Context, m *manager, as asker) (func(context.Context), error) {
	schemas := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, clientscheme.Scheme, extensionscheme.Scheme).
		Combine(&resolver.ClientDiscoveryResolver{Discovery: as.client.Discovery()})
	c, err := validatingadmissionpolicystatus.NewController(m.factory.Admissionregistration().V1().ValidatingAdmissionPolicies(),
		as.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), &validating.TypeChecker{SchemaResolver: schemas, RestMapper: m.mapper})
	if err != nil {
		return nil, err
	}
	return workers(c.Run, 5), nil
}

func workers(run func(context.Context, int), n int) func(context.Context) {
	return func(ctx context.Context) { run(ctx, n) }
}
