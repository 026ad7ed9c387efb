// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policiestest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies"
)

// The namespaces of the objects of every case, one for each API.
const (
	MachineAPINamespace = "openshift-machine-api"
	ClusterAPINamespace = "openshift-cluster-api"
)

// Case is one change, with the answer that one rule has to give.
type Case struct {
	// Rule is the ID of the rule. Name is the sentence of the case, with the kind and the actor.
	Rule, Name string
	Change     policies.Change
	// Denied are the fields that the rule refuses, sorted.
	Denied []string
	// Warned has, for each warning in order, words that the warning must contain.
	Warned []string
}

// Silent reports whether the rule neither denies nor warns.
func (c Case) Silent() bool { return len(c.Denied) == 0 && len(c.Warned) == 0 }

type file struct {
	Rule   string  `json:"rule"`
	Tables []table `json:"tables"`
}

type table struct {
	About string `json:"about"`
	setting
	Cases []row `json:"cases"`
}

// setting has the fields that both a table and a case can have. A case's objects are merged into the objects of the case's table.
type setting struct {
	Side        policies.Side         `json:"side,omitempty"`
	Kinds       []string              `json:"kinds,omitempty"`
	Operation   admissionv1.Operation `json:"operation,omitempty"`
	Subresource string                `json:"subresource,omitempty"`
	// Actors are the names of the actors that make the request. The empty name is a person.
	Actors      []policies.Actor           `json:"actors,omitempty"`
	DryRun      *bool                      `json:"dryRun,omitempty"`
	Propagation metav1.DeletionPropagation `json:"propagation,omitempty"`
	// Username is the name of the user, for rules that read more than the actor.
	Username string `json:"username,omitempty"`
	// FieldManager is the field manager that an UPDATE names.
	FieldManager string `json:"fieldManager,omitempty"`
	// NamespaceTerminating reports that the object's namespace is being deleted.
	NamespaceTerminating *bool `json:"namespaceTerminating,omitempty"`
	// Old is the stored object, and New is the requested object. If New is absent, the requested object is Old with Change merged into it.
	Old    json.RawMessage `json:"old,omitempty"`
	New    json.RawMessage `json:"new,omitempty"`
	Twin   json.RawMessage `json:"twin,omitempty"`
	Stored json.RawMessage `json:"stored,omitempty"`
	Infra  json.RawMessage `json:"infra,omitempty"`
	// InfraInstance is the object that the provider keeps for the instance; null for none.
	InfraInstance json.RawMessage `json:"infraInstance,omitempty"`
	// Unconvertible are the fields that a conversion reports as not convertible, each with the reason.
	Unconvertible []unconvertible `json:"unconvertible,omitempty"`
	// Uncounted are the Machines that only one of the two MachineSets of a pair counts.
	Uncounted []policies.Uncounted `json:"uncounted,omitempty"`
	// Unknown are the Machines of a set whose instances the provider does not know yet.
	Unknown []string `json:"unknown,omitempty"`
	// Hooked are the Machines of a set that have hooks which hold up their deletion.
	Hooked []string `json:"hooked,omitempty"`
	// WithNodes are the Machines of a set whose Nodes are drained before the Machines are deleted.
	WithNodes []string `json:"withNodes,omitempty"`
	// Moving are Machines that have not moved away yet.
	Moving []string `json:"moving,omitempty"`
	// Ending are the Machines that are deleted together with the object. ControlPlaneSize is the number of Machines of the control plane.
	Ending           []string `json:"ending,omitempty"`
	ControlPlaneSize int      `json:"controlPlaneSize,omitempty"`
	// ControlPlaneLost are the Machines of the control plane that have failed and whose instances are gone.
	ControlPlaneLost []string `json:"controlPlaneLost,omitempty"`
	// Undrained reports that Cluster API finds no Machine of the control plane except those being deleted.
	Undrained *bool `json:"undrained,omitempty"`
	// Owners are the Cluster API Machines that the object's owner references name.
	Owners []json.RawMessage `json:"owners,omitempty"`
	// Masters are the control plane's Machines in Cluster API.
	Masters []json.RawMessage `json:"masters,omitempty"`
	// Sets are the MachineSets of the API to which a Machine moves.
	Sets []json.RawMessage `json:"sets,omitempty"`
	// MachineAPISets are the MachineSets of the Machine API, in addition to Sets.
	MachineAPISets []json.RawMessage `json:"machineAPISets,omitempty"`
	// Siblings are the MachineSets that a rule compares with the object under review. Adoptable are the Machines that Siblings may adopt.
	Siblings  []json.RawMessage `json:"siblings,omitempty"`
	Adoptable []json.RawMessage `json:"adoptable,omitempty"`
	// Deployments are Cluster API's MachineDeployments.
	Deployments []json.RawMessage `json:"deployments,omitempty"`
	// Holders are the names of other Machines that have the same instance ID.
	Holders []string `json:"holders,omitempty"`
	// OwnerSet is the MachineSet for which a Machine is created. OwnerSetTwin is the MachineSet of the same name in the other API. null stands for none.
	OwnerSet     json.RawMessage `json:"ownerSet,omitempty"`
	OwnerSetTwin json.RawMessage `json:"ownerSetTwin,omitempty"`
	// OwnerCount has the numbers of the Cluster API MachineSet for which a Machine is created. A case replaces them as a whole.
	OwnerCount *policies.OwnerCount `json:"ownerCount,omitempty"`
	// Namesake reports that a Machine API Machine has the name of the provider's machine to which the request refers.
	Namesake *bool `json:"namesake,omitempty"`
	// InfraNamesake is the provider's machine that has the name of the Machine API Machine; null for none.
	InfraNamesake json.RawMessage `json:"infraNamesake,omitempty"`
	// KeptNamesake is the object that a provider keeps for an instance, with the name of the Machine API Machine; null for none.
	KeptNamesake json.RawMessage `json:"keptNamesake,omitempty"`
	// Leaving is the sentence about the surroundings that are being deleted (policies.Facts).
	Leaving string `json:"leaving,omitempty"`
	// PausedCluster is the name of the twin's Cluster, if that Cluster is paused.
	PausedCluster string `json:"pausedCluster,omitempty"`
}

type unconvertible struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

type row struct {
	It string `json:"it"`
	setting
	// Change is a JSON merge patch of the requested object. null removes a member.
	Change json.RawMessage `json:"change,omitempty"`
	// ExactOld and ExactNew replace top-level members of the stored and of the requested object by exactly what is written, including nulls. A member that is
	// itself null is set to null.
	ExactOld map[string]json.RawMessage `json:"exactOld,omitempty"`
	ExactNew map[string]json.RawMessage `json:"exactNew,omitempty"`
	Denied   []string                   `json:"denied,omitempty"`
	Warned   []string                   `json:"warned,omitempty"`
}

// Load reads every file of cases in a directory. It returns an error for an unknown or misspelt key, for a case without a sentence, and for two cases with one
// name.
func Load(dir string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("reading cases: no *.yaml in %s", dir)
	}
	var all []Case
	for _, path := range files {
		cases, err := load(path)
		if err != nil {
			return nil, fmt.Errorf("reading cases of %s: %w", filepath.Base(path), err)
		}
		all = append(all, cases...)
	}
	return all, unique(all)
}

func load(path string) ([]Case, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f file
	if err := yaml.UnmarshalStrict(raw, &f); err != nil {
		return nil, err
	}
	var out []Case
	for _, t := range f.Tables {
		for _, r := range t.Cases {
			cases, err := expand(f.Rule, t, r)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", t.About, r.It, err)
			}
			out = append(out, cases...)
		}
	}
	return out, nil
}

func unique(cases []Case) error {
	seen := map[[2]string]bool{}
	for _, c := range cases {
		k := [2]string{c.Rule, c.Name}
		if seen[k] {
			return fmt.Errorf("%s: two cases are called %q", c.Rule, c.Name)
		}
		seen[k] = true
	}
	return nil
}

func expand(rule string, t table, r row) ([]Case, error) {
	if r.It == "" || t.About == "" {
		return nil, fmt.Errorf("a table and a case need a sentence each")
	}
	s, err := t.merge(r.setting)
	if err != nil {
		return nil, err
	}
	if len(s.Kinds) == 0 {
		return nil, fmt.Errorf("no kinds: neither the case nor its table names one")
	}
	if len(s.Actors) == 0 {
		s.Actors = []policies.Actor{policies.Anyone}
	}
	var out []Case
	for _, kind := range s.Kinds {
		for _, actor := range s.Actors {
			change, err := s.change(r, kind, actor)
			if err != nil {
				return nil, err
			}
			denied := slices.Sorted(slices.Values(r.Denied))
			name := fmt.Sprintf("%s: %s (%s by %s)", t.About, r.It, kind, cmp.Or(string(actor), "a person"))
			out = append(out, Case{Rule: rule, Name: name, Change: change, Denied: denied, Warned: r.Warned})
		}
	}
	return out, nil
}

// merge returns a table's setting in which the fields that a case sets (over) replace those of the table. Objects are merged instead of replaced.
func (s setting) merge(over setting) (setting, error) {
	s.Side = cmp.Or(over.Side, s.Side)
	s.Operation = cmp.Or(over.Operation, s.Operation)
	s.Subresource = cmp.Or(over.Subresource, s.Subresource)
	s.Propagation = cmp.Or(over.Propagation, s.Propagation)
	s.Username = cmp.Or(over.Username, s.Username)
	s.FieldManager = cmp.Or(over.FieldManager, s.FieldManager)
	s.DryRun = cmp.Or(over.DryRun, s.DryRun)
	s.Undrained = cmp.Or(over.Undrained, s.Undrained)
	s.NamespaceTerminating = cmp.Or(over.NamespaceTerminating, s.NamespaceTerminating)
	if over.Kinds != nil {
		s.Kinds = over.Kinds
	}
	if over.Actors != nil {
		s.Actors = over.Actors
	}
	if over.Unconvertible != nil {
		s.Unconvertible = over.Unconvertible
	}
	if over.Uncounted != nil {
		s.Uncounted = over.Uncounted
	}
	if over.Unknown != nil {
		s.Unknown = over.Unknown
	}
	if over.Hooked != nil {
		s.Hooked = over.Hooked
	}
	if over.WithNodes != nil {
		s.WithNodes = over.WithNodes
	}
	if over.Moving != nil {
		s.Moving = over.Moving
	}
	if over.Ending != nil {
		s.Ending = over.Ending
	}
	s.ControlPlaneSize = cmp.Or(over.ControlPlaneSize, s.ControlPlaneSize)
	if over.ControlPlaneLost != nil {
		s.ControlPlaneLost = over.ControlPlaneLost
	}
	s.Namesake = cmp.Or(over.Namesake, s.Namesake)
	if over.Owners != nil {
		s.Owners = over.Owners
	}
	if over.Masters != nil {
		s.Masters = over.Masters
	}
	if over.Sets != nil {
		s.Sets = over.Sets
	}
	if over.MachineAPISets != nil {
		s.MachineAPISets = over.MachineAPISets
	}
	if over.Siblings != nil {
		s.Siblings = over.Siblings
	}
	if over.Adoptable != nil {
		s.Adoptable = over.Adoptable
	}
	if over.Deployments != nil {
		s.Deployments = over.Deployments
	}
	s.OwnerCount = cmp.Or(over.OwnerCount, s.OwnerCount)
	s.Leaving = cmp.Or(over.Leaving, s.Leaving)
	s.PausedCluster = cmp.Or(over.PausedCluster, s.PausedCluster)
	if over.Holders != nil {
		s.Holders = over.Holders
	}
	for _, pair := range []struct {
		at   *json.RawMessage
		with json.RawMessage
	}{{&s.Old, over.Old}, {&s.New, over.New}, {&s.Twin, over.Twin}, {&s.Stored, over.Stored}, {&s.Infra, over.Infra},
		{&s.InfraInstance, over.InfraInstance}, {&s.InfraNamesake, over.InfraNamesake},
		{&s.OwnerSet, over.OwnerSet}, {&s.OwnerSetTwin, over.OwnerSetTwin}, {&s.KeptNamesake, over.KeptNamesake}} {
		var err error
		if *pair.at, err = patch(*pair.at, pair.with); err != nil {
			return s, err
		}
	}
	return s, nil
}

// patch applies the JSON merge patch called with to base, and returns the result. If with is null, patch returns nil, which stands for no object.
func patch(base, with json.RawMessage) (json.RawMessage, error) {
	switch {
	case len(with) == 0:
		return base, nil
	case string(with) == "null":
		return nil, nil
	case len(base) == 0:
		return with, nil
	}
	return jsonpatch.MergePatch(base, with)
}

func (s setting) change(r row, kind string, actor policies.Actor) (policies.Change, error) {
	c := policies.Change{
		Subject: s.subject(kind), Operation: s.Operation, DryRun: s.DryRun != nil && *s.DryRun,
		NamespaceTerminating: s.NamespaceTerminating != nil && *s.NamespaceTerminating,
		Actor:                actor, Username: cmp.Or(s.Username, string(actor), "a person"), Propagation: s.Propagation,
		FieldManager: s.FieldManager,
	}
	before, after, err := s.objects(r)
	if err != nil {
		return c, err
	}
	if c.Old, err = s.object(kind, before); err != nil {
		return c, err
	}
	if c.New, err = s.object(kind, after); err != nil {
		return c, err
	}
	for _, o := range []*policies.Object{c.Old, c.New} {
		if o != nil && o.Metadata.Name != "" && s.Subresource == "" {
			c.Name = o.Metadata.Name
		}
	}
	c.Facts, err = s.facts(kind)
	return c, err
}

// objects returns the stored and the requested object of a case. It returns nil for the object that the operation does not have.
func (s setting) objects(r row) (before, after json.RawMessage, err error) {
	before, after = s.Old, s.New
	if len(after) == 0 {
		after = before
	}
	if after, err = patch(after, r.Change); err != nil {
		return nil, nil, err
	}
	if before, err = exactly(before, r.ExactOld); err != nil {
		return nil, nil, err
	}
	if after, err = exactly(after, r.ExactNew); err != nil {
		return nil, nil, err
	}
	switch s.Operation {
	case admissionv1.Create:
		return nil, after, nil
	case admissionv1.Delete:
		return before, nil, nil
	case admissionv1.Update:
		return before, after, nil
	}
	return nil, nil, fmt.Errorf("operation %q: want CREATE, UPDATE or DELETE", s.Operation)
}

func exactly(object json.RawMessage, members map[string]json.RawMessage) (json.RawMessage, error) {
	if len(members) == 0 {
		return object, nil
	}
	content := map[string]json.RawMessage{}
	if len(object) > 0 {
		if err := json.Unmarshal(object, &content); err != nil {
			return nil, err
		}
	}
	maps.Copy(content, members)
	return json.Marshal(content)
}

func (s setting) facts(kind string) (f policies.Facts, err error) {
	twin := setting{Side: policies.SideClusterAPI}
	if s.Side != policies.SideMachineAPI {
		twin.Side = policies.SideMachineAPI
	}
	if f.Twin, err = twin.object(coreKind(kind), s.Twin); err != nil {
		return f, err
	}
	if f.OwnerSet, err = s.object("MachineSet", s.OwnerSet); err != nil {
		return f, err
	}
	if f.OwnerSetTwin, err = twin.object("MachineSet", s.OwnerSetTwin); err != nil {
		return f, err
	}
	if f.Stored, err = s.object(kind, s.Stored); err != nil {
		return f, err
	}
	infra := setting{Side: policies.SideInfrastructure}
	if f.Infra, err = infra.object("InfraMachine", s.Infra); err != nil {
		return f, err
	}
	if f.InfraInstance, err = infra.object("InfraInstance", s.InfraInstance); err != nil {
		return f, err
	}
	if f.InfraNamesake, err = infra.object("InfraMachine", s.InfraNamesake); err != nil {
		return f, err
	}
	if f.KeptNamesake, err = infra.object("InfraInstance", s.KeptNamesake); err != nil {
		return f, err
	}
	for _, u := range s.Unconvertible {
		f.Unconvertible = append(f.Unconvertible, &field.Error{Type: field.ErrorTypeInvalid, Field: u.Field, Detail: u.Reason})
		f.ConversionRun = true
	}
	f.Uncounted, f.Holders, f.Leaving, f.UnknownInstances = s.Uncounted, s.Holders, s.Leaving, s.Unknown
	f.Hooked, f.WithNodes, f.OwnerCount = s.Hooked, s.WithNodes, s.OwnerCount
	f.PausedCluster = s.PausedCluster
	f.Namesake = s.Namesake != nil && *s.Namesake
	f.Ending, f.ControlPlaneSize, f.ControlPlaneLost, f.Moving = s.Ending, s.ControlPlaneSize, s.ControlPlaneLost, s.Moving
	f.Undrained = s.Undrained != nil && *s.Undrained
	for _, raw := range s.Owners {
		owner, err := setting{Side: policies.SideClusterAPI}.object("Machine", raw)
		if err != nil {
			return f, err
		}
		f.Owners = append(f.Owners, owner)
	}
	for _, raw := range s.Masters {
		master, err := setting{Side: policies.SideClusterAPI}.object("Machine", raw)
		if err != nil {
			return f, err
		}
		f.Masters = append(f.Masters, master)
	}
	for _, raw := range s.Sets {
		set, err := setting{Side: policies.SideClusterAPI}.object("MachineSet", raw)
		if err != nil {
			return f, err
		}
		f.Sets = append(f.Sets, set)
	}
	for _, raw := range s.MachineAPISets {
		set, err := setting{Side: policies.SideMachineAPI}.object("MachineSet", raw)
		if err != nil {
			return f, err
		}
		f.MachineAPISets = append(f.MachineAPISets, set)
	}
	for from, to := range map[*[]json.RawMessage]*[]*policies.Object{&s.Siblings: &f.Siblings, &s.Adoptable: &f.Adoptable} {
		for _, raw := range *from {
			o, err := policies.ParseObject(raw)
			if err != nil {
				return f, err
			}
			*to = append(*to, o)
		}
	}
	for _, raw := range s.Deployments {
		deployment, err := setting{Side: policies.SideClusterAPI}.object("MachineDeployment", raw)
		if err != nil {
			return f, err
		}
		f.Deployments = append(f.Deployments, deployment)
	}
	return f, nil
}
