// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/installation"
)

// shown is what a look shows, a line an object that differs, and how providers stand.
func (c *cluster) shown() string {
	c.Helper()
	as, err := plane.As(account) // it reads no more than the installer may
	if err != nil {
		c.Fatal(err)
	}
	v, err := Look(c.Context(), as, Options{})
	if err != nil {
		c.Fatal(err)
	}
	out := fmt.Sprintln(v.Problem, v.Waits)
	for _, p := range v.Providers {
		out += fmt.Sprintln(p.Label(), p.Progress.Stage, p.Progress.Waits)
		if p.Progress.Trouble != "" {
			out += "trouble: " + p.Progress.Trouble + "\n"
		}
		for _, o := range p.Objects {
			if o.Unread != nil {
				out += fmt.Sprintf("%s/%s: it cannot be read: %v\n", o.Want.GetKind(), o.Want.GetName(), o.Unread)
			}
			for _, line := range append(o.Differences, o.Added...) {
				out += fmt.Sprintf("%s/%s: %s\n", o.Want.GetKind(), o.Want.GetName(), line)
			}
		}
	}
	return out
}

func TestALookShowsWhatDiffersAndWritesNothing(t *testing.T) {
	c := newCluster(t)
	says := func(parts ...string) {
		t.Helper()
		out := c.shown()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("%q is not in\n%s", part, out)
			}
		}
	}
	says("the core provider's ConfigMap is missing")
	c.standin.Crash("aws-manager", true)
	c.release(both(t)...)
	says("ClusterRole/aws-manager: it is not there")
	c.eventually("aws waits for its pods", func() error {
		_, err := c.once()
		if m := c.condition(progressing).Message; err == nil && (!strings.Contains(m, "Deployment/aws-manager") || strings.Contains(m, "cluster-api v1.0.0")) {
			return errWaits
		}
		return err
	})
	says("infrastructure-aws 7 Deployment/aws-manager", "cluster-api 0")
	c.standin.Crash("aws-manager", false)
	c.untilDone()
	if out := c.shown(); strings.Contains(out, "/") {
		t.Errorf("nothing differs, and it shows\n%s", out)
	}
	c.edit("Deployment", "aws-manager", types.StrategicMergePatchType,
		`{"spec": {"replicas": 2, "template": {"spec": {"hostNetwork": true, "priorityClassName": "x"}}}}`)
	c.edit("ClusterRole", "aws-manager", types.MergePatchType, `{"rules": []}`)
	says("Deployment/aws-manager: .spec.template.spec.hostNetwork (kubectl-edit)", "ClusterRole/aws-manager: rules:")
	if o := c.must("Deployment", "aws-manager"); o.GetLabels()[installation.InstalledByLabel] == "" {
		t.Error("looking has written")
	}
}
