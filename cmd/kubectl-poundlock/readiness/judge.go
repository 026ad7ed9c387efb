// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Readiness is, in one word, the answer to whether a pair can move.
type Readiness string

// The readinesses, the worst first.
const (
	// Blocked: the pair cannot move until a person changes something.
	Blocked Readiness = "blocked"
	// Unknown: the part of the cluster that was shown does not decide whether the pair can move.
	Unknown Readiness = "unknown"
	// Waiting: a request to move would be executed, but not at once. Nobody has to do anything.
	Waiting Readiness = "waiting"
	// Moving: the move is in progress.
	Moving Readiness = "moving"
	// Ready: a request would be executed now.
	Ready Readiness = "ready"
	// There: the requested API is authoritative already.
	There Readiness = "there"
)

// Readinesses lists all readinesses, the worst first.
func Readinesses() []Readiness { return []Readiness{Blocked, Unknown, Waiting, Moving, Ready, There} }

// Meanings explains the readinesses.
func Meanings() []Reason {
	return []Reason{
		{
			string(Blocked),
			"the object cannot move until a person changes something. In the table, the answer is `no`",
			"fix each field or reason that `kubectl poundlock check` names",
		},
		{
			string(Unknown),
			"the files do not contain enough of the cluster to decide whether the object can move",
			"add what the message names, or run the command against the cluster",
		},
		{string(Waiting), "a request to move would be carried out, but not at once. In the table, the answer is `not yet`", "nothing"},
		{string(Moving), "the object is moving to the API of --to", "nothing"},
		{string(Ready), "a request to move would be carried out now. In the table, the answer is `yes`", "nothing"},
		{string(There), "the API of --to is already authoritative. In the table, the answer is `is there`", "nothing"},
	}
}

// Answers returns the word in check's table for each readiness that has another word there.
func Answers() map[Readiness]string {
	return map[Readiness]string{Blocked: "no", Waiting: "not yet", Ready: "yes", There: "is there"}
}

// The mirror's reasons for an object that does not convert, and for a platform that is not supported.
const (
	ReasonFields   = authority.ReasonFieldsNotConvertible
	ReasonPlatform = conversion.ReasonPlatformNotSupported
)

// The reasons that only the plugin reports: neither the handoff nor the mirror has them. Function Reasons explains each.
const (
	ReasonNoObject   = "NoMachineAPIObject"
	ReasonNotManaged = "NoAuthorityFields"
	ReasonRefused    = "RequestRefused"
	ReasonRival      = "RivalMigration"
	ReasonUnknown    = "ClusterNotShown"
	ReasonUnread     = "ClusterNotRead"
	ReasonNotServed  = "KindNotServed"
	ReasonBootData   = "BootDataMissing"
)

// Reason explains a reason that only the plugin reports.
type Reason struct{ Name, Means, Do string }

// Reasons explains the reasons that only the plugin reports, and ReasonPlatform.
func Reasons() []Reason {
	return []Reason{
		{
			ReasonPlatform,
			"the cluster's platform is not supported yet, or is unknown",
			"if you use -f, also give the cluster's Infrastructure object, or --platform",
		},
		{
			ReasonUnknown,
			"whether the object converts depends on something of its cluster that the files do not have, such as the AzureCluster; " +
				"nothing else prevents the move",
			"add what the message names, or run the command against the cluster",
		},
		{
			ReasonUnread,
			"whether the object converts depends on something of the cluster that you may not read, or that the cluster does not " +
				"have; nothing else prevents the move. `kubectl poundlock migrate` requests the move all the same: Poundlock can read the whole cluster, " +
				"and its webhook warns of each field that does not convert",
			"nothing, or have a cluster administrator bind ClusterRole poundlock-viewer to you cluster-wide",
		},
		{
			ReasonNoObject,
			"the object exists only in Cluster API, so there is no Machine API object in which to request the move",
			"create a Machine API object of the same name with spec.authoritativeAPI: ClusterAPI (`kubectl poundlock convert` writes it), wait until " +
				"it is synchronized, then move it",
		},
		{
			ReasonNotManaged,
			"the CRD of this kind has no field spec.authoritativeAPI, so Poundlock does not mirror or move objects of this kind",
			"to move MachineHealthChecks too, apply the CRDs in manifests/crds, which have the field",
		},
		{
			ReasonRival,
			"OpenShift's own migration runs, or has left policies that refuse what Poundlock writes. Poundlock does nothing, because both " +
				"would write the same fields",
			"scale the Deployment that the message names to 0, and delete the named policies and their bindings. Set overrides in " +
				"ClusterVersion, or the cluster-version-operator restores all of them",
		},
		{
			ReasonNotServed,
			"the CRD of a provider's kind exists, but the API server serves no version of it that Poundlock reads, for example after an upgrade of the " +
				"provider. Nothing moves, because objects of this kind may exist that Poundlock cannot see",
			"look which versions the CRD serves (`kubectl get crd NAME -o yaml`), and upgrade or roll back the provider",
		},
		{
			ReasonBootData,
			"the Secret that a MachineSet's new Machines boot with does not exist in Cluster API's namespace, and OpenShift copies only worker-user-data. A Machine " +
				"that has booted needs its Secret only on Azure, Google Cloud and Power VS, whose providers read it again",
			"copy the Secret: the message has the command. Poundlock itself may read no Secret, so a request by kubectl is only warned about",
		},
		{
			ReasonRefused,
			"Poundlock's admission would refuse the request to move. The message is that of the rule",
			"do what the message says; the message ends with the rule's name in brackets",
		},
	}
}

// Field is a field that prevents the move.
type Field struct {
	Path   string `json:"path"`
	Value  string `json:"value,omitempty"`
	Reason string `json:"reason"`
}

// Finding is the answer for one pair.
type Finding struct {
	Kind          string        `json:"kind"`
	Namespace     string        `json:"namespace"`
	Name          string        `json:"name"`
	Authoritative authority.API `json:"authoritativeAPI"`
	To            authority.API `json:"to"`
	Readiness     Readiness     `json:"verdict"`
	// Reason is a word for scripts: the reason of the condition that the object has or would have.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Fields are all fields that do not convert.
	Fields []Field `json:"fields,omitempty"`
	// Needs names what must be shown for an answer, or for a complete one.
	Needs []string `json:"needs,omitempty"`
	// Warnings are the webhook's warnings about a request to move, each with its rule's id.
	Warnings []string `json:"warnings,omitempty"`
	// Preparations are those Warnings that a person must act on before the move, or before the set creates a Machine.
	Preparations []string `json:"preparations,omitempty"`
	// LeftOut are the fields of the Machine API object that the move does not copy, because Machine API ignores them. They do not prevent the move.
	LeftOut []Field `json:"leftOut,omitempty"`
	// Neighbours are the other components that write to the Machine API object. They are listed if Cluster API is authoritative or shall be, or if the object is
	// moving.
	Neighbours []authority.Neighbour `json:"neighbours,omitempty"`
	// Undrained says, in sentences, what Cluster API leaves out when it deletes the object's Machines, and what the remedy is.
	Undrained string `json:"undrained,omitempty"`
	// PausedCluster says, in sentences, what a paused Cluster means for the object, and what the remedy is.
	PausedCluster string `json:"pausedCluster,omitempty"`
	Source        string `json:"source,omitempty"`

	object, back string
}

// Ref is KIND/NAME: machineset/worker-a.
func (f Finding) Ref() string { return inventory.RefOf(f.Kind, f.Name) }

// Object names the object as other commands accept it: machineset.machine.openshift.io/worker-a.
func (f Finding) Object() string { return f.object }

// Back returns what a request takes back, as a word of migrate's plan (PlanTakeBack or PlanCancel); "" if the request takes nothing back.
func (f Finding) Back() string { return f.back }

// Judge decides whether the pair could move to an API. The error unknown is why no conversion of the pair can be tried; nil if one can. lacks are the objects
// and facts of its cluster that were not shown.
func Judge(p inventory.Pair, to authority.API, env conversion.Env, unknown error, lacks []inventory.Lack) Finding {
	f := Finding{
		Kind: p.Kind.Name, Namespace: p.Namespaces.MachineAPI, Name: p.Name, Authoritative: p.Authoritative(), To: to, Source: p.Source, object: p.Object(),
	}
	if p.MachineAPI != nil && affects(p, to) {
		f.Neighbours = append(authority.Neighbours(p.Kind.Name, p.MachineAPI), authority.Remediator(request(p, to, nil))...)
	}
	switch {
	case p.MachineAPI == nil:
		return alone(f, p, env, unknown, lacks)
	case p.Stored() && !p.Kind.HasAuthority(p.MachineAPI):
		return f.finding(Blocked, ReasonNotManaged, fmt.Sprintf("the CRD of %ss has no field spec.authoritativeAPI, "+
			"so Poundlock does not move them: apply the CRDs in manifests/crds",
			p.Kind.Name))
	case settledThere(p, to):
		return f.there(p)
	case Back(p, to) != "": // taking a request back does not depend on what the requested move waits for
		return f.takeBack(p)
	case GoesBack(p) && p.Authoritative() == to:
		return f.step(authority.Next(state(p, to)), p)
	case unknown != nil:
		return f.unconverted(p, unknown)
	}
	errs, needs := Unconvertible(p, env, lacks)
	needs = needs.And(Doubts(p, env, lacks))
	f.Fields, f.Needs = fields(errs), needs.Names()
	if to == authority.ClusterAPI {
		f.LeftOut = LeftOut(p, env)
	}
	j := authority.Rules().Judge(request(p, to, errs))
	f.Warnings, f.Preparations = warnings(j), authority.Preparations(request(p, to, nil))
	if p.BootData != "" { // the Secret was looked for, so nobody needs to be warned that it may be missing
		f.Warnings, f.Preparations = slices.DeleteFunc(f.Warnings, authority.NamesBootSecret), slices.DeleteFunc(f.Preparations, authority.NamesBootSecret)
	}
	f.Undrained, f.PausedCluster = authority.UndrainedBy(request(p, to, nil)), authority.PausedClusterBy(request(p, to, nil))
	return conclude(f, p, to, j, needs)
}

// judged reports whether the object's status shows the result of Poundlock's own conversion, for which Poundlock could read the whole cluster.
func judged(p inventory.Pair) bool {
	s := p.Shape()
	synchronized := s.Condition(authority.ConditionSynchronized).Status
	return p.Stored() && s.Current != authority.Unset && (synchronized == "True" || synchronized == "False")
}

// affects reports whether the finding lists the other writers of the Machine API object: the move to the given API begins, continues or ends what changes for
// these writers. They are listed after a move, too, because their controllers report refusals, and nobody looks there for the cause.
func affects(p inventory.Pair, to authority.API) bool {
	return to == authority.ClusterAPI || p.Moving() || p.Authoritative() == authority.ClusterAPI
}

// settledThere reports whether the given API is authoritative, and no move is requested or in progress. A manifest that requests Cluster API counts as moved.
func settledThere(p inventory.Pair, to authority.API) bool {
	return !p.Moving() && p.Authoritative() == to
}

// there returns the finding for an object whose authoritative API is already the requested one. If the mirror does not follow the object, the finding has the
// mirror's reason and message, which name the remedy. Nobody would learn of the problem otherwise, because nobody asks whether such an object can move.
func (f Finding) there(p inventory.Pair) Finding {
	c := p.Shape().Condition(authority.ConditionSynchronized)
	if !p.Stored() || c.Status != metav1.ConditionFalse {
		return f.finding(There, "", "")
	}
	return f.finding(There, c.Reason, "this API is already authoritative, but the mirror does not follow the object: "+c.Message)
}

// alone returns the finding for an object that exists only in Cluster API. A move to Cluster API has already ended. For a move to Machine API, the Machine API
// object that would move is missing; the finding names first what keeps the object from converting.
func alone(f Finding, p inventory.Pair, env conversion.Env, unknown error, lacks []inventory.Lack) Finding {
	if f.To == authority.ClusterAPI {
		return f.finding(There, "", "")
	}
	if unknown != nil {
		return f.unconverted(p, unknown)
	}
	errs, needs := Unconvertible(p, env, lacks)
	f.Fields, f.Needs = fields(errs), needs.Names()
	switch {
	case len(f.Fields) > 0:
		return f.fields()
	case len(f.Needs) > 0:
		return f.lacking(needs, p)
	}
	if p.Source != "" {
		f.Needs = []string{"the Machine API " + p.Kind.Name}
		return f.finding(Unknown, ReasonUnknown, fmt.Sprintf("every field converts; the files do not contain the Machine API %s of this name, in which the move is "+
			"requested: give it too (-f), or run this command against the cluster", p.Kind.Name))
	}
	return f.finding(Blocked, ReasonNoObject, fmt.Sprintf(
		"there is no Machine API %s of this name: create it with spec.authoritativeAPI: ClusterAPI, wait until it is synchronized, then move it", p.Kind.Name))
}

// named returns the fields that have a path. The entry without a path is about a missing infrastructure object. It is left out, because the finding has another
// reason.
func named(all []Field) []Field {
	return slices.DeleteFunc(slices.Clone(all), func(one Field) bool { return one.Path == "" })
}

// Unreflected returns why an object that only Cluster API has does not convert to Machine API: the mirror's reason and message. Both are "" if the object
// converts, or if that is not known.
func Unreflected(f *inventory.Fleet, p inventory.Pair) (reason, message string) {
	c := f.Describe(inventory.Cluster{})
	env, unknown := f.Env(c, p)
	if unknown != nil {
		return "", ""
	}
	errs, _ := Unconvertible(p, env, f.Lacks(c, env))
	if len(errs) == 0 {
		return "", ""
	}
	if i := slices.IndexFunc(errs, func(e *field.Error) bool { return e.Field == "" }); i >= 0 {
		return authority.ReasonInfraNotFound, errs[i].Detail
	}
	return ReasonFields, conversion.Sentences(errs)
}

// fields returns the finding for a pair with fields that do not convert. If the infrastructure object is gone, the finding reports that instead, because no
// field is wrong.
func (f Finding) fields() Finding {
	i := slices.IndexFunc(f.Fields, func(one Field) bool { return one.Path == "" })
	if i < 0 {
		return f.finding(Blocked, ReasonFields, "")
	}
	gone := f.Fields[i].Reason
	f.Fields = nil
	return f.finding(Blocked, authority.ReasonInfraNotFound, gone)
}

// unconverted returns the finding for a pair whose conversion cannot be tried.
func (f Finding) unconverted(p inventory.Pair, unknown error) Finding {
	if needs := Unplaced(p, unknown); len(needs.Names()) > 0 {
		f.Needs = needs.Names()
		return f.finding(Unknown, ReasonUnknown, unknown.Error())
	}
	if errors.As(unknown, new(inventory.NotReadyError)) {
		return f.finding(Blocked, conversion.ReasonClusterNotReady, unknown.Error())
	}
	return f.finding(Blocked, ReasonPlatform, unknown.Error())
}

// Unplaced returns what must be shown if the files do not name their platform. It returns nothing if the conversion cannot be tried for another reason.
func Unplaced(p inventory.Pair, unknown error) Needs {
	if p.Source == "" || !errors.Is(unknown, inventory.ErrPlatformNotKnown) {
		return Needs{}
	}
	return Needs{lacks: []inventory.Lack{inventory.LackOfInfrastructure()}}
}

// lacking returns the finding for a pair if a part of its cluster is missing. If an object does not exist, the finding has the mirror's reason. If an object
// was not shown, the finding is Unknown.
func (f Finding) lacking(needs Needs, p inventory.Pair) Finding {
	if missing := needs.missing(); missing.Reason != "" {
		return f.finding(Blocked, missing.Reason, missing.Message)
	}
	if p.Source == "" {
		return f.finding(Unknown, ReasonUnread, needs.Sentence(p))
	}
	return f.finding(Unknown, ReasonUnknown, needs.Sentence(p))
}

func (f Finding) finding(v Readiness, reason, message string) Finding {
	f.Readiness, f.Reason, f.Message = v, reason, message
	return f
}

// conclude returns the finding with the first problem, in the order in which a person must fix the problems.
func conclude(f Finding, p inventory.Pair, to authority.API, j policies.Judgement, needs Needs) Finding {
	if refused, is := f.refused(j); is {
		return refused
	}
	if p.Rival != "" {
		f.Fields = named(f.Fields)
		return f.finding(Blocked, ReasonRival, "Poundlock does nothing while OpenShift's own migration exists: "+p.Rival)
	}
	if len(f.Fields) > 0 {
		return f.fields()
	}
	if len(f.Needs) > 0 {
		return f.lacking(needs, p)
	}
	if why := unborn(p); why != "" && (p.Shape().Current == authority.Unset || p.Source != "" && p.ClusterAPI == nil) {
		return f.finding(Waiting, authority.ReasonInstanceUnknown, why)
	}
	if p.Shape().Current == authority.Unset {
		return f.finding(Ready, "", "every field converts; Poundlock has not reconciled the object yet, so the move may still have to wait")
	}
	if p.NotServed != "" {
		return f.finding(Blocked, ReasonNotServed, p.NotServed)
	}
	if p.BootData == policies.Absent && to == authority.ClusterAPI && p.Shape().Current == authority.MachineAPI {
		return f.finding(Blocked, ReasonBootData, bootData(p))
	}
	step := authority.Next(state(p, to))
	if step.Reason == authority.ReasonTwinMissing && p.Source != "" && p.ClusterAPI == nil {
		return f.finding(Ready, "", "every field converts; the files do not contain the Cluster API object, so the move may still have to wait for it")
	}
	return f.step(step, p)
}

// bootData returns the sentence about a Secret of boot data that does not exist in Cluster API's namespace, with the command that copies it.
func bootData(p inventory.Pair) string {
	name := authority.BootSecret(p.Kind.Name, p.MachineAPI)
	needs := "The MachineSet's new Machines boot with it"
	if p.Kind.InfraActs() {
		needs = "Cluster API's provider reads it even after the Machine has booted, and fails without it"
	}
	return fmt.Sprintf("Secret %[1]s/%[2]s does not exist. %[3]s, and OpenShift copies only worker-user-data. To copy it: kubectl -n %[4]s get secret %[2]s "+
		"-o jsonpath='{.data.userData}' | base64 -d | kubectl -n %[1]s create secret generic %[2]s --type=cluster.x-k8s.io/secret --from-literal=format=ignition "+
		"--from-file=value=/dev/stdin", p.Namespaces.ClusterAPI, name, needs, p.Namespaces.MachineAPI)
}

// refused returns the finding for a request that a rule refuses, and whether one does.
func (f Finding) refused(j policies.Judgement) (Finding, bool) {
	for _, finding := range j {
		if finding.Rule == uninitialised {
			continue // Poundlock has yet to initialise the object, and the question is whether it could move after that
		}
		for _, denial := range finding.Denials {
			f.Fields = named(f.Fields)
			return f.finding(Blocked, refusal(finding.Rule, denial.Detail), denial.Detail+" ["+finding.Rule+"]"), true
		}
	}
	return f, false
}

// takeBack returns the finding for a request that takes an earlier request back. It needs no conversion, because the object already exists in the API that the
// request names.
func (f Finding) takeBack(p inventory.Pair) Finding {
	j := authority.Rules().Judge(request(p, f.To, nil))
	if refused, is := f.refused(j); is {
		return refused
	}
	f.Warnings, f.back = warnings(j), Back(p, f.To)
	if f.back == PlanCancel {
		return f.finding(Ready, "", "the move to "+f.To.Other().Text()+" has begun, and the request cancels it: authority goes back to "+f.To.Text())
	}
	return f.finding(Ready, "", "the requested move to "+f.To.Other().Text()+" has not begun, and the new request cancels it at once")
}

// unborn returns the sentence why a Machine without an instance's ID cannot move yet; "" for any other object.
func unborn(p inventory.Pair) string {
	if !p.Kind.InfraActs() || authority.InstanceKeyOf(p.MachineAPI) != "" {
		return ""
	}
	return "spec.providerID is empty: the Machine API may be creating an instance. The Machine can move once its controller has stored the instance's ID"
}

// Needs has what must be shown for an answer, and the fields whose conversion depends on what is missing.
type Needs struct {
	lacks  []inventory.Lack
	fields []string
	// converts reports that the object converts with what was shown.
	converts bool
}

func needsOf(lacks []inventory.Lack, open field.ErrorList) Needs {
	n := Needs{lacks: lacks}
	for _, e := range open {
		n.fields = append(n.fields, Short(e.Field))
	}
	slices.Sort(n.fields)
	n.fields = slices.Compact(n.fields)
	return n
}

// And returns the needs with those of more added, in the order of more's lacks, and each name once.
func (n Needs) And(more Needs) Needs {
	n.converts = more.converts && len(n.lacks) == 0
	for _, l := range more.lacks {
		if !slices.Contains(n.Names(), l.Name) {
			n.lacks = append(slices.Clone(n.lacks), l)
		}
	}
	return n
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// Short returns a field's path as docs/fields has it: below the providerSpec, or below the spec of the infrastructure machine, and without indexes.
func Short(path string) string {
	path = indexes.ReplaceAllString(path, "[]")
	for _, way := range []string{".providerSpec.value.", "MachineTemplate.spec.template.spec.", "Machine.spec."} {
		if _, rest, found := strings.Cut(path, way); found && rest != "" {
			return rest
		}
	}
	return path
}

// Names returns the names of what must be shown; nil for nothing.
func (n Needs) Names() []string {
	var out []string
	for _, l := range n.lacks {
		out = append(out, l.Name)
	}
	return out
}

// Missing returns the mirror's sentence about the first object that the cluster does not have; "" if every object may exist.
func (n Needs) Missing() string { return n.missing().Message }

func (n Needs) missing() conversion.Missing {
	for _, l := range n.lacks {
		if l.Missing.Reason != "" {
			return l.Missing
		}
	}
	return conversion.Missing{}
}

// Sentence returns, for a person, what must be shown, for which fields, and how.
func (n Needs) Sentence(p inventory.Pair) string {
	what := "a certain answer needs " + strings.Join(n.Names(), " and ")
	if len(n.fields) > 0 {
		what += " to decide whether these fields convert: " + strings.Join(n.fields, ", ")
	} else if n.converts {
		what += ". The given objects convert, but the missing ones may keep the object from moving"
	}
	if p.Source == "" {
		return what + ". You may not read all of this, or the cluster does not have it: " + inventory.ViewerRole + "; bind the role cluster-wide"
	}
	for _, l := range n.lacks {
		if l.Rest != "" {
			what += fmt.Sprintf(". --platform, --cluster-name and --region do not describe %s completely: the answer also depends on the field %s",
				l.Name, l.Rest)
		}
	}
	what += ". Run the command against the cluster, or add "
	var commands []string
	for _, l := range n.lacks {
		if l.Command != "" {
			commands = append(commands, l.Command)
		} else {
			what += "these flags " + l.Flags + ", "
		}
	}
	if commands == nil {
		return strings.TrimSuffix(what, ", ")
	}
	what += "with -f the output of: " + strings.Join(commands, "; ")
	for _, l := range n.lacks {
		if l.Unmade != "" {
			what += ". If the cluster does not have " + l.Name + ": " + l.Unmade
		}
	}
	return what
}

// uninitialised is the id of the rule that refuses a request until status names the authoritative API. A manifest has no status. An object in a cluster without
// Poundlock has none either.
const uninitialised = "authority/uninitialised"

// refusal returns the finding's reason for a rule's denial: the handoff's reason if the object is being deleted, and ReasonRefused otherwise.
func refusal(rule, detail string) string {
	if rule == "authority/request-blocked" && strings.Contains(detail, "being deleted") {
		return authority.ReasonDeleting
	}
	return ReasonRefused
}

// step returns the finding for the handoff's next step.
func (f Finding) step(step authority.Step, p inventory.Pair) Finding {
	switch {
	case p.Shape().Current == authority.Migrating:
		return f.finding(Moving, step.Reason, step.Message)
	case step.Action == authority.Acknowledge && f.To == authority.MachineAPI && p.PausedCluster != "":
		return f.finding(Blocked, authority.ReasonPausedElsewhere,
			"the Cluster is paused (spec.paused), but Cluster API's controllers have not reported the pause yet. As soon as they report it, "+
				"a move would wait until somebody unpauses the Cluster")
	case step.Action == authority.Acknowledge:
		return f.finding(Ready, "", "")
	case step.Reason == authority.ReasonNotSynchronized:
		return f.unsynchronized(p)
	case Stuck(step.Reason), step.Reason == authority.ReasonNotProvisioned && p.Shape().Phase == "Failed",
		step.Reason == authority.ReasonUncounted && slices.ContainsFunc(p.Uncounted, func(u policies.Uncounted) bool { return u.Unreflected }):
		return f.finding(Blocked, step.Reason, because(step, p))
	}
	if why := authority.OtherInstance(request(p, f.To, nil)); why != "" && step.Reason == authority.ReasonInstanceUnknown {
		return f.finding(Blocked, step.Reason, why)
	}
	return f.finding(Waiting, step.Reason, because(step, p))
}

// Stuck reports whether the reason names something that a person must fix.
func Stuck(reason string) bool {
	return slices.Contains([]string{
		authority.ReasonNotSynchronized, authority.ReasonDeleting, authority.ReasonUnknownOrigin,
		authority.ReasonUnknownAuthority, authority.ReasonDisabled, authority.ReasonPausedElsewhere, authority.ReasonInfraShared,
		ReasonFields, ReasonPlatform, ReasonNoObject, ReasonNotManaged, ReasonRefused, ReasonRival, ReasonNotServed, ReasonBootData,
	}, reason)
}

// unsynchronized returns the finding with the mirror's own reason and message, because these name the remedy.
func (f Finding) unsynchronized(p inventory.Pair) Finding {
	c := p.Shape().Condition(authority.ConditionSynchronized)
	if c.Reason == "" {
		return f.finding(Blocked, authority.ReasonNotSynchronized, "Synchronized is False: "+c.Message)
	}
	return f.finding(Blocked, c.Reason, c.Message)
}

// because returns, in sentences, what a step waits for.
func because(step authority.Step, p inventory.Pair) string {
	message, _, _ := strings.Cut(step.Message, " To cancel,") // before a move there is nothing to cancel
	if step.On.Has(authority.WhoMachines) {
		message += " " + strings.Join(authority.NameUncounted(p.Uncounted), "; ") + "."
	}
	if kept := p.AlsoKept; step.On.Has(authority.WhoHolders) && len(kept) > 0 && len(p.Holders) == 0 {
		message += " That is " + strings.Join(kept, ", ") + ". " + authority.LetGoOfKept(p.Namespaces.ClusterAPI, kept) + "."
	} else if step.On.Has(authority.WhoHolders) {
		message += " The same instance also belongs to Machine " + strings.Join(p.Holders, ", ") + "."
	}
	return message
}

func state(p inventory.Pair, to authority.API) authority.State {
	asked := p.MachineAPI
	if p.Shape().Current != authority.Migrating { // a move in progress is reported as it is, and not as a request to cancel it would change it
		asked = asking(asked, to)
	}
	s := authority.Objects{
		Kind: p.Kind, MachineAPI: asked, ClusterAPI: p.ClusterAPI, Infra: p.Infra, InfraInstance: p.InfraInstance, InstancesUnserved: p.InstancesUnknown,
		InfraFinalizer: InfraFinalizer(p), Uncounted: p.Uncounted, Holders: p.Holders, AlsoKept: p.AlsoKept, Enabled: true,
	}.Foresee()
	s.ClusterPaused = p.PausedCluster != ""
	return s
}

// InfraFinalizer returns the finalizer that the provider's controller sets on the pair's infrastructure object.
func InfraFinalizer(p inventory.Pair) string {
	ref := p.InfraRef()
	return authority.InfraFinalizer(ref.APIGroup, ref.Kind)
}

// Unconvertible returns the errors of a conversion from the authoritative API to the other API. It leaves out errors that might change with an object that was
// not shown; needs then has what to show. The mirror's condition Synchronized decides instead if it is known, because the mirror reads the whole cluster.
func Unconvertible(p inventory.Pair, env conversion.Env, lacks []inventory.Lack) (errs field.ErrorList, needs Needs) {
	if ref := p.InfraRef(); p.Source != "" && ref.Name != "" && p.Infra == nil && p.Authoritative() == authority.ClusterAPI {
		return nil, Needs{lacks: []inventory.Lack{inventory.LackOf(referred(env, ref.Kind), ref.Name, p.Namespaces.ClusterAPI)}}
	}
	synchronized := p.Shape().Condition(authority.ConditionSynchronized)
	if synchronized.Reason == ReasonFields {
		lacks = nil
	}
	certain, open, fewest := inventory.Sift(env, lacks, func(e conversion.Env) field.ErrorList { return unconvertible(p, e) })
	if p.Source == "" && judged(p) && synchronized.Status == "True" { // an object in a file may have been edited since the mirror judged it
		if slices.ContainsFunc(lacks, inventory.Lack.Decides) {
			return nil, Needs{} // the mirror read the whole cluster, and could convert the object
		}
		return certain, Needs{}
	}
	return certain, needsOf(fewest, open)
}

// referred returns the platform's resource of a kind. If the platform has no such kind, the resource's name is derived from the kind.
func referred(env conversion.Env, kind string) conversion.Resource {
	for _, r := range env.Platform.Resources() {
		if r.Kind == kind {
			return r
		}
	}
	return conversion.Resource{GroupVersionKind: schema.GroupVersionKind{Group: clusterv1.GroupVersionInfrastructure.Group, Kind: kind},
		Plural: strings.ToLower(kind) + "s"}
}

// Doubts returns the lacks that may prevent the move of a pair, although the pair converts with what was shown. There are none if Poundlock itself has
// converted the pair.
func Doubts(p inventory.Pair, env conversion.Env, lacks []inventory.Lack) Needs {
	if judged(p) {
		return Needs{}
	}
	return Needs{lacks: inventory.Doubts(env, lacks, func(e conversion.Env) field.ErrorList { return unconvertible(p, e) }), converts: true}
}

// unconvertible returns the errors of the conversion that the webhook would try.
func unconvertible(p inventory.Pair, env conversion.Env) field.ErrorList {
	if p.Authoritative() == authority.MachineAPI || p.ClusterAPI == nil {
		return core.Check(p.Kind.Name, p.MachineAPI.Raw(), env)
	}
	var infra []byte
	switch {
	case p.Infra != nil:
		infra = p.Infra.Raw()
	case p.MachineAPI != nil && authority.TakesOver(request(p, authority.MachineAPI, nil)):
		infra = core.StandIn(p.Kind.Name, p.MachineAPI.Raw(), env)
	}
	errs := core.CheckTwin(p.Kind.Name, p.ClusterAPI.Raw(), infra, env)
	if ref := p.InfraRef(); infra == nil && ref.Name != "" {
		p.Kind.ReportNoInfra(errs, fmt.Sprintf("%s %s/%s", ref.Kind, p.Namespaces.ClusterAPI, ref.Name), p.MachineAPI, p.ClusterAPI)
	}
	return errs
}

func fields(errs field.ErrorList) []Field {
	var out []Field
	for _, e := range errs {
		f := Field{Path: e.Field, Reason: e.Detail}
		switch v := e.BadValue.(type) {
		case nil, field.OmitValueType:
		default:
			f.Value = fmt.Sprint(v)
		}
		out = append(out, f)
	}
	return out
}

// LeftOut returns the fields of a pair's Machine API object that a conversion to Cluster API leaves out, because Machine API ignores them.
func LeftOut(p inventory.Pair, env conversion.Env) []Field {
	var out []Field
	for _, n := range core.Notes(p.Kind.Name, p.MachineAPI.Raw(), env) {
		out = append(out, Field{Path: n.Path, Reason: n.Text})
	}
	return out
}

// request is the change that `kubectl patch` of spec.authoritativeAPI makes, with the facts that the webhook gathers.
func request(p inventory.Pair, to authority.API, errs field.ErrorList) policies.Change {
	return policies.Change{
		Subject: policies.Subject{
			Side: policies.SideMachineAPI, Kind: p.Kind.Name, Resource: p.Kind.MachineAPI.WithResource(p.Kind.Resource).GroupResource(),
			Namespace: p.Namespaces.MachineAPI, Name: p.Name, TwinNamespace: p.Namespaces.ClusterAPI,
		},
		Operation: admissionv1.Update, DryRun: true,
		Old: p.MachineAPI, New: asking(p.MachineAPI, to),
		Facts: policies.Facts{Twin: p.ClusterAPI, TwinLive: true, Infra: p.Infra, InfraInstance: p.InfraInstance, Unconvertible: errs, ConversionRun: true,
			Uncounted: p.Uncounted, Holders: p.Holders, AlsoKept: p.AlsoKept, Remediation: p.Remediation, Rival: p.Rival, Undrained: p.Undrained,
			PausedCluster: p.PausedCluster},
	}
}

// asking returns a copy of the object with another spec.authoritativeAPI. An object that cannot be changed is returned as it is.
func asking(o *policies.Object, to authority.API) *policies.Object {
	var content map[string]any
	if json.Unmarshal(o.Raw(), &content) != nil {
		return o
	}
	spec, ok := content["spec"].(map[string]any)
	if !ok {
		return o
	}
	spec["authoritativeAPI"] = string(to)
	raw, err := json.Marshal(content)
	if err != nil {
		return o
	}
	out, err := policies.ParseObject(raw)
	if err != nil {
		return o
	}
	return out
}

func warnings(j policies.Judgement) []string {
	var out []string
	for _, f := range j {
		for _, w := range f.Warnings {
			out = append(out, w+" ["+f.Rule+"]")
		}
	}
	return out
}
