// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lag is how long the Network takes to notice a change of endpoints. The kube-proxy of a node is no faster.
const Lag = time.Second

// Network connects an API server to Services, as nodes do. It is the proxy that the API server's egress selector names. For a Service it connects to a ready
// pod. If none is ready, it connects to one that is ending.
type Network struct {
	listener net.Listener
	// locate returns the loopback address of a pod's port.
	locate func(pod string, port int32) (string, bool)

	mu sync.Mutex
	// routes are addresses on loopback, by a Service's address and port.
	routes map[string][]string
}

// NewNetwork returns a Network that listens at a socket in a folder. The Network refuses every connection until Run.
func NewNetwork(k *Kubelet, dir string) (*Network, error) {
	listener, err := net.Listen("unix", filepath.Join(dir, "egress.sock"))
	if err != nil {
		return nil, fmt.Errorf("listening for the API server: %w", err)
	}
	n := &Network{listener: listener, locate: k.locate}
	server := &http.Server{Handler: n, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	return n, nil
}

// Close stops listening. Open connections go on.
func (n *Network) Close() error { return n.listener.Close() }

// Configure writes the configuration of the egress selector, for the flag --egress-selector-config-file.
func (n *Network) Configure(path string) error {
	const form = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
`
	return os.WriteFile(path, fmt.Appendf(nil, form, n.listener.Addr()), 0o600)
}

// Run follows the endpoints until ctx is done.
func (n *Network) Run(ctx context.Context, c client.Client) {
	wait.UntilWithContext(ctx, func(ctx context.Context) { _ = n.follow(ctx, c) }, Lag)
}

func (n *Network) follow(ctx context.Context, c client.Client) error {
	services, slices := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	if err := c.List(ctx, services); err != nil {
		return err
	}
	if err := c.List(ctx, slices); err != nil {
		return err
	}
	routes := map[string][]string{}
	for i := range services.Items {
		for _, port := range services.Items[i].Spec.Ports {
			to := net.JoinHostPort(services.Items[i].Spec.ClusterIP, fmt.Sprint(port.Port))
			routes[to] = n.behind(&services.Items[i], port.Name, slices.Items)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.routes = routes
	return nil
}

func (n *Network) behind(service *corev1.Service, port string, all []discoveryv1.EndpointSlice) []string {
	var ready, ending []string
	for _, slice := range all {
		if slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		for _, p := range slice.Ports {
			if ptr.Deref(p.Name, "") != port {
				continue
			}
			for _, e := range slice.Endpoints {
				address, found := n.locate(e.Addresses[0], ptr.Deref(p.Port, 0))
				switch {
				case !found:
				case ptr.Deref(e.Conditions.Ready, true):
					ready = append(ready, address)
				case ptr.Deref(e.Conditions.Serving, false):
					ending = append(ending, address)
				}
			}
		}
	}
	if len(ready) == 0 {
		return ending
	}
	return ready
}

// ServeHTTP connects a client with one of the pods behind a Service.
func (n *Network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "want CONNECT", http.StatusMethodNotAllowed)
		return
	}
	n.mu.Lock()
	pods := n.routes[r.Host]
	n.mu.Unlock()
	if len(pods) == 0 {
		http.Error(w, "no pod is ready behind "+r.Host, http.StatusServiceUnavailable)
		return
	}
	pod, err := net.Dial("tcp", pods[rand.IntN(len(pods))]) //nolint:gosec // no secret
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = pod.Close() }()
	w.WriteHeader(http.StatusOK)
	asking, read, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = asking.Close() }()
	join(asking, read, pod)
}

// join copies both ways until one side ends.
func join(asking net.Conn, read io.Reader, pod net.Conn) {
	ended := make(chan struct{}, 2)
	pass := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go pass(pod, read)
	go pass(asking, pod)
	<-ended
}
