// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package private

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/stories"
	"github.com/poundlock/poundlock/translation"
)

const (
	watches  = 100
	rate     = 100 // requests a second
	machines = "/apis/" + translation.Standard + "/v1beta2/machines"
)

// stored is an object of 5 KB. Half of it is managed fields.
var stored = `{"apiVersion":"` + translation.Private + `/v1beta2","kind":"Machine","metadata":{"managedFields":[{"apiVersion":"` + translation.Private +
	`/v1beta2","fieldsV1":{` +
	strings.Repeat(`"f:a":{"f:bcdef":{},"k:{\"type\":\"Ready\"}":{".":{},"f:message":{}}},`,
		35) + `"f:z":{}}}],"name":"m","ownerReferences":[{"apiVersion":"` + translation.Private +
	`/v1beta2","kind":"MachineSet","name":"s"}]},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.` + translation.Private +
	`","kind":"AWSMachine","name":"m"}},"status":{"conditions":[` +
	strings.Repeat(`{"lastTransitionTime":"2026-11-20T10:00:00Z","message":"","observedGeneration":2,"reason":"NodeHealthy","status":"True","type":"NodeHealthy"},`,
		18) + `{}]}}`

// upstream answers as an API server does: one object, a list of as many as is asked for, or a watch, which ends when over is closed.
func upstream(t *testing.T, over chan struct{}) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		items, _ := strconv.Atoi(r.URL.Query().Get("items"))
		switch {
		case r.URL.Query().Has("watch"):
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`+"\n", stored)
				_ = http.NewResponseController(w).Flush()
				select {
				case <-tick.C:
				case <-over:
					return
				case <-r.Context().Done():
					return
				}
			}
		case items > 0:
			_, _ = io.WriteString(w, `{"apiVersion":"`+translation.Private+`/v1beta2","kind":"MachineList","items":[`)
			for range items - 1 {
				if _, err := io.WriteString(w, stored+","); err != nil {
					return // the client is gone
				}
			}
			_, _ = io.WriteString(w, stored+"]}")
		default:
			_, _ = io.WriteString(w, stored)
		}
	}))
	server.EnableHTTP2, server.Config.ErrorLog = true, log.New(io.Discard, "", 0) // clients go away in the middle of a handshake, too
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// process is a proxy that runs as it does in a pod.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	health  string
	log     bytes.Buffer
}

func proxyBefore(t *testing.T, server *httptest.Server) *process {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	c.AuthInfos["c"], c.Contexts["c"], c.CurrentContext = &clientcmdapi.AuthInfo{Token: "t"}, &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}, "c"
	if err := clientcmd.WriteToFile(*c, filepath.Join(dir, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	ports, err := embedded.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, address: "http://" + local(ports[0]), health: "http://" + local(ports[1])}
	p.cmd = exec.CommandContext(t.Context(), filepath.Join(bin, ours), "proxy", "--kubeconfig="+filepath.Join(dir, "kubeconfig"), "--listen="+local(ports[0]),
		"--health-listen="+local(ports[1]))
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) // it collects as often as in a cluster
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.until("it is ready", func() bool {
		answer, err := http.Get(p.health + "/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return p
}

func (p *process) until(what string, is func() bool) {
	p.t.Helper()
	if err := wait.PollUntilContextTimeout(p.t.Context(), 50*time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil }); err != nil {
		p.t.Fatalf("waiting until %s: %s", what, err)
	}
}

// metric is the sum of a metric's series whose line fits a pattern.
func (p *process) metric(pattern string) (sum float64) {
	p.t.Helper()
	answer, err := http.Get(p.health + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^`+pattern+` (\S+)$`).FindAllSubmatch(text, -1) {
		n, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			p.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// A proxy carries a hundred watches, a hundred requests a second, a list of 100 MB, clients that read slowly and clients that go away, all at
// once. Each client that stays is answered without an error, the memory is bounded, and afterwards nothing is left of it.
func TestLoad(t *testing.T) {
	stories.Long(t)
	lasts := 3 * time.Second
	if *complete {
		lasts = 5 * time.Minute
	}
	over := make(chan struct{})
	server := upstream(t, over)
	p := proxyBefore(t, server)
	direct := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * watches}}
	ctx, end := context.WithTimeout(t.Context(), lasts)
	defer end()

	var watching, working sync.WaitGroup
	var events atomic.Int64
	for range watches {
		watching.Go(func() {
			n, err := frames(t.Context(), direct, p.address+machines+"?watch=true")
			events.Add(n)
			if err != nil || n == 0 {
				t.Errorf("a watch ends after %d events: %v", n, err)
			}
		})
	}
	working.Go(func() { paced(ctx, t, direct, p.address) })
	working.Go(func() { // 100 MB, read slowly: in pieces, with a request of its own between them
		for first := true; first || ctx.Err() == nil; first = false {
			if err := slowly(t.Context(), direct, p.address, 100<<20/len(stored)); err != nil {
				t.Error("a long list:", err)
			}
		}
	})
	working.Go(func() {
		for first := true; first || ctx.Err() == nil; first = false {
			for _, query := range []string{"?items=5000", "?watch=true"} {
				leave(t, direct, p.address+machines+query)
			}
		}
	})
	working.Wait()
	close(over)
	watching.Wait()
	direct.CloseIdleConnections()

	if n := p.metric(`hypershift_api_proxy_translation_errors_total\{[^}]*\}`); n != 0 {
		t.Errorf("%v bodies were not translated", n)
	}
	if n := p.metric(`hypershift_api_proxy_requests_total\{code="5[^}]*\}`); n != 0 {
		t.Errorf("%v requests were answered with an error", n)
	}
	p.until("nothing is left of clients that are gone", func() bool { return p.metric("go_goroutines") < 40 && p.metric("process_open_fds") < 25 })
	t.Logf("%.0f requests, %d events", p.metric(`hypershift_api_proxy_requests_total\{[^}]*\}`), events.Load())
	if peak := peakOf(t, p.cmd.Process.Pid); peak > 64<<10 {
		t.Errorf("the proxy took %d kB", peak)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.log.String())
	}
}

// A client that asks for a long list or a watch and reads nothing costs the proxy a bounded piece of it. Others are answered meanwhile, and nothing is left
// of it when it goes.
func TestClientsThatDoNotRead(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	p := proxyBefore(t, upstream(t, over))
	reading := &http.Client{Transport: &http.Transport{}}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var asking sync.WaitGroup
	for i := range watches {
		query := fmt.Sprintf("?items=%d", 20<<20/len(stored))
		if i%4 == 0 {
			query = "?watch=true"
		}
		asking.Go(func() {
			client := &http.Client{Transport: &http.Transport{ReadBufferSize: 4 << 10, DialContext: deaf}}
			answer, err := get(ctx, client, p.address+machines+query)
			if err != nil {
				t.Error("a client that reads nothing:", err)
				return
			}
			context.AfterFunc(ctx, func() { _ = answer.Body.Close() })
		})
	}
	asking.Wait()
	const growth = 4 << 20 // of watches, whose events are few
	p.until("no list goes on", func() bool {
		before := p.metric("process_resident_memory_bytes")
		while, end := context.WithTimeout(t.Context(), 3*time.Second)
		defer end()
		paced(while, t, reading, p.address)
		return p.metric("process_resident_memory_bytes") < before+growth
	})
	if peak := peakOf(t, p.cmd.Process.Pid); peak > 64<<10 {
		t.Errorf("the proxy took %d kB", peak)
	}
	leave()
	reading.CloseIdleConnections()
	p.until("nothing is left of clients that are gone", func() bool { return p.metric("go_goroutines") < 40 && p.metric("process_open_fds") < 25 })
}

// deaf makes connections whose system takes in little for a client that does not read.
func deaf(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if tcp, is := conn.(*net.TCPConn); is {
		err = errors.Join(err, tcp.SetReadBuffer(4<<10))
	}
	return conn, err
}

func get(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := c.Do(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return answer, err
}

// frames reads a watch to its end, and checks each event.
func frames(ctx context.Context, c *http.Client, url string) (n int64, err error) {
	answer, err := get(ctx, c, url)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	for lines := bufio.NewReader(answer.Body); ; n++ {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return n, nil
		case err != nil:
			return n, err
		case !json.Valid(line) || bytes.Contains(line, []byte(translation.Private)):
			return n, fmt.Errorf("%.200s", line)
		}
	}
}

// paced asks for an object as often as rate says.
func paced(ctx context.Context, t *testing.T, c *http.Client, address string) {
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		all.Go(func() {
			if err := once(t.Context(), c, address); err != nil {
				t.Error("a request:", err)
			}
		})
	}
}

func once(ctx context.Context, c *http.Client, address string) error {
	answer, err := get(ctx, c, address+machines+"/m")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (!json.Valid(text) || bytes.Contains(text, []byte(translation.Private))) {
		err = fmt.Errorf("%.200s", text)
	}
	return err
}

// slowly reads a list in pieces.
func slowly(ctx context.Context, c *http.Client, address string, items int) error {
	answer, err := get(ctx, c, fmt.Sprintf("%s%s?items=%d", address, machines, items))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var total int64
	for {
		n, err := io.CopyN(io.Discard, answer.Body, 4<<20)
		total += n
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := once(ctx, c, address); err != nil {
			return err
		}
	}
	if want := int64(items) * 4 << 10; total < want {
		return fmt.Errorf("%d bytes, want %d", total, want)
	}
	return nil
}

// leave begins to read, and goes away.
func leave(t *testing.T, c *http.Client, url string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer, err := get(ctx, c, url)
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Body.Close()
	if _, err := io.CopyN(io.Discard, answer.Body, 1000); err != nil {
		t.Error(err)
	}
}
