// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

// Off a terminal a watch writes a line for each object that has changed, and the headings once.
func TestAWatchOffATerminalWritesALineAChange(t *testing.T) {
	out := &bytes.Buffer{}
	o := &options{Plugin: &cli.Plugin{Options: cli.Options{Env: func(string) string { return "" }, Now: time.Now,
		IOStreams: genericiooptions.IOStreams{Out: out, ErrOut: out}}}}
	o.Format = "table"
	seen := map[string]string{}
	of := func(current string) survey {
		const set = `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: %s, namespace: m}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: %s}}`
		fleet, err := inventory.FromFiles([]string{"-"}, strings.NewReader(fmt.Sprintf(set+"\n---\n"+set, "still", "MachineAPI", "moves", current)),
			authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}})
		if err != nil {
			t.Fatal(err)
		}
		var out survey
		for _, pair := range fleet.Pairs {
			out.Objects = append(out.Objects, standing.Of(pair))
		}
		return out
	}
	for _, reason := range []string{"MachineAPI", "MachineAPI", "Migrating", "Migrating"} {
		if err := o.writeChanged(of(reason), seen); err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 4 || strings.Count(out.String(), "OBJECT") != 1 || !strings.Contains(lines[3], "machineset/moves") {
		t.Errorf("%s", out)
	}
	all := of("ClusterAPI")
	for i := range all.Objects {
		all.Objects[i].Reason = "Why"
	}
	if err := o.writeChanged(all, seen); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 6 || strings.Count(out.String(), "OBJECT") != 1 {
		t.Errorf("all objects have changed, as the only one does:\n%s", out)
	}
}
