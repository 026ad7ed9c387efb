// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/test/embedded"
)

// Node is the name of the Kubelet's Node.
const Node = "standin"

// Kubelet runs the pods of a namespace as processes of this machine. A process gets the arguments of the first container, with the places of mounted Secrets
// replaced by folders of this machine. It acts as the pod's ServiceAccount. The Kubelet follows the readiness probe and restarts a process that exits. It stops
// the process of a deleted pod within the grace period.
type Kubelet struct {
	Client    client.Client
	Plane     *embedded.Plane
	Namespace string
	// Programs are the programs of images. A pod of another image waits, as a pod whose image cannot be pulled does.
	Programs map[string]Program

	mu      sync.Mutex
	pods    map[types.UID]*pod
	numbers int
}

// Program is what runs for an image. The zero value runs nothing: its pods are ready at once, but do not listen.
type Program struct {
	Path string
	// Variable and Argument, which may be nil, return an environment variable and an argument with which the program listens at an address, and not at its
	// container's port. port is the port's name.
	Variable, Argument func(port, address string) string
	// Args come after the container's arguments. They may name the paths of mounted Secrets, too.
	Args []string
}

// pod is a pod that runs.
type pod struct {
	name, address string
	ports         map[int32]string
	restarts      int32
	ending        chan struct{} // nil until the pod is asked to end; closed when it has ended
}

// Run calls Beat again and again until ctx is done.
func (k *Kubelet) Run(ctx context.Context) {
	const beat = 200 * time.Millisecond
	wait.UntilWithContext(ctx, func(ctx context.Context) { _ = k.Beat(ctx) }, beat)
}

// Join creates the Node.
func (k *Kubelet) Join(ctx context.Context) error {
	err := k.Client.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: Node, Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}})
	return client.IgnoreAlreadyExists(err)
}

// Beat does what there is to do, once. An error of one pod does not hold up the others.
func (k *Kubelet) Beat(ctx context.Context) error {
	list := &corev1.PodList{}
	if err := k.Client.List(ctx, list, client.InNamespace(k.Namespace)); err != nil {
		return err
	}
	var errs []error
	there := map[types.UID]bool{}
	for i := range list.Items {
		p := &list.Items[i]
		there[p.UID] = true
		if err := k.see(ctx, p); err != nil && !versioned.Outdated(err) {
			errs = append(errs, fmt.Errorf("pod %s: %w", p.Name, err))
		}
	}
	for id, p := range k.running() {
		if !there[id] { // deleted by force
			k.end(p, 0)
			k.forget(id)
		}
	}
	return errors.Join(errs...)
}

func (k *Kubelet) see(ctx context.Context, p *corev1.Pod) error {
	here := k.running()[p.UID]
	switch {
	case p.DeletionTimestamp != nil && here == nil:
		return k.release(ctx, p)
	case p.DeletionTimestamp != nil:
		k.end(here, time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 30))*time.Second)
		select {
		case <-here.ending:
			k.forget(p.UID)
			return k.release(ctx, p)
		default:
			return nil
		}
	case p.Spec.NodeName == "":
		return k.Client.SubResource("binding").Create(ctx, p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: Node}})
	case here == nil:
		return k.start(ctx, p)
	}
	if k.program(p).Path == "" {
		return k.report(ctx, p, here, true)
	}
	if err := k.mount(ctx, p); err != nil { // updates Secrets that changed
		return err
	}
	if k.Plane.PID(here.name) == 0 {
		if err := k.launch(ctx, p, here); err != nil {
			return err
		}
		here.restarts++
	}
	return k.report(ctx, p, here, k.ready(ctx, p, here))
}

func (k *Kubelet) program(p *corev1.Pod) Program { return k.Programs[p.Spec.Containers[0].Image] }

// Runs reports whether a process of the control plane is a pod's.
func (k *Kubelet) Runs(process string) bool {
	for _, p := range k.running() {
		if p.name == process {
			return true
		}
	}
	return false
}

func (k *Kubelet) running() map[types.UID]*pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[types.UID]*pod{}
	for id, p := range k.pods {
		out[id] = p
	}
	return out
}

func (k *Kubelet) forget(id types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pods, id)
}

// locate returns the loopback address at which a port of a pod can be reached.
func (k *Kubelet) locate(address string, port int32) (string, bool) {
	for _, p := range k.running() {
		if p.address == address {
			at, found := p.ports[port]
			return at, found
		}
	}
	return "", false
}

// release makes the API server remove a pod that has ended.
func (k *Kubelet) release(ctx context.Context, p *corev1.Pod) error {
	return client.IgnoreNotFound(k.Client.Delete(ctx, p, client.GracePeriodSeconds(0), client.Preconditions{UID: &p.UID}))
}

func (k *Kubelet) end(p *pod, grace time.Duration) {
	if p.ending != nil {
		return
	}
	p.ending = make(chan struct{})
	go func() {
		_ = k.Plane.EndPart(p.name, grace) // it may have ended by itself
		close(p.ending)
	}()
}

func (k *Kubelet) start(ctx context.Context, p *corev1.Pod) error {
	program, known := k.Programs[p.Spec.Containers[0].Image]
	if !known {
		return k.waits(ctx, p, "ImagePullBackOff", "there is no image "+p.Spec.Containers[0].Image)
	}
	here := &pod{name: p.Name, ports: map[int32]string{}}
	if program.Path == "" {
		k.add(p.UID, here)
		return nil
	}
	if err := k.mount(ctx, p); err != nil {
		return errors.Join(err, k.waits(ctx, p, "ContainerCreating", err.Error()))
	}
	ports := p.Spec.Containers[0].Ports
	free, err := embedded.FreePorts(len(ports))
	if err != nil {
		return err
	}
	for i, port := range ports {
		here.ports[port.ContainerPort] = net.JoinHostPort("127.0.0.1", fmt.Sprint(free[i]))
	}
	k.add(p.UID, here) // before it runs, because it may end at once
	if err := k.launch(ctx, p, here); err != nil {
		k.forget(p.UID)
		return err
	}
	return nil
}

// add records a pod, and gives it an address.
func (k *Kubelet) add(id types.UID, p *pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pods == nil {
		k.pods = map[types.UID]*pod{}
	}
	k.numbers++
	p.address = fmt.Sprintf("10.128.%d.%d", k.numbers/250, 1+k.numbers%250)
	k.pods[id] = p
}

func (k *Kubelet) folder(p *corev1.Pod) string {
	return filepath.Join(k.Plane.Dir(), "pods", p.Name)
}

func (k *Kubelet) launch(ctx context.Context, p *corev1.Pod, here *pod) error {
	kubeconfig, err := k.identity(ctx, p)
	if err != nil {
		return err
	}
	container, program := p.Spec.Containers[0], k.program(p)
	env, args := []string{"KUBECONFIG=" + kubeconfig}, slices.Concat(container.Args, program.Args)
	for _, port := range container.Ports {
		if program.Variable != nil {
			env = append(env, program.Variable(port.Name, here.ports[port.ContainerPort]))
		}
		if program.Argument != nil {
			args = append(args, program.Argument(port.Name, here.ports[port.ContainerPort]))
		}
	}
	for _, v := range container.Env {
		env = append(env, v.Name+"="+valueOf(v, p))
	}
	for i := range args {
		for _, m := range container.VolumeMounts {
			args[i] = strings.ReplaceAll(args[i], m.MountPath, filepath.Join(k.folder(p), m.Name))
		}
	}
	return k.Plane.AttachWith(env, here.name, program.Path, args...)
}

func valueOf(v corev1.EnvVar, p *corev1.Pod) string {
	if v.ValueFrom == nil || v.ValueFrom.FieldRef == nil {
		return v.Value
	}
	return map[string]string{"metadata.name": p.Name, "metadata.namespace": p.Namespace, "metadata.uid": string(p.UID)}[v.ValueFrom.FieldRef.FieldPath]
}

// identity writes a kubeconfig with a token of the pod's ServiceAccount, and returns its path.
func (k *Kubelet) identity(ctx context.Context, p *corev1.Pod) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Spec.ServiceAccountName}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID},
	}}
	if err := k.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("asking for a token of the ServiceAccount %s: %w", account.Name, err)
	}
	admin := k.Plane.Admin()
	path := filepath.Join(k.folder(p), "kubeconfig")
	as := &rest.Config{Host: admin.Host, BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData}}
	return path, errors.Join(os.MkdirAll(k.folder(p), 0o700), k.Plane.Kubeconfig(as, path))
}

// mount writes the files of the pod's Secrets if they are missing or differ.
func (k *Kubelet) mount(ctx context.Context, p *corev1.Pod) error {
	for _, v := range p.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		secret := &corev1.Secret{}
		if err := k.Client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: v.Secret.SecretName}, secret); err != nil {
			return fmt.Errorf("mounting the Secret %s: %w", v.Secret.SecretName, err)
		}
		dir := filepath.Join(k.folder(p), v.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for name, data := range secret.Data {
			path := filepath.Join(dir, name)
			if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, data) {
				continue
			}
			if err := errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *Kubelet) ready(ctx context.Context, p *corev1.Pod, here *pod) bool {
	probe := p.Spec.Containers[0].ReadinessProbe
	if probe == nil || probe.HTTPGet == nil {
		return true
	}
	port := probe.HTTPGet.Port.IntVal
	for _, named := range p.Spec.Containers[0].Ports {
		if probe.HTTPGet.Port.Type == intstr.String && named.Name == probe.HTTPGet.Port.StrVal {
			port = named.ContainerPort
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+here.ports[port]+probe.HTTPGet.Path, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode < http.StatusBadRequest
}

func (k *Kubelet) waits(ctx context.Context, p *corev1.Pod, reason, message string) error {
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	if len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil && p.Status.ContainerStatuses[0].State.Waiting.Reason == reason {
		return nil
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, Image: p.Spec.Containers[0].Image, State: state}}
	return k.Client.Status().Update(ctx, p)
}

// report writes what has changed of a pod that runs to the pod's status.
func (k *Kubelet) report(ctx context.Context, p *corev1.Pod, here *pod, ready bool) error {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	containers := p.Status.ContainerStatuses
	if p.Status.PodIP == here.address && len(containers) == 1 && containers[0].Ready == ready && containers[0].RestartCount == here.restarts {
		return nil
	}
	now := metav1.Now()
	p.Status.Phase, p.Status.PodIP, p.Status.PodIPs, p.Status.StartTime = corev1.PodRunning, here.address, []corev1.PodIP{{IP: here.address}}, &now
	p.Status.Conditions = nil
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: now})
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: p.Spec.Containers[0].Name, Image: p.Spec.Containers[0].Image, Ready: ready, Started: ptr.To(true), RestartCount: here.restarts,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	return k.Client.Status().Update(ctx, p)
}
