// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Proxy and ProxyLabel are names that the document fixes, and that monitoring looks for.
const (
	Proxy      = "kube-apiserver-proxy"
	ProxyLabel = "poundlock.openshift.io/kube-apiserver-proxy"

	folder     = "/etc/kube-apiserver-proxy"
	kubeconfig = folder + "/kubeconfig"
)

// ignorant are programs that do not read $KUBECONFIG. flag is the flag that takes the kubeconfig of the cluster that the program manages.
var ignorant = []struct{ program, flag string }{
	{"cluster-autoscaler", "--cloud-config"},
	{"machine-approver", "--management-cluster-kubeconfig"},
}

// Sidecar adds the proxy to a Deployment as a native sidecar, and makes the Deployment's containers use it. Init containers that run before it still reach the
// API server directly. A second call changes nothing. The returned ConfigMap has the kubeconfig, and has to be applied together with the Deployment.
func Sidecar(d *appsv1.Deployment, image string) (*corev1.ConfigMap, error) {
	pod := &d.Spec.Template.Spec
	if len(pod.Containers) == 0 {
		return nil, fmt.Errorf("the Deployment %s has no containers to which the proxy could be added", d.Name)
	}
	pod.InitContainers = slices.DeleteFunc(pod.InitContainers, func(c corev1.Container) bool { return c.Name == Proxy })
	client := free(pod, 8080)
	health := free(pod, client+1)
	pod.InitContainers = append(pod.InitContainers, container(image, client, health))
	if d.Spec.Template.Labels == nil {
		d.Spec.Template.Labels = map[string]string{}
	}
	d.Spec.Template.Labels[ProxyLabel] = "true"
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == Proxy })
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: Proxy, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: d.Name + "-" + Proxy},
	}}})
	for i := range pod.Containers {
		use(&pod.Containers[i])
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: d.Name + "-" + Proxy, Namespace: d.Namespace, Labels: map[string]string{PartOf: Name}},
		Data: map[string]string{"kubeconfig": fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: proxy
  cluster:
    server: http://127.0.0.1:%d
contexts:
- name: proxy
  context:
    cluster: proxy
current-context: proxy
`, client)},
	}, nil
}

func container(image string, client, health int) corev1.Container {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("proxy-metrics")}},
			PeriodSeconds: 10}
	}
	started := probe("/readyz")
	started.PeriodSeconds, started.FailureThreshold = 1, 30
	return corev1.Container{
		Name: Proxy, Image: image, RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Args:         []string{"proxy", fmt.Sprintf("--listen=127.0.0.1:%d", client), fmt.Sprintf("--health-listen=:%d", health)},
		Ports:        []corev1.ContainerPort{{Name: "proxy-metrics", ContainerPort: int32(health)}},
		StartupProbe: started, LivenessProbe: probe("/healthz"),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("40Mi")}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// use makes a container connect to the proxy.
func use(c *corev1.Container) {
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == Proxy })
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: Proxy, MountPath: folder, ReadOnly: true})
	for _, i := range ignorant {
		if !strings.Contains(strings.Join(slices.Concat([]string{c.Name}, c.Command, c.Args), " "), i.program) {
			continue
		}
		c.Args = slices.DeleteFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, i.flag+"=") })
		c.Args = append(c.Args, i.flag+"="+kubeconfig)
		return
	}
	c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "KUBECONFIG" })
	c.Env = append(c.Env, corev1.EnvVar{Name: "KUBECONFIG", Value: kubeconfig})
}

// free returns the first port, counted from "from", that no container of the pod seems to use.
func free(pod *corev1.PodSpec, from int) int {
	for slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) bool { return uses(&c, from) }) {
		from++
	}
	return from
}

// uses reports whether a container seems to use a port, by its ports, its probes, or its command line.
func uses(c *corev1.Container, port int) bool {
	number := strconv.Itoa(port)
	probed := func(p *corev1.Probe) bool {
		return p != nil && (p.HTTPGet != nil && p.HTTPGet.Port.IntValue() == port || p.TCPSocket != nil && p.TCPSocket.Port.IntValue() == port || p.GRPC != nil &&
			int(p.GRPC.Port) == port)
	}
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return int(p.ContainerPort) == port }) ||
		probed(c.StartupProbe) || probed(c.ReadinessProbe) || probed(c.LivenessProbe) ||
		slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(a string) bool {
			return a == number || strings.HasSuffix(a, ":"+number) || strings.HasSuffix(a, "="+number)
		})
}
