// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policiestest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies"
)

// Write is a request of another component to an object that Poundlock mirrors, with what the rules answer.
type Write struct {
	// Rows are the rows in the survey of writers that this request stands for.
	Rows []int `json:"rows"`
	// It describes the request in a sentence: who does what, and how.
	It string `json:"it"`
	// Nothing is the reason why these rows have no request to objects that Poundlock mirrors. A Write has either Nothing or a Kind.
	Nothing string `json:"nothing,omitempty"`
	// As is the actor that writes. If it is empty, a person writes.
	As          policies.Actor        `json:"as,omitempty"`
	Side        policies.Side         `json:"side,omitempty"`
	Kind        string                `json:"kind,omitempty"`
	Subresource string                `json:"subresource,omitempty"`
	Operation   admissionv1.Operation `json:"operation,omitempty"`
	// Old, Twin, Set and Infra are merge patches of objects as they are at each stage. Old is for the object under review, Twin for the object of the other API,
	// Set for the MachineSet that owns a Machine, and Infra for the infrastructure machine. NoTwin means that the other API has no object.
	Old    json.RawMessage `json:"old,omitempty"`
	Twin   json.RawMessage `json:"twin,omitempty"`
	Set    json.RawMessage `json:"set,omitempty"`
	Infra  json.RawMessage `json:"infra,omitempty"`
	NoTwin bool            `json:"noTwin,omitempty"`
	// Change is the request as a JSON merge patch. null removes a member.
	Change json.RawMessage `json:"change,omitempty"`
	// Refused are the rules that refuse the request, by stage or group of stages. Rules are named without their family (the part before the slash). At all other
	// stages the request passes.
	Refused map[string]string `json:"refused,omitempty"`
	// Others are the rules that refuse the same request from any other actor. If Others is nil, these are the rules in Refused.
	Others map[string]string `json:"others,omitempty"`
	// Except are, for single actors, the rules that refuse the request in place of those in Refused or Others.
	Except map[policies.Actor]map[string]string `json:"except,omitempty"`
	// Warned are the rules that warn about the request, whichever actor makes it.
	Warned map[string]string `json:"warned,omitempty"`
	// Kept are the members of the object, as paths with dots, that stay stored although the request leaves them out.
	Kept []string `json:"kept,omitempty"`
}

// Stages returns the stages at which a pair can be, in the order of a move to Cluster API and back.
func Stages() []string {
	return []string{"new", "MachineAPI", "leavingMachineAPI", "leftMachineAPI", "ClusterAPI", "leavingClusterAPI", "leftClusterAPI"}
}

// LoadWrites reads a file of writes. It returns an error for an unknown key, and for a group of stages that does not exist.
func LoadWrites(path string) ([]Write, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f struct {
		Writers []Write `json:"writers"`
	}
	if err := yaml.UnmarshalStrict(raw, &f); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, w := range f.Writers {
		if len(w.Rows) == 0 || w.It == "" || (w.Kind == "") == (w.Nothing == "") {
			return nil, fmt.Errorf("%v %q: a write needs its rows, a sentence, and an object or the reason why there is none", w.Rows, w.It)
		}
		for _, by := range slices.Concat([]map[string]string{w.Refused, w.Others, w.Warned}, slices.Collect(maps.Values(w.Except))) {
			for group := range by {
				if len(w.stagesOf(group)) == 0 {
					return nil, fmt.Errorf("%q: there is no stage %q", w.It, group)
				}
			}
		}
	}
	return f.Writers, nil
}

// stagesOf returns the stages of a group, or the stage itself if the name is that of a stage. It returns nil if there is neither. The group mirror has the
// stages at which the object of the write's side is not authoritative.
func (w Write) stagesOf(group string) []string {
	moving := []string{"leavingMachineAPI", "leftMachineAPI", "leavingClusterAPI", "leftClusterAPI"}
	mirror := []string{"ClusterAPI"}
	if w.Side != policies.SideMachineAPI {
		mirror = []string{"new", "MachineAPI"}
	}
	switch group {
	case "always":
		return Stages()
	case "moving":
		return moving
	case "mirror":
		return mirror
	case "locked":
		return slices.Concat(mirror, moving)
	}
	if slices.Contains(Stages(), group) {
		return []string{group}
	}
	return nil
}

// RefusedBy returns the rules that refuse the request if this actor makes it, by stage or group of stages.
func (w Write) RefusedBy(actor policies.Actor) map[string]string {
	except, known := w.Except[actor]
	switch {
	case known:
		return except
	case w.Others != nil && actor != w.As:
		return w.Others
	}
	return w.Refused
}

// At returns the text that by has for a stage. If several groups contain the stage, the group with the fewest stages decides.
func (w Write) At(by map[string]string, stage string) (text string) {
	narrowest := len(Stages()) + 1
	for group, of := range by {
		if stages := w.stagesOf(group); slices.Contains(stages, stage) && len(stages) < narrowest {
			text, narrowest = of, len(stages)
		}
	}
	return text
}

// ChangeAt returns the request as a policies.Change at a stage.
func (w Write) ChangeAt(stage string) (policies.Change, error) {
	s := setting{Side: w.Side, Subresource: w.Subresource, Operation: w.Operation}
	if s.Operation == "" {
		s.Operation = admissionv1.Update
	}
	c := policies.Change{Subject: s.subject(w.Kind), Operation: s.Operation}
	whole := s
	whole.Subresource = ""
	before, err := patch(standing(w.Side, w.Kind, stage), w.Old)
	if err != nil {
		return c, err
	}
	if c.Facts, err = w.facts(stage); err != nil {
		return c, err
	}
	if w.Subresource == "scale" {
		if c.Facts.Stored, err = whole.object(w.Kind, before); err != nil {
			return c, err
		}
		before = json.RawMessage(`{"spec":{"replicas":2}}`)
	}
	after, err := patch(before, w.Change)
	if err != nil {
		return c, err
	}
	if s.Operation != admissionv1.Create {
		if c.Old, err = s.object(w.Kind, before); err != nil {
			return c, err
		}
	}
	if s.Operation != admissionv1.Delete {
		if c.New, err = s.object(w.Kind, after); err != nil {
			return c, err
		}
		if c.New.Metadata.GenerateName != "" {
			c.Name = ""
		}
	}
	for _, o := range []*policies.Object{c.Old, c.New} {
		if o != nil && o.Metadata.Name != "" && w.Subresource == "" {
			c.Name = o.Metadata.Name
		}
	}
	return c, nil
}

func (w Write) facts(stage string) (f policies.Facts, err error) {
	other, twin := setting{Side: policies.SideMachineAPI}, coreKind(w.Kind)
	if w.Side == policies.SideMachineAPI {
		other.Side = policies.SideClusterAPI
	}
	if !w.NoTwin {
		raw, err := patch(standing(other.Side, twin, stage), w.Twin)
		if err != nil {
			return f, err
		}
		if f.Twin, err = other.object(twin, raw); err != nil {
			return f, err
		}
	}
	if w.Side != policies.SideInfrastructure && twin == "Machine" {
		raw, err := patch(standing(policies.SideInfrastructure, "InfraMachine", stage), w.Infra)
		if err != nil {
			return f, err
		}
		if f.Infra, err = (setting{Side: policies.SideInfrastructure}).object("InfraMachine", raw); err != nil {
			return f, err
		}
	}
	if len(w.Set) > 0 {
		raw, err := patch(standing(w.Side, "MachineSet", stage), w.Set)
		if err != nil {
			return f, err
		}
		set, err := (setting{Side: w.Side}).object("MachineSet", raw)
		if err != nil {
			return f, err
		}
		f.Owners = append(f.Owners, set)
	}
	return f, nil
}

// standing returns the object of a side and kind as it is at a stage.
func standing(side policies.Side, kind, stage string) json.RawMessage {
	if side == policies.SideMachineAPI {
		return machineAPIAt(kind, stage)
	}
	paused, acknowledged := stage != "ClusterAPI", stage == "leftClusterAPI" || strings.HasSuffix(stage, "MachineAPI") || stage == "new"
	metadata := map[string]any{"labels": map[string]any{"cluster.x-k8s.io/cluster-name": "c"}, "generation": 1}
	annotations := map[string]any{"poundlock.openshift.io/mirror-of": coreKind(kind) + "/" + ObjectName}
	if paused {
		annotations["cluster.x-k8s.io/paused"] = "true"
	}
	metadata["annotations"] = annotations
	spec := map[string]any{}
	switch kind {
	case "Machine":
		metadata["finalizers"] = []any{"sync.machine.openshift.io/finalizer", "machine.cluster.x-k8s.io"}
		spec = map[string]any{"clusterName": "c", "providerID": "aws:///us-east-1a/i-1", "bootstrap": map[string]any{"dataSecretName": "worker-user-data"},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": ObjectName}}
	case "MachineSet":
		metadata["finalizers"] = []any{"sync.machine.openshift.io/finalizer"}
		spec = map[string]any{"clusterName": "c", "replicas": 2, "template": map[string]any{"spec": map[string]any{"clusterName": "c"}}}
	case "MachineHealthCheck":
		metadata["finalizers"] = []any{"sync.machine.openshift.io/finalizer"}
		spec = map[string]any{"clusterName": "c"}
	case "InfraMachine":
		metadata["finalizers"] = []any{"awsmachine.infrastructure.cluster.x-k8s.io"}
		spec = map[string]any{"providerID": "aws:///us-east-1a/i-1", "instanceID": "i-1", "instanceType": "m5.large"}
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": ObjectName, "uid": "u",
			"controller": true}}
	case "InfraMachineTemplate":
		spec = map[string]any{"template": map[string]any{"spec": map[string]any{"instanceType": "m5.large"}}}
	}
	return encode(map[string]any{"metadata": metadata, "spec": spec, "status": map[string]any{
		"conditions": []any{condition("Paused", acknowledged)}, "initialization": map[string]any{"provisioned": true, "infrastructureProvisioned": true}}})
}

// machineAPIAt returns the Machine API object of a kind as it is at a stage, with all fields of authority.
func machineAPIAt(kind, stage string) json.RawMessage {
	requested, status := "MachineAPI", map[string]any{"phase": "Running", "synchronizedGeneration": 1, "providerStatus": map[string]any{"instanceId": "i-1"}}
	switch stage {
	case "MachineAPI":
		status["authoritativeAPI"], status["synchronizedAPI"] = "MachineAPI", "MachineAPI"
	case "ClusterAPI":
		requested, status["authoritativeAPI"], status["synchronizedAPI"] = "ClusterAPI", "ClusterAPI", "ClusterAPI"
	case "leavingMachineAPI", "leftMachineAPI":
		requested, status["authoritativeAPI"], status["synchronizedAPI"] = "ClusterAPI", "Migrating", "MachineAPI"
	case "leavingClusterAPI", "leftClusterAPI":
		status["authoritativeAPI"], status["synchronizedAPI"] = "Migrating", "ClusterAPI"
	}
	spec := map[string]any{"authoritativeAPI": requested}
	metadata := map[string]any{"labels": map[string]any{"machine.openshift.io/cluster-api-cluster": "c"}, "generation": 1,
		"finalizers": []any{"sync.machine.openshift.io/finalizer"}}
	provider := map[string]any{"value": map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig",
		"instanceType": "m5.large",
		"ami":          map[string]any{"id": "ami-1"}}}
	switch kind {
	case "Machine":
		metadata["annotations"] = map[string]any{"machine.openshift.io/instance-state": "running"}
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "machine.openshift.io/v1beta1",
			"kind": "MachineSet", "name": "s", "uid": "u", "controller": true}}
		spec["providerSpec"], spec["providerID"] = provider, "aws:///us-east-1a/i-1"
	case "MachineSet":
		metadata["annotations"] = map[string]any{"machine.openshift.io/vCPU": "2"}
		spec["replicas"], spec["template"] = 2, map[string]any{"spec": map[string]any{"providerSpec": provider, "authoritativeAPI": requested}}
	}
	if stage == "new" {
		return encode(map[string]any{"metadata": metadata, "spec": spec})
	}
	status["conditions"] = []any{condition("Paused", stage == "leftMachineAPI" || strings.HasSuffix(stage, "ClusterAPI")), condition("Synchronized", true),
		condition("AuthoritySettled", !strings.HasPrefix(stage, "lea") && !strings.HasPrefix(stage, "lef"))}
	return encode(map[string]any{"metadata": metadata, "spec": spec, "status": status})
}

func condition(kind string, is bool) map[string]any {
	status := "False"
	if is {
		status = "True"
	}
	return map[string]any{"type": kind, "status": status, "reason": "Stage", "lastTransitionTime": "2026-01-01T00:00:00Z"}
}

func encode(o map[string]any) json.RawMessage {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // never reached: objects hold only texts, numbers and lists of these
	}
	return raw
}
