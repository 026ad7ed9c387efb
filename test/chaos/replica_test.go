// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/chaos/wire"
	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/testcluster"
)

// replica is a manager beside the stage's, on a wire of its own. The stage does not watch it, so its end does not break the stage.
type replica struct {
	name              string
	line              *wire.Wire
	webhooks, metrics string
	health            string
	args              []string
	cmd               *exec.Cmd
	ended             chan struct{}
}

// newReplica returns a manager with a wire and these flags. It does not start the manager.
func newReplica(t *testing.T, name string, args ...string) *replica {
	t.Helper()
	ports, err := embedded.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(n int) string { return fmt.Sprintf("127.0.0.1:%d", ports[n]) }
	r := &replica{name: name, webhooks: at(0), health: at(1), metrics: at(2)}
	if r.line, err = stretch(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(stage.Plane.Dir(), name+".kubeconfig")
	if err := stage.Plane.Kubeconfig(r.line.Config(), file); err != nil {
		t.Fatal(err)
	}
	r.args = append([]string{
		"manager", "--kubeconfig=" + file, "--webhook-bind-address=" + r.webhooks, "--health-bind-address=" + r.health,
		"--metrics-bind-address=" + r.metrics, "--cert-hosts=127.0.0.1", "--shutdown-delay=0s",
	}, args...)
	t.Cleanup(func() {
		r.kill()
		_ = r.line.Close()
	})
	return r
}

// start starts the manager, and waits until it is ready.
func (r *replica) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(stage.Plane.Log(r.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd, ended := exec.Command(filepath.Join(stage.Plane.Dir(), "bin", testcluster.Poundlock), r.args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.cmd, r.ended = cmd, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		answer, err := http.Get("http://" + r.health + "/readyz")
		if err != nil {
			return false, nil
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		t.Fatalf("%s is not ready; its log is %s", r.name, stage.Plane.Log(r.name))
	}
}

// kill ends the manager as a crash would.
func (r *replica) kill() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill() // it may have ended by itself
		<-r.ended
	}
}

func (r *replica) signal(s syscall.Signal) error { return r.cmd.Process.Signal(s) }

// front plays the part that the Service has in a cluster: it is one address for the webhooks of several managers.
type front struct {
	net.Listener
	mu     sync.Mutex
	behind []string
	open   map[net.Conn]string
	stall  chan struct{} // nil: nothing is held up
	turn   int
}

// newFront returns a front through which the API server calls the webhooks until the test ends.
func newFront(t *testing.T) *front {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{Listener: listener, open: map[net.Conn]string{}}
	go f.serve()
	before := called(t, "https://"+listener.Addr().String())
	f.put(strings.TrimPrefix(before, "https://"))
	t.Cleanup(func() {
		called(t, before)
		_ = listener.Close()
		f.flow()
		f.put()
	})
	return f
}

// called makes the API server call the webhooks at another address, and returns the address until now.
func called(t *testing.T, at string) (before string) {
	t.Helper()
	move := func(c *admissionregistrationv1.WebhookClientConfig) {
		base, path, _ := strings.Cut(strings.TrimPrefix(*c.URL, "https://"), "/")
		before = "https://" + base
		*c.URL = at + "/" + path
	}
	ctx := context.Background() // at the end of a test, its own context has ended
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	key := client.ObjectKey{Name: testcluster.Poundlock}
	must(t, admin.Get(ctx, key, validating), admin.Get(ctx, key, mutating))
	for i := range validating.Webhooks {
		move(&validating.Webhooks[i].ClientConfig)
	}
	for i := range mutating.Webhooks {
		move(&mutating.Webhooks[i].ClientConfig)
	}
	must(t, admin.Update(ctx, validating), admin.Update(ctx, mutating))
	return before
}

func (f *front) serve() {
	for {
		conn, err := f.Accept()
		if err != nil {
			return
		}
		go f.pass(conn)
	}
}

// put sets the managers behind the front. It closes the connections to others.
func (f *front) put(behind ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind = behind
	for conn, to := range f.open {
		if !strings.Contains(strings.Join(behind, " "), to) {
			_ = conn.Close()
		}
	}
}

// stop holds up everything that arrives from now on. flow releases it.
func (f *front) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stall = make(chan struct{})
}

func (f *front) flow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stall != nil {
		close(f.stall)
		f.stall = nil
	}
}

func (f *front) held() {
	f.mu.Lock()
	stall := f.stall
	f.mu.Unlock()
	if stall != nil {
		<-stall
	}
}

// dial returns a connection to a manager that answers. It takes them in turn.
func (f *front) dial() (net.Conn, string) {
	f.mu.Lock()
	behind := append([]string{}, f.behind...)
	f.turn++
	turn := f.turn
	f.mu.Unlock()
	for i := range behind {
		to := behind[(turn+i)%len(behind)]
		if conn, err := net.Dial("tcp", to); err == nil {
			return conn, to
		}
	}
	return nil, ""
}

func (f *front) pass(from net.Conn) {
	defer from.Close()
	to, name := f.dial()
	if to == nil {
		return
	}
	defer to.Close()
	f.mu.Lock()
	f.open[from] = name
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, from)
	}()
	go func() {
		defer from.Close()
		f.copy(from, to)
	}()
	f.copy(to, from)
}

func (f *front) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		f.held()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
