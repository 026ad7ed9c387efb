// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/embedded"
)

// bare is the namespace whose Machines nobody mirrors. The requests that Poundlock made are sent again for these Machines, by a client that has them ready.
const bare = "bareplace"

// inFlight is how many requests Poundlock has open at a time: the mirror has ten workers for Machines, and so has the handoff.
const inFlight = 20

// mirroring measures how the Machines of a cluster get their mirrors: how many requests that takes, how long, and how much memory.
func mirroring(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition, machines int, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "poundlock-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	policy, audit := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	plane, err := embedded.Start(ctx, embedded.Options{
		Out: out, CRDs: crds, APIServerArgs: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + audit, "--audit-log-mode=blocking"},
	})
	if err != nil {
		return err
	}
	defer func() { err = join(err, plane.Stop()) }()
	admin, err := client.New(unlimited(plane.Admin()), client.Options{})
	if err != nil {
		return err
	}
	t := &track{admin: admin}
	for _, ns := range []string{poundlock, bare} {
		if err := t.createRunning(ctx, ns, machines); err != nil {
			return err
		}
	}
	if err := t.createAll(ctx, surroundings(poundlock)); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d Machines are there; building and starting Poundlock\n", machines)
	if err := t.startPoundlock(ctx, plane, "--feature-gate=on"); err != nil {
		return err
	}
	began := time.Now()
	if err := t.mirrored(ctx, machines, rests(audit)); err != nil {
		return fmt.Errorf("%w (Poundlock's log is %s)", err, plane.Log("poundlock"))
	}
	peak := highWater(plane.PID("poundlock"))
	asked, others, err := requests(audit)
	if err != nil {
		return err
	}
	took := lastReport(asked).Sub(began)
	if err := plane.StopPart("poundlock"); err != nil {
		return err
	}
	tabulate(out, asked, machines)
	fmt.Fprintf(out, "requests that name no Machine, a Machine: %.2f\n", float64(others)/float64(machines))
	fmt.Fprintf(out, "\n%d Machines: %.1f s; peak resident memory %s\n", machines, took.Seconds(), peak)
	again, err := send(ctx, plane.Admin(), asked)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the same requests bare, %d at a time: %.1f s, ratio %.2f\n", inFlight, again.Seconds(), took.Seconds()/again.Seconds())
	return nil
}

// auditPolicy has the API server log Poundlock's requests with their bodies. It leaves out lists and watches, which are few. The requests for the namespace
// bare are logged as well, because logging costs time, too.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, users: ["` + identity + `"], verbs: [get, create, update, patch, delete]}
- {level: Request, namespaces: [` + bare + `, ` + bare + `-twins], verbs: [get, create, update, patch, delete]}
- {level: None}
`

// createRunning creates Machines as they are in a cluster before anybody mirrors them: their instances run, and their status says that.
func (t *track) createRunning(ctx context.Context, namespace string, machines int) error {
	for _, ns := range []string{namespace, namespace + "-twins"} {
		if err := t.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
			return err
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range machines {
		g.Go(func() error {
			m := machine(namespace, i)
			m.SetFinalizers([]string{"machine.machine.openshift.io"})
			if err := t.admin.Create(gctx, m); err != nil {
				return err
			}
			return t.admin.Status().Patch(gctx, m, client.RawPatch(types.MergePatchType, []byte(running)))
		})
	}
	return g.Wait()
}

const running = `{"status":{"phase":"Running","lastUpdated":"2026-01-01T00:00:00Z",
"nodeRef":{"kind":"Node","name":"ip-10-0-1-1","uid":"0b1c5e9e-7d1d-4a8e-9d33-000000000001"},
"addresses":[{"type":"InternalIP","address":"10.0.1.1"},{"type":"Hostname","address":"ip-10-0-1-1"}],
"conditions":[{"type":"InstanceExists","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},
{"type":"Drainable","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`

// mirrored waits until every Machine is mirrored. It calls patience before each look: a client that lists a large fleet each second takes as much of the
// processor as Poundlock.
func (t *track) mirrored(ctx context.Context, machines int, patience func(context.Context) error) error {
	for {
		if err := patience(ctx); err != nil {
			return err
		}
		l := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineList"}}
		if err := t.admin.List(ctx, l, client.InNamespace(poundlock)); err != nil {
			return err
		}
		done := 0
		for _, m := range l.Items {
			if condition(m, "Synchronized") == "True" {
				done++
			}
		}
		if done == machines {
			return nil
		}
	}
}

// rests returns a function that waits until the audit log has not grown for some seconds. Its events come late.
func rests(audit string) func(context.Context) error {
	return func(ctx context.Context) error {
		last := int64(-1)
		return wait.PollUntilContextCancel(ctx, 8*time.Second, true, func(context.Context) (bool, error) {
			file, err := os.Stat(audit)
			if err != nil {
				return false, err
			}
			same := file.Size() == last
			last = file.Size()
			return same, nil
		})
	}
}

// lastReport returns when the last Machine's status was written. By then all Machines are mirrored.
func lastReport(asked []request) time.Time {
	var last time.Time
	for _, r := range asked {
		if r.ObjectRef.Subresource == "status" && r.StageTimestamp.After(last) {
			last = r.StageTimestamp
		}
	}
	return last
}

func condition(m unstructured.Unstructured, kind string) string {
	all, _, _ := unstructured.NestedSlice(m.Object, "status", "conditions")
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}

// highWater returns the most memory that a process has had, as Linux counts it; "unknown" on other systems.
func highWater(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(text)
		}
	}
	return "unknown"
}

// request is one of Poundlock's requests, as the audit log has it.
type request struct {
	Verb, RequestURI string
	ObjectRef        struct{ Resource, Subresource, Name string }
	RequestObject    json.RawMessage
	ResponseStatus   struct{ Code int }
	User             struct{ Username string }
	StageTimestamp   time.Time
}

func (r request) kind() string {
	kind := r.Verb + " " + r.ObjectRef.Resource
	if r.ObjectRef.Subresource != "" {
		kind += "/" + r.ObjectRef.Subresource
	}
	if strings.Contains(r.RequestURI, "machine.openshift.io/v1beta1") {
		kind += " of Machine API"
	}
	return kind
}

var ofMachine = regexp.MustCompile(`m-\d{5}`)

// of returns the name of the Machine that a request is about; "" for none.
func (r request) of() string {
	return ofMachine.FindString(r.RequestURI + " " + string(r.RequestObject))
}

// requests returns Poundlock's requests about Machines from the audit log, and the number of its other requests: about the objects that Machines need, and at
// its start.
func requests(audit string) (out []request, others int, err error) {
	raw, err := os.ReadFile(audit)
	if err != nil {
		return nil, 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the last line is still being written
		}
		if r.User.Username != identity {
			continue
		}
		if r.of() == "" {
			others++
			continue
		}
		out = append(out, r)
	}
	return out, others, lines.Err()
}

// send repeats the requests for the Machines that nobody mirrors, with the same kinds and bodies. Those of one Machine are sent one after the other. It returns
// how long that took.
func send(ctx context.Context, cfg *rest.Config, all []request) (time.Duration, error) {
	cfg = unlimited(cfg)
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return 0, err
	}
	byMachine := map[string][]request{}
	for _, r := range all {
		byMachine[r.of()] = append(byMachine[r.of()], r)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(inFlight)
	began := time.Now()
	for _, name := range slices.Sorted(maps.Keys(byMachine)) {
		g.Go(func() error {
			for _, r := range byMachine[name] {
				if err := r.again(gctx, &http.Client{Transport: transport}, cfg.Host); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = g.Wait()
	return time.Since(began), err
}

// methods are the HTTP methods of the verbs, which have names of their own in Kubernetes.
var methods = map[string]string{"get": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch,
	"delete": http.MethodDelete}

// again sends the request in the other namespace. The version and the UID of the original object are left out of the body. A request that was refused is sent,
// too, because it has cost as much.
func (r request) again(ctx context.Context, c *http.Client, host string) error {
	elsewhere := strings.NewReplacer("/namespaces/"+poundlock, "/namespaces/"+bare, `"namespace":"`+poundlock, `"namespace":"`+bare)
	body, applies, err := unversioned([]byte(elsewhere.Replace(string(r.RequestObject))))
	if err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, methods[r.Verb], host+elsewhere.Replace(r.RequestURI), bytes.NewReader(body))
	if err != nil {
		return err
	}
	ask.Header.Set("Content-Type", "application/json")
	if r.Verb == "patch" {
		ask.Header.Set("Content-Type", "application/merge-patch+json")
		if applies {
			ask.Header.Set("Content-Type", "application/apply-patch+yaml")
		}
	}
	answer, err := c.Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode >= 400 && r.ResponseStatus.Code < 400 {
		return fmt.Errorf("%s %s: %s where Poundlock had %d", ask.Method, ask.URL, answer.Status, r.ResponseStatus.Code)
	}
	return nil
}

// unversioned removes the resourceVersion and the UID from a body. whole reports whether the body is a whole object, as that of an apply is: such a body says
// its kind.
func unversioned(body []byte) (out []byte, whole bool, err error) {
	if len(body) == 0 {
		return nil, false, nil
	}
	var o map[string]any
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, false, err
	}
	for _, field := range []string{"resourceVersion", "uid"} {
		unstructured.RemoveNestedField(o, "metadata", field)
	}
	out, err = json.Marshal(o)
	return out, o["kind"] != nil, err
}

// tabulate writes how often each kind of request was sent.
func tabulate(out io.Writer, all []request, machines int) {
	count, refused := map[string]int{}, map[string]int{}
	for _, r := range all {
		count[r.kind()]++
		if r.ResponseStatus.Code >= 400 && r.Verb != "get" {
			refused[r.kind()]++
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nrequest\ta Machine\trefused\t")
	for _, kind := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return count[b] - count[a] }) {
		fmt.Fprintf(w, "%s\t%.2f\t%d\t\n", kind, float64(count[kind])/float64(machines), refused[kind])
	}
	fmt.Fprintf(w, "all\t%.2f\t\t\n", float64(len(all))/float64(machines))
	_ = w.Flush()
}
