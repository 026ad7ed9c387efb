// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/policiestest"
)

// refusedWrites are the requests of those rows of authority.Others that have to be refused, by their sentences in testdata/writers.
var refusedWrites = map[string]string{
	"Machine API's machine controller: its finalizer onto a Machine":                                                         "the machine controller adds its finalizer before it calls a cloud, by a PUT",
	"Machine API's MachineSet controller: the creation of a Machine for a MachineSet for which Cluster API is authoritative": "the machineset controller creates a Machine for its set, with the template's whole spec",
	"machine-config-operator: the boot image of a MachineSet, whenever any MachineSet changes":                               "the machine-config-controller writes a boot image into a set",
	"Hive: replicas, labels and taints of the MachineSets of a MachinePool":                                                  "Hive scales a set, labels it and writes what its Nodes are labelled with, by a PUT",
	"assisted-service: a bare-metal Machine's spec, replaced by one that only has a providerSpec":                            "assisted-service replaces the whole spec of a Machine by a providerSpec",
	"bare metal's MachineSet controller: spec.replicas of a MachineSet annotated metal3.io/autoscale-to-hosts":               "somebody asks to move a set whose replicas follow hosts",
	"console: /spec/replicas by a JSON patch, not by /scale":                                                                 "the console scales a set by a JSON patch of its main resource",
	"console: all annotations of a Machine, replaced by a mark for deletion":                                                 "the console replaces all annotations of a Machine by a mark",
	"GitOps: what its manifest has":                               "GitOps applies a manifest whose spec differs from the mirror's",
	"OpenShift's own migration: everything that Poundlock writes": "OpenShift's own migration takes over the authority of a Machine",
}

// TestWhatOthersAreRefused sends the request of each row that has to be refused. The model (test/modelcheck) walks no such request, because nothing comes of
// it. So the model would not notice if one were allowed.
func TestWhatOthersAreRefused(t *testing.T) {
	all, rest := writes(t), maps.Clone(refusedWrites)
	for _, o := range authority.Others() {
		row := o.Writer + ": " + o.Writes
		if o.Treatment != authority.Refused {
			continue
		}
		sentence := refusedWrites[row]
		delete(rest, row)
		i := slices.IndexFunc(all, func(w policiestest.Write) bool { return w.It == sentence })
		if i < 0 {
			t.Errorf("no request of writers.yaml proves that this is refused: %s", row)
			continue
		}
		stages := []string{"leftMachineAPI", "ClusterAPI", "leavingClusterAPI", "leftClusterAPI"}
		if o.Rule == "authority/request-blocked" {
			stages = []string{"MachineAPI"} // only the move is refused, once for all stages
		}
		for _, stage := range stages {
			c, err := all[i].ChangeAt(stage)
			if err != nil {
				t.Fatal(err)
			}
			c.Actor = authority.OpenShiftIdentities().Actor(o.Identity)
			refused, _ := meets(t, all[i], c, stage)
			rule := strings.TrimPrefix(o.Rule, "authority/")
			if rule == "spec-locked" && stage != "ClusterAPI" {
				rule = "in-transit" // the same lock, while authority moves
			}
			if !slices.Contains(strings.Split(refused, ", "), rule) {
				t.Errorf("%s: at %s it is refused by %q, want %s", row, stage, refused, rule)
			}
		}
	}
	for row := range rest {
		t.Errorf("no such row is refused: %s", row)
	}
}
