// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
)

// rival is OpenShift's own migration, as far as it can be seen from outside.
const rival = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: cluster-capi-operator, namespace: openshift-cluster-api}, spec: {selector: {matchLabels: {k8s-app: cluster-capi-operator}},
  template: {metadata: {labels: {k8s-app: cluster-capi-operator}}, spec: {containers: [{name: cluster-capi-operator, image: example.com/a}, {name: machine-api-migration, image: example.com/a}]}}}}`

// Two controllers that move the same objects would undo each other's writes for ever. So Poundlock does nothing beside OpenShift's own migration, and says that
// to a person who requests a move. It goes on when that migration is stopped. Its locks hold meanwhile.
func TestPoundlockStandsStillBesideItsRival(t *testing.T) {
	stories.Long(t)
	story(t)
	set := newSet(t, "contested", 1)
	if a := kubectl(t, rival, "create", "-f", "-"); !a.ok {
		t.Fatal(a.err)
	}
	restart(t)

	text := strings.Join(request(t, set, "ClusterAPI").warnings(), "\n")
	if !strings.Contains(text, "nothing moves: OpenShift's own migration is active, so Poundlock does nothing") ||
		!strings.Contains(text, "Deployment openshift-cluster-api/cluster-capi-operator with the container machine-api-migration") {
		t.Errorf("the request for a move is answered: %s", text)
	}
	if a := kubectl(t, "", capiSet(set.name).args("scale", "--replicas=4")...); a.ok {
		t.Error("the mirror could be scaled while Poundlock stands still")
	}
	if !strings.Contains(metrics(t), "poundlock_standing_still 1") {
		t.Error("no metric says that Poundlock stands still")
	}
	if message := metrics(t); strings.Contains(message, `controller="handoff-machineset"`) || strings.Contains(message, `controller="mirror-machineset"`) {
		t.Error("the controllers that mirror and move run beside a rival")
	}

	must(t, "-n", "openshift-cluster-api", "scale", "deployment", "cluster-capi-operator", "--replicas=0")
	restart(t)
	authorityIs(t, set, "ClusterAPI")
	settled(t, set)
	must(t, "-n", "openshift-cluster-api", "delete", "deployment", "cluster-capi-operator")
}

// restart ends Poundlock's process and starts another one, as the kubelet does when Poundlock ends because a rival has come or gone. The flags only apply to
// this start.
func restart(t *testing.T, flags ...string) {
	t.Helper()
	if err := stage.StopManager(); err != nil {
		t.Fatal(err)
	}
	if err := stage.StartManager(context.WithoutCancel(t.Context()), flags...); err != nil {
		t.Fatal(err)
	}
}

func metrics(t *testing.T) string {
	t.Helper()
	answer, err := http.Get(stage.MetricsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
