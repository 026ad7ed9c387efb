// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/test/embedded"
)

// memory measures how much memory Poundlock takes with a fleet that is mirrored already: at its start, when it lists and looks at everything, and at rest.
func memory(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition, machines int, out io.Writer) (err error) {
	plane, err := embedded.Start(ctx, embedded.Options{Out: out, CRDs: crds})
	if err != nil {
		return err
	}
	defer func() { err = join(err, plane.Stop()) }()
	admin, err := client.New(unlimited(plane.Admin()), client.Options{})
	if err != nil {
		return err
	}
	t := &track{admin: admin}
	if err := t.createRunning(ctx, poundlock, 1); err != nil {
		return err
	}
	if err := t.createAll(ctx, surroundings(poundlock)); err != nil {
		return err
	}
	profiles, err := freeAddress()
	if err != nil {
		return err
	}
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	if err := t.startPoundlock(ctx, plane, "--feature-gate=on", "--profiler-address="+profiles, "--metrics-bind-address="+metrics); err != nil {
		return err
	}
	if err := t.mirrored(ctx, 1, aSecond); err != nil {
		return err
	}
	if err := report(ctx, out, plane, profiles, 1); err != nil {
		return err
	}
	if err := plane.StopPart("poundlock"); err != nil {
		return err
	}
	if err := t.multiply(ctx, plane, machines); err != nil {
		return err
	}
	if err := t.again(); err != nil {
		return err
	}
	if err := looked(ctx, metrics, machines); err != nil {
		return err
	}
	return report(ctx, out, plane, profiles, machines)
}

// aSecond waits for a second.
func aSecond(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
		return nil
	}
}

// multiply makes a fleet from copies of its first Machine and of that Machine's mirrors. Only names, UIDs and the instance's ID differ.
func (t *track) multiply(ctx context.Context, plane *embedded.Plane, machines int) error {
	first := []*unstructured.Unstructured{machine(poundlock, 0), mirror(poundlock+"-twins", 0),
		object(`{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachine, metadata: {name: m-00000, namespace: ` + poundlock + `-twins}}`)}
	for _, o := range first {
		if err := t.admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
	}
	return plane.Multiply(ctx, []string{
		"/registry/machine.openshift.io/machines/" + poundlock + "/",
		"/registry/cluster.x-k8s.io/machines/" + poundlock + "-twins/",
		"/registry/infrastructure.cluster.x-k8s.io/awsmachines/" + poundlock + "-twins/",
	}, machines-1, func(text string, i int) string {
		text = strings.ReplaceAll(text, "m-00000", fmt.Sprintf("m-%05d", i+1))
		text = strings.ReplaceAll(text, fmt.Sprintf("i-%017d", 0), fmt.Sprintf("i-%017d", i+1))
		for _, o := range first {
			uid := string(o.GetUID())
			text = strings.ReplaceAll(text, uid, fmt.Sprintf("%s%012x", uid[:len(uid)-12], i))
		}
		return text
	})
}

// looked waits until the mirror and the handoff have looked at every Machine.
func looked(ctx context.Context, metrics string, machines int) error {
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		value, err := fetch(ctx, "http://"+metrics+"/metrics")
		if err != nil {
			return false, nil //nolint:nilerr // Poundlock has not started yet
		}
		passes := map[string]float64{}
		for line := range strings.Lines(string(value)) {
			labels, count, _ := strings.Cut(strings.TrimSpace(line), "} ")
			controller, _, of := strings.Cut(strings.TrimPrefix(labels, `controller_runtime_reconcile_total{controller="`), `"`)
			if n, err := strconv.ParseFloat(count, 64); of && err == nil {
				passes[controller] += n
			}
		}
		return passes["mirror-machine"] >= float64(machines) && passes["handoff-machine"] >= float64(machines), nil
	})
}

// report waits until the process is at rest, and writes how much memory it has, and the most that it has had.
func report(ctx context.Context, out io.Writer, plane *embedded.Plane, profiles string, machines int) error {
	pid := plane.PID("poundlock")
	before := -1
	if err := wait.PollUntilContextCancel(ctx, 20*time.Second, true, func(context.Context) (bool, error) {
		used, err := ticks(pid)
		rests := before >= 0 && used-before < 60
		before = used
		return rests && err == nil, err
	}); err != nil {
		return err
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d Machines a side, mirrored already\n", machines)
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "VmHWM") || strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "Rss") {
			fmt.Fprint(out, line)
		}
	}
	value, err := fetch(ctx, "http://"+profiles+"/debug/pprof/heap?debug=1")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(value)) {
		for _, of := range []string{"# HeapAlloc", "# HeapInuse", "# HeapIdle", "# HeapReleased", "# Stack", "# MSpan", "# GCSys", "# Sys", "# NumGC"} {
			if strings.HasPrefix(line, of+" ") {
				fmt.Fprint(out, line)
			}
		}
	}
	if value, err = fetch(ctx, "http://"+profiles+"/debug/pprof/heap?gc=1"); err != nil {
		return err
	}
	profile := filepath.Join(os.TempDir(), fmt.Sprintf("poundlock-heap-%d.pprof", machines))
	fmt.Fprintf(out, "its heap: go tool pprof -top -inuse_space %s\n", profile)
	return os.WriteFile(profile, value, 0o600)
}

// ticks returns how much processor time a process has used, in the unit in which Linux counts it.
func ticks(pid int) (int, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(after)
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return user + system, err
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}
