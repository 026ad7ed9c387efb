// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies"
)

// requests reports whether an update changes which API the object asks for in spec.authoritativeAPI.
func requests(c policies.Change) bool {
	return c.Operation == admissionv1.Update && askedFor(c.Old) != askedFor(c.New)
}

// askedFor returns the API that an object's spec.authoritativeAPI asks for. If the field is absent, that is MachineAPI, because the Machine API reads it so.
func askedFor(o *policies.Object) API {
	if asked := Read(o).Requested; asked != Unset {
		return asked
	}
	return MachineAPI
}

// moves reports whether an update asks for a move, or to continue a move that was cancelled. It is false for an update that withdraws a request.
func moves(c policies.Change) bool {
	return requests(c) && askedFor(c.New) != stand(c).authoritative()
}

// Uninitialised refuses changes of spec.authoritativeAPI until Poundlock has stored its value in status: before that, a request to move cannot be distinguished
// from the state (DESIGN §3.3). All other fields stay editable.
func Uninitialised(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock || Read(c.Old).Current != Unset || !requests(c) {
		return policies.Verdict{}
	}
	return policies.Deny(field.Forbidden(requestPath, fmt.Sprintf(
		"status.authoritativeAPI of this %s is not set yet: try again in a moment. If it stays empty, Poundlock's manager is not running, or the feature gate "+
			"MachineAPIMigration is off", c.Kind)))
}

// RequestBlocked refuses a request to move that can never be carried out. Every other request is stored: "The migration request will always be persisted"
// (converting › Workflow extension).
func RequestBlocked(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock || !moves(c) {
		return policies.Verdict{}
	}
	switch {
	case c.Old.Deleting():
		return policies.Deny(field.Forbidden(requestPath, fmt.Sprintf("this %s is being deleted, so its authority cannot move", c.Kind)))
	case ofRelease(c.Kind, c.Old) && askedFor(c.New) == ClusterAPI:
		return policies.Deny(field.Forbidden(requestPath, fmt.Sprintf(
			"this %s is part of the release: the cluster-version-operator writes its whole spec back, and would undo the move. "+
				"Leave it with Machine API, and create another %s for the Machines of Cluster API",
			c.Kind, c.Kind)))
	case scaledByHosts(c):
		return policies.Deny(field.Forbidden(requestPath,
			fmt.Sprintf("metadata.annotations[%s]: because of this annotation a controller of Machine API sets the set's replicas, whichever API is authoritative. "+
				"Remove the annotation first",
				hostsAnnotation)))
	case c.Facts.Twin.Deleting():
		return policies.Deny(field.Forbidden(requestPath, twinGoing(c)))
	}
	if going := providersGoing(c); going != nil {
		return policies.Deny(field.Forbidden(requestPath, infraGoing(c, going)))
	}
	return policies.Verdict{}
}

// providersGoing returns the provider's object that is being deleted: the infrastructure machine, or the object that the provider keeps for the instance. It
// returns nil if neither is. The instance is terminated with either object, so the handoff waits for both (Objects.withInfraInstance).
func providersGoing(c policies.Change) *policies.Object {
	kind, _ := KindNamed(c.Kind)
	o := Objects{Kind: kind, MachineAPI: c.Old, ClusterAPI: c.Facts.Twin, Infra: c.Facts.Infra, InfraInstance: c.Facts.InfraInstance}
	switch {
	case !kind.InfraActs():
		return nil
	case o.Infra.Deleting():
		return o.Infra
	case o.own().InfraInstance.Deleting():
		return o.InfraInstance
	}
	return nil
}

// scaledByHosts reports whether a request asks to move a MachineSet whose replicas are decided by a controller of the Machine API that ignores authority.
func scaledByHosts(c policies.Change) bool {
	return c.Kind == "MachineSet" && askedFor(c.New) == ClusterAPI && c.New.HasAnnotation(hostsAnnotation)
}

// terminationHandler is the name of the one MachineHealthCheck that is part of an OpenShift release.
const terminationHandler = "machine-api-termination-handler"

// ofRelease reports whether the object is a MachineHealthCheck of the release, which the cluster-version-operator keeps as the release has it.
func ofRelease(kind string, o *policies.Object) bool {
	return kind == "MachineHealthCheck" &&
		(o.Metadata.Name == terminationHandler || slices.ContainsFunc(o.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool {
			return r.Kind == "ClusterVersion" && strings.HasPrefix(r.APIVersion, "config.openshift.io/")
		}))
}

// twinGoing returns the reason for refusing a move while the twin is being deleted. If the twin is authoritative, the object is deleted with it
// (DeletionState), so the text does not advise to wait.
func twinGoing(c policies.Change) string {
	going := there(c) + " is being deleted"
	if stand(c).Current == ClusterAPI {
		return fmt.Sprintf("%s, and this %s will be deleted with it, so authority cannot move. Create another %s for Machine API instead", going, c.Kind, c.Kind)
	}
	return going + ", so authority cannot move. Try again when that object is gone"
}

func infraGoing(c policies.Change, object *policies.Object) string {
	infra := fmt.Sprintf("%s %s/%s is being deleted", object.Kind, c.TwinNamespace, object.Metadata.Name)
	if stand(c).authoritative() == MachineAPI {
		return infra + ", so authority cannot move. Try again when Poundlock has recreated that object"
	}
	return fmt.Sprintf("%s, and its controller terminates the instance, so authority cannot move. Delete this Machine too, or try again when that object is "+
		"gone: %s",
		infra, deleteThere(c))
}

// RequestWarning returns the warnings for a request to move: "a webhook will be introduced to validate the migration request … and return a warning response to
// the user if the migration is not possible" (converting › Workflow extension).
//
// The order matters: a review has room for some 3,500 characters of warnings, and of the warnings beyond that it only gives the number (fit in
// webhooks/warnings.go). So the most important come first: that nothing moves at all, and why the move will not start. Next come what the move waits for and
// what changes for deletions, then what a person has to prepare and which other components are affected. At the end is what the move includes and what may
// follow from it.
func RequestWarning(c policies.Change) policies.Verdict {
	if c.Actor == policies.Poundlock {
		return policies.Verdict{}
	}
	s := stand(c)
	if !requests(c) {
		return policies.Warn(decisionWarning(c, s)...)
	}
	if len(RequestBlocked(c).Denials) > 0 {
		return policies.Verdict{} // the request is refused, so no warning about the move would be true
	}
	if !moves(c) {
		return policies.Warn(CancelWarning(askedFor(c.New), moveTo(c, askedFor(c.Old))))
	}
	if hopeless(c) {
		return policies.Warn(unconvertibleWarnings(c, s.authoritative().Other(), "")...) // what else the move would wait for does not matter
	}
	return policies.Warn(concat(
		gateWarning(c),
		rivalWarnings(c),
		leavingWarning(c),
		pausedClusterWarning(c),
		unconvertibleWarnings(c, s.authoritative().Other(), "the move will not start"),
		taintsInTheWay(c, s),
		synchronizedWarning(c, s),
		waitWarnings(c, s),
		failedWarning(c, s),
		uncountedWarnings(c),
		undrainedWarning(c),
		Preparations(c),
		neighbourWarnings(c),
		extentWarning(c, s),
		adopterWarnings(c, s),
		deploymentWarnings(c, s),
		decisionWarning(c, s),
	)...)
}

// CancelWarning returns the warning for a request that is withdrawn. The API "stays" stays authoritative, and the text "move" is the command that requests the
// move again.
func CancelWarning(stays API, move string) string {
	return fmt.Sprintf("spec.authoritativeAPI: this cancels the move, and %s stays authoritative. To move after all: %s", stays.Text(), move)
}

func concat(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// hopeless reports whether no object of the kind can be converted in this cluster, whatever its fields are. The conversion reports that by an error without a
// path, whose detail is the whole message.
func hopeless(c policies.Change) bool {
	return slices.ContainsFunc(c.Facts.Unconvertible, func(e *field.Error) bool { return e.Field == "" })
}

// unconvertibleWarnings returns a warning for each field that cannot be converted to an API, and before them the warning of rolloutWarning. The text "so" is
// the consequence, for example "the move will not start". Path and reason come first, because a warning is cut at 256 characters.
func unconvertibleWarnings(c policies.Change, to API, so string) []string {
	out := rolloutWarning(c, to)
	for _, err := range c.Facts.Unconvertible {
		if err.Field == "" {
			out = append(out, err.Detail)
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s cannot express this, so %s: %s", err.Field, to.Text(), so, err.Detail))
	}
	return out
}

// rolloutWarning returns the warning that precedes those of unconvertibleWarnings if these ask for an edit of a control plane Machine's providerSpec; nil
// otherwise. It is not appended to each of them, because warnings are cut at the end.
func rolloutWarning(c policies.Change, to API) []string {
	inSpec := slices.ContainsFunc(c.Facts.Unconvertible, func(e *field.Error) bool { return strings.Contains(e.Field, "spec.providerSpec.value.") })
	if to != ClusterAPI || !inSpec || !ofControlPlane(c) {
		return nil
	}
	return []string{"before you edit the providerSpec of a control plane Machine, set the strategy of its ControlPlaneMachineSet to OnDelete: otherwise the " +
		"set replaces each Machine that differs from its template. Make the same edit in the Machine and in the template, then set the strategy back"}
}

func ofControlPlane(c policies.Change) bool {
	labels := map[string]string{}
	switch {
	case c.New == nil:
	case c.Kind == "ControlPlaneMachineSet":
		return true
	case c.Kind == "MachineSet":
		labels = specOfSet(c.New).Template.Metadata.Labels
	default:
		labels = c.New.Metadata.Labels
	}
	role := labels[machineapi.RoleLabel]
	return role == "master" || role == "control-plane"
}

// Refusals returns the warnings about the fields that the conversion in a review cannot convert. The API "to" cannot express these fields, and the text "so" is
// the consequence.
func Refusals(c policies.Change, to API, so string) []string { return unconvertibleWarnings(c, to, so) }

// synchronizedWarning returns the warning that the move will not start while the condition Synchronized is not True; nil if it is True. The warning omits the
// condition's message if that repeats the fields that the conversion in this review has reported. For a Machine that Machine API can take over, the warning
// says what happens instead (TakesOver).
func synchronizedWarning(c policies.Change, s standing) []string {
	cond := s.Condition(ConditionSynchronized)
	switch {
	case cond.Status == "True":
		return nil
	case len(c.Facts.Unconvertible) == 0 && TakesOver(c):
		return []string{"the infrastructure object of the Cluster API Machine does not exist: " +
			"Machine API finds the instance by spec.providerID, and reports the Machine as Failed if there is none"}
	case cond.Status == "False" && repeats(cond.Message, c.Facts.Unconvertible):
		return []string{fmt.Sprintf("the move will not start while Synchronized is False (%s)", cond.Reason)}
	case cond.Status == "False":
		return []string{fmt.Sprintf("the move will not start while Synchronized is False (%s): %s", cond.Reason, cond.Message)}
	}
	return []string{"Synchronized is not True yet: the move will start once the object exists in the other API and Synchronized is True"}
}

// TakesOver reports whether Machine API can take over a Machine whose provider's object is gone. Then the move does not wait for the mirror, although the
// mirror is out of step: the Machine API object has all that is needed.
func TakesOver(c policies.Change) bool {
	kind, _ := KindNamed(c.Kind)
	o := Objects{Kind: kind, MachineAPI: c.New, ClusterAPI: c.Facts.Twin, Infra: c.Facts.Infra}
	return kind.InfraActs() && c.New != nil && c.Facts.Twin != nil && !o.State().InfraActs
}

// leavingWarning returns the warning that the move will not start while the namespace, a CRD or the Cluster of the other API's objects is being deleted; nil if
// none is.
func leavingWarning(c policies.Change) []string {
	if c.Facts.Leaving == "" {
		return nil
	}
	return []string{fmt.Sprintf("the move will not start while the objects to move are being deleted together with what they depend on: %s", c.Facts.Leaving)}
}

// repeats reports whether a message names all fields that the errors are about.
func repeats(message string, errs field.ErrorList) bool {
	return len(errs) > 0 && !slices.ContainsFunc(errs, func(e *field.Error) bool { return !strings.Contains(message, e.Field) })
}

// taintsInTheWay returns the warning that Cluster API may refuse the object's taints, for a move from the Machine API. It returns nil if the condition
// Synchronized already names the feature gate, in Cluster API's own words.
func taintsInTheWay(c policies.Change, s standing) []string {
	if s.authoritative() != MachineAPI || strings.Contains(s.Condition(ConditionSynchronized).Message, TaintGate) {
		return nil
	}
	return taintWarning(c, "the move will not start")
}

// waitWarnings returns a warning for each thing that the move waits for: the instance, and the completion of the last move.
func waitWarnings(c policies.Change, s standing) []string {
	out := instanceWarnings(c, s)
	settled := s.Condition(ConditionSettled)
	needless := settled.Reason == ReasonTwinMissing && TakesOver(c) // this move does not need the object that the last move waits for
	if settled.Status == "False" && s.Current != Migrating && !needless {
		out = append(out, fmt.Sprintf("the move will wait until the previous move is complete (%s): %s", settled.Reason, settled.Message))
	}
	return out
}

// uncountedWarnings returns a warning for each Machine that a set's move waits for, because one of the two MachineSets does not count it.
func uncountedWarnings(c policies.Change) []string {
	var out []string
	for _, machine := range NameUncounted(c.Facts.Uncounted) {
		out = append(out, "the move will wait until both MachineSets count "+machine)
	}
	return out
}

// ConditionSettled is the type of the condition, on the Machine API object, that reports whether a move is complete: spec and status agree, and the controllers
// of both sides have acknowledged the authority. While the condition is False, its message has what the move waits for.
const ConditionSettled = "AuthoritySettled"

// provisioned reports whether a provider's machine is provisioned: by status.initialization.provisioned of the contract v1beta2, or by status.ready of the
// contracts before it.
func provisioned(infra *policies.Object) bool {
	var status struct {
		Ready          bool `json:"ready"`
		Initialization struct {
			Provisioned bool `json:"provisioned"`
		} `json:"initialization"`
	}
	_ = json.Unmarshal(orNull(infra.Status), &status)
	return status.Ready || status.Initialization.Provisioned
}

const aloneWarning = "a set moves without its Machines"

// LeavesMachines reports whether a warning is the one that a MachineSet moves without its Machines. A caller that moves the Machines afterwards can omit it.
func LeavesMachines(warning string) bool { return strings.HasPrefix(warning, aloneWarning) }

// ByDefault returns the end of the warning about a request for Machine API; "" for Cluster API. It is for kinds whose CRD has MachineAPI as the default of
// spec.authoritativeAPI. A manifest that replaces the object and lacks the field asks for Machine API, and nobody can determine whether that was intended.
func ByDefault(to API) string {
	if to != MachineAPI {
		return ""
	}
	return ". A manifest without spec.authoritativeAPI requests this move too"
}

// extentWarning returns the warning about what a move includes: the Machine, or a set or check without its Machines. Every request to move gets it.
func extentWarning(c policies.Change, s standing) []string {
	to := askedFor(c.New)
	switch c.Kind {
	case "Machine":
		return []string{fmt.Sprintf("spec.authoritativeAPI: this Machine moves to %s%s. To cancel, set it back to %s%s",
			to.Text(), keepsRunning(c, to), to.Other(), ByDefault(to))}
	case "MachineSet":
		// The warning does not count the Machines, because that number may change: the API server repeats the review of a request that meets another write, and
		// its answer has the warnings of both reviews.
		return []string{fmt.Sprintf(aloneWarning+": %s will scale the set and create its new Machines. For each existing Machine the authoritative API stays the "+
			"same until you move that Machine%s", to.Text(), ByDefault(to))}
	case "MachineHealthCheck":
		return append(append(append(pausedWarning(c, to), openRequestsWarning(c, s)...), unselectedWarning(c, to)...),
			fmt.Sprintf("a MachineHealthCheck moves without its Machines: %s will check all of these Machines, and unhealthy Machines are deleted whichever API is "+
				"authoritative for each",
				to.Text()))
	}
	return nil
}

// unselectedWarning returns a warning if a MachineHealthCheck that is to move to Cluster API selects Machines by a label that only the Machine API's
// controllers write.
func unselectedWarning(c policies.Change, to API) []string {
	if to != ClusterAPI {
		return nil
	}
	var spec struct {
		Selector metav1.LabelSelector `json:"selector"`
	}
	_ = json.Unmarshal(orNull(c.New.Spec), &spec) // what cannot be read is another rule's business
	keys := slices.Sorted(maps.Keys(spec.Selector.MatchLabels))
	for _, e := range spec.Selector.MatchExpressions {
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpExists {
			keys = append(keys, e.Key)
		}
	}
	for _, key := range keys {
		switch key {
		case machineapi.InterruptibleLabel:
			return []string{"spec.selector: no Machine of Cluster API has the label " + key + ", so this check will select none there. Use a label that " +
				"the Machines have in both APIs"}
		case machineapi.ZoneLabel, machineapi.RegionLabel, machineapi.InstanceTypeLabel:
			return []string{"spec.selector: Machines that Cluster API creates do not have the label " + key + ", so this check will not select them. Use " +
				"a label that the Machines have in both APIs"}
		}
	}
	return nil
}

// failedWarning returns the warning for a Machine in the phase Failed that is to move to Machine API, whose controllers do nothing with such a Machine except
// delete it. Cluster API reports this phase for a Machine whose instance is gone, and for one that has an earlier failure. The mirror copies the phase to the
// Machine API object. There is no warning for a Machine without an instance, because a move clears the failure of such a Machine (LeftBehind).
func failedWarning(c policies.Change, s standing) []string {
	if s.authoritative() != ClusterAPI || !failed(c) || providerID(c.Old) == "" {
		return nil
	}
	return []string{fmt.Sprintf(
		"status.phase: Cluster API reports this Machine as Failed. It stays Failed after the move, and Machine API's controllers will only delete it. "+
			"To replace it, delete it now: %s",
		deleteThere(c))}
}

// failed reports whether a Machine is in the phase Failed in one of the two APIs.
func failed(c policies.Change) bool {
	return c.Kind == "Machine" && (Read(c.Old).Phase == "Failed" || Read(c.Facts.Twin).Phase == "Failed")
}

// keepsRunning returns the words that the instance keeps running, if that is certain: the ID of the instance is known, and no deletion of Cluster API's
// infrastructure object has terminated it. It returns "" for a Failed Machine. It also returns "" in a move to Machine API if the provider keeps an object for
// the instance that the review did not look at, or if the Machine refers to another Machine's infrastructure machine.
func keepsRunning(c policies.Change, to API) string {
	if to == MachineAPI && c.Facts.Infra != nil && c.Facts.InfraInstance == nil && InfraInstanceKind(c.Facts.Infra.Kind) != "" &&
		!InfraInstanceNamedAlike(c.Facts.Infra) {
		return ""
	}
	if to == MachineAPI && InfraOfAnother(c.Facts.Infra, c.Name) != "" {
		return ""
	}
	if failed(c) || providerID(c.Old)+providerID(c.Facts.Twin)+providerID(c.Facts.Infra) == "" || to == MachineAPI && c.Facts.Infra == nil {
		return ""
	}
	return " and its instance keeps running"
}

// pausedWarning returns the warning that a check's pause does not move with it to Cluster API; nil if the check has none. People pause the Machine API's checks
// by Cluster API's annotation while they upgrade a cluster. On the Cluster API side, that annotation belongs to Poundlock.
func pausedWarning(c policies.Change, to API) []string {
	if to != ClusterAPI || !c.New.HasAnnotation(PausedAnnotation) {
		return nil
	}
	return []string{fmt.Sprintf(
		"the annotation %s of this check does not move with the check: Cluster API's check acts once the move is complete, and Machine API's check acts after a "+
			"move "+
			"back", PausedAnnotation)}
}

// openRequestsWarning returns the warning that a check's move waits for open requests for remediation; nil if there are none.
func openRequestsWarning(c policies.Change, s standing) []string {
	kind, _ := KindNamed(c.Kind)
	check, namespace := c.New, c.Namespace
	if s.authoritative() == ClusterAPI {
		check, namespace = c.Facts.Twin, c.TwinNamespace
	}
	if !(Objects{Kind: kind, MachineAPI: c.New, ClusterAPI: c.Facts.Twin}).requestsOpen(s.authoritative()) {
		return nil
	}
	return []string{fmt.Sprintf(
		"the move will wait until all Machines of this check are healthy: only this check deletes the %s in %s of a Machine that is healthy again, and the check "+
			"no longer does so after the move",
		strings.TrimSuffix(requestKind(check), "Template"), namespace)}
}

// Unconvertible warns when the authoritative object gets something that the other API cannot express. The request is carried out, but a later move will not
// start (converting › A feature implemented in Machine API is not present in Cluster API).
func Unconvertible(c policies.Change) policies.Verdict {
	if !changesAuthority(c) {
		return policies.Verdict{}
	}
	s := stand(c)
	switch {
	case s.authoritative() == ClusterAPI && c.Side == policies.SideMachineAPI && hopeless(c):
		return policies.Warn(append(unconvertibleWarnings(c, ClusterAPI, ""),
			fmt.Sprintf("Poundlock creates no Cluster API object for this %s, and the object's spec is locked: delete the object, and create it again with "+
				"spec.authoritativeAPI: %s",
				c.Kind, MachineAPI))...)
	case s.authoritative() == ClusterAPI && c.Side == policies.SideMachineAPI:
		return refusals(c, ClusterAPI, "Poundlock creates no Cluster API object for this "+c.Kind+", and the object's spec is locked: delete the object, fix this "+
			"field and create the object again")
	}
	if c.Operation == admissionv1.Update && !changesSpec(c) {
		c.Facts.Unconvertible = ofNames(c)
		return policies.Warn(unconvertibleWarnings(c, s.authoritative().Other(), "a later move will not start")...)
	}
	if s.authoritative() == ClusterAPI && (c.Kind == "MachineSet" || c.Kind == InfraMachineTemplate) {
		own, all := c, c.Facts.Unconvertible
		alone := func(e *field.Error) bool { return c.Kind == "MachineSet" && e.Field != "" && ofSetAlone(e) }
		own.Facts.Unconvertible = slices.DeleteFunc(slices.Clone(all), func(e *field.Error) bool { return !alone(e) })
		c.Facts.Unconvertible = slices.DeleteFunc(slices.Clone(all), alone)
		return merge(
			policies.Warn(unconvertibleWarnings(own, MachineAPI, "a later move will not start")...),
			refusals(c, MachineAPI, "the set's new Machines get no Machine API object, and a later move will not start"))
	}
	return refusals(c, s.authoritative().Other(), "a later move will not start")
}

func refusals(c policies.Change, to API, so string) policies.Verdict {
	return policies.Warn(append(unconvertibleWarnings(c, to, so), taintWarning(c, so)...)...)
}

// changesAuthority reports whether a request creates an authoritative object that has a mirror or will have one, or changes the content of such an object. It
// is false for a request to move, about which RequestWarning warns.
func changesAuthority(c policies.Change) bool {
	if c.Actor == policies.Poundlock {
		return false
	}
	s := stand(c)
	if c.Operation == admissionv1.Create {
		if c.Side != policies.SideMachineAPI {
			return c.Facts.Twin != nil && s.Current == ClusterAPI && reads(c)
		}
		// If there is no twin, the Cluster API object is made from this Machine API object, whichever API is authoritative.
		return s.authoritative() == MachineAPI || c.Facts.Twin == nil
	}
	if c.Facts.Twin == nil || s.moving() || !sideOf(s.authoritative(), c.Side) || requestsHere(c) {
		return false
	}
	return changesContent(c)
}

// changesContent reports whether an update changes something that is converted: the spec, or, if a person changes them, labels and annotations. Controllers
// change labels and annotations all the time, and read no warning.
func changesContent(c policies.Change) bool {
	if c.Side == policies.SideInfrastructure && !reads(c) {
		return false
	}
	return changesSpec(c) || c.Side != policies.SideInfrastructure && c.Actor == policies.Anyone && len(metadataChanges(c)) > 0
}

// reads reports whether a person may read the warnings for the request. Nobody reads them if Cluster API's controllers or its providers' send the request:
// these controllers create and change Cluster API's objects.
func reads(c policies.Change) bool {
	return c.Actor != policies.ClusterAPIController && c.Actor != policies.InfrastructureController
}

// ofNames returns those conversion errors that are about a label or annotation that a request adds or changes.
func ofNames(c policies.Change) field.ErrorList {
	var out field.ErrorList
	for _, m := range metadataChanges(c) {
		for _, err := range c.Facts.Unconvertible {
			if !m.removed && err.Field == m.path().String() {
				out = append(out, err)
			}
		}
	}
	return out
}

func requestsHere(c policies.Change) bool { return c.Side == policies.SideMachineAPI && requests(c) }

// TemplateAuthority warns if a MachineSet and the template of its new Machines ask for different APIs: "By setting the spec.template.spec.authoritativeAPI to
// ClusterAPI, the Machine API MachineSet will create Machine API Machines with their authoritativeAPI pre-filled to ClusterAPI" (converting › Creation of new
// Machines).
func TemplateAuthority(c policies.Change) policies.Verdict {
	template, set := templateAuthority(c.New), askedFor(c.New)
	if c.Actor == policies.Poundlock || template == set || warnedBefore(c, set, template) {
		return policies.Verdict{}
	}
	if set == ClusterAPI {
		return policies.Warn(fmt.Sprintf(
			"spec.template.spec.authoritativeAPI is %s, but while Cluster API is authoritative for this set, it is authoritative for the set's new Machines too",
			template))
	}
	return policies.Warn(fmt.Sprintf("new Machines of this set will be %s's, because of spec.template.spec.authoritativeAPI, although %s scales the set",
		template.Text(), set.Text()))
}

// warnedBefore reports whether an update leaves the authority of new Machines as it was, so that an earlier request has got the warning. It is also true for a
// set that moves to Cluster API with its template unchanged: Cluster API becomes authoritative for its new Machines with the set.
func warnedBefore(c policies.Change, set, template API) bool {
	return c.Old != nil && templateAuthority(c.Old) == template && (set == ClusterAPI || askedFor(c.Old) == set)
}

func templateAuthority(o *policies.Object) API {
	var spec struct {
		Template struct {
			Spec struct {
				AuthoritativeAPI API `json:"authoritativeAPI"`
			} `json:"spec"`
		} `json:"template"`
	}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Spec), &spec)
	}
	if spec.Template.Spec.AuthoritativeAPI == Unset {
		return MachineAPI
	}
	return spec.Template.Spec.AuthoritativeAPI
}
