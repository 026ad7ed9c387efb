// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/simulation"
	"github.com/poundlock/poundlock/test/stories"
)

// setDeletion is one case of the matrix: the deletion of a MachineSet with two Machines.
type setDeletion struct {
	// on is the API whose set is deleted. authority is the API that is authoritative. In mid-move, that is the origin of the move.
	on, authority authority.API
	cascade       cascade
	when          moment
	// mixed: the other API is authoritative for one of the two Machines.
	mixed bool
}

// cascade is how the garbage collector learns the propagation policy: by the request, or by a finalizer on the set and a request without a policy.
type cascade struct {
	propagation metav1.DeletionPropagation
	finalizer   string
}

// moment is when the set is deleted.
type moment string

const (
	atItsRest   moment = "at rest"
	inMidMove   moment = "in mid-move"
	afterItself moment = "right after the switch"
)

// matrix returns all cases.
func matrix() (all []setDeletion) {
	apis := []authority.API{authority.MachineAPI, authority.ClusterAPI}
	for _, on := range apis {
		for _, authoritative := range apis {
			for _, c := range []cascade{
				{propagation: metav1.DeletePropagationBackground}, {propagation: metav1.DeletePropagationForeground}, {propagation: metav1.DeletePropagationOrphan},
				{finalizer: metav1.FinalizerDeleteDependents}, {finalizer: metav1.FinalizerOrphanDependents},
			} {
				if on == authority.ClusterAPI && c.finalizer == metav1.FinalizerDeleteDependents {
					continue // nobody may add the finalizer there (authority/finalizers-owned)
				}
				for _, when := range []moment{atItsRest, inMidMove, afterItself} {
					for _, mixed := range []bool{false, true} {
						all = append(all, setDeletion{on, authoritative, c, when, mixed})
					}
				}
			}
		}
	}
	return all
}

func (d setDeletion) String() string {
	how := string(d.cascade.propagation)
	if how == "" {
		how = "finalizer " + d.cascade.finalizer
	}
	machines := "its Machines alike"
	if d.mixed {
		machines = "a Machine of each API"
	}
	side := "mirror"
	if d.on == d.authority {
		side = "authoritative"
	}
	return fmt.Sprintf("%s's set (%s), %s, %s, %s", d.on.Text(), side, how, d.when, machines)
}

// promise returns the outcome that the review's policy announces for the deletion.
func (d setDeletion) promise() authority.Outcome {
	asked := authority.DeletionRequest{Kind: "MachineSet", On: d.on, Authority: d.authority, Propagation: d.cascade.propagation}
	switch d.cascade.finalizer {
	case metav1.FinalizerDeleteDependents:
		asked.Propagation = metav1.DeletePropagationForeground
	case metav1.FinalizerOrphanDependents:
		asked.Propagation = metav1.DeletePropagationOrphan
	}
	return asked.Outcome()
}

// TestDeletionsOfASet plays the rows of the guide's table of cascades: at rest, while authority moves, and right after it has moved. The result must be what
// the review promises. One case for each promise is drawn, unless -complete is set. `make test` plays two of these.
func TestDeletionsOfASet(t *testing.T) {
	stories.Long(t)
	all := matrix()
	if !*complete {
		all = draw(all)
	}
	story(t)
	defer holdSwitches(t)()
	table := &rows{}
	defer table.log(t)
	const short = 2
	// Cases mostly wait, so several are played at a time, whatever the number of processors is.
	places := make(chan struct{}, 8)
	t.Run("cells", func(t *testing.T) {
		var group sync.WaitGroup
		defer group.Wait()
		for i, d := range all {
			places <- struct{}{}
			group.Go(func() {
				defer func() { <-places }()
				t.Run(d.String(), func(t *testing.T) {
					if i >= short && !*complete {
						stories.Long(t)
					}
					play{setDeletion: d, table: table}.all(t, fmt.Sprintf("cell-%03d", i))
				})
			})
		}
	})
}

// draw picks one case of each promise by the seed, which the log names.
func draw(all []setDeletion) (some []setDeletion) {
	random := rand.New(rand.NewPCG(*seed, 0)) //nolint:gosec // a draw that can be repeated
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	drawn := map[authority.Outcome]bool{}
	for _, d := range all {
		if !drawn[d.promise()] {
			drawn[d.promise()] = true
			some = append(some, d)
		}
	}
	return some
}

// rows is the table of the results of all cases.
type rows struct {
	sync.Mutex
	lines []string
}

func (r *rows) add(line string) {
	r.Lock()
	defer r.Unlock()
	r.lines = append(r.lines, line)
}

func (r *rows) log(t *testing.T) {
	slices.Sort(r.lines)
	t.Logf("what came of each deletion (seed %d):\n%s", *seed, strings.Join(r.lines, "\n"))
}

// play is a case on the stage.
type play struct {
	setDeletion
	table *rows
	set   object
	// machines are the set's Machines by name, with the authoritative API for each. before has the instance of each.
	machines map[string]authority.API
	before   map[string]string
	// mirror is the UID of Cluster API's set.
	mirror string
}

func (p play) all(t *testing.T, name string) {
	p.prepare(t, name)
	dry, value := p.delete(t)
	began := time.Now()
	outcome := p.promise()
	if err := agrees(value, p.setDeletion, outcome); err != "" {
		t.Errorf("the review promises %+v, and says otherwise: %s: %q", outcome, err, value)
	}
	if dry != nil && !slices.Equal(dry, value) {
		t.Errorf("the dry run said %q, the deletion says %q", dry, value)
	}
	var wrong string
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, patience, true, func(context.Context) (bool, error) {
		wrong = p.wrong(t, outcome)
		return wrong == "", nil
	})
	took := time.Since(began).Round(time.Second)
	if err != nil {
		t.Errorf("after %s: %s\n%s", took, wrong, p.see(t))
	}
	p.quiet(t)
	if wrong = p.wrong(t, outcome); wrong != "" && err == nil {
		t.Errorf("it was as promised, and is no more: %s\n%s", wrong, p.see(t))
	}
	p.table.add(fmt.Sprintf("%-100s | promised %s/%s/%s | %s | %s | failed: %t",
		p.setDeletion, outcome.Object, cmp.Or(string(outcome.Twin), "-"), outcome.Instances, p.see(t).brief(p), took, t.Failed()))
	p.tidy(t)
}

// prepare creates the set, and brings it and its Machines into the state in which the story begins.
func (p *play) prepare(t *testing.T, name string) {
	p.set = newSet(t, name, 2)
	p.machines, p.before = map[string]authority.API{}, map[string]string{}
	hands := []authority.API{p.authority, p.authority}
	if p.mixed {
		hands[1] = p.authority.Other()
	}
	for i, machine := range machinesOf(t, name) {
		p.machines[machine] = hands[i]
		p.before[machine] = strings.Join(instances(machine), " ")
		if hands[i] == authority.ClusterAPI {
			move(t, mapiMachine(machine), string(authority.ClusterAPI))
		}
	}
	from := p.authority
	if p.when == afterItself {
		from = p.authority.Other()
	}
	if from == authority.ClusterAPI {
		move(t, p.set, string(from))
	}
	settled(t, p.set)
	p.mirror = field(t, capiSet(name), ".metadata.uid")
	if p.cascade.finalizer != "" {
		must(t, append(p.deleted().args("patch"), "--type=json", "-p", `[{"op":"add","path":"/metadata/finalizers/-","value":"`+p.cascade.finalizer+`"}]`)...)
	}
}

func (p play) deleted() object {
	if p.on == authority.MachineAPI {
		return p.set
	}
	return capiSet(p.set.name)
}

// delete deletes the set at the case's moment. It returns the warnings of a dry run before that, nil if there is no time for one, and the warnings of the
// deletion.
func (p play) delete(t *testing.T) (dry, value []string) {
	switch p.when {
	case inMidMove:
		must(t, append(p.set.args("label"), holdLabel+"=true")...)
		request(t, p.set, string(p.authority.Other()))
		authorityIs(t, p.set, string(authority.Migrating))
		defer kubectl(t, "", append(p.set.args("label"), holdLabel+"-")...)
	case afterItself:
		p.awaitSwitch(t)
		return nil, p.send(t)
	}
	return p.send(t, client.DryRunAll), p.send(t)
}

// awaitSwitch requests the move, and returns as soon as the API server shows that authority has moved.
func (p play) awaitSwitch(t *testing.T) {
	watcher, err := client.NewWithWatch(stage.Plane.Admin(), client.Options{Scheme: simulation.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	events, err := watcher.Watch(ctx, &machinev1beta1.MachineSetList{}, client.InNamespace(mapi), client.MatchingFields{"metadata.name": p.set.name})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	request(t, p.set, string(p.authority))
	for e := range events.ResultChan() {
		if set, ok := e.Object.(*machinev1beta1.MachineSet); ok && string(set.Status.AuthoritativeAPI) == string(p.authority) {
			return
		}
	}
	t.Fatalf("authority over %s has not moved to %s", p.set.name, p.authority)
}

// warnings records the warnings of an API server.
type warnings struct{ all []string }

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { w.all = append(w.all, text) }

// send deletes the set. It sends the propagation policy as kubectl does, or leaves it out if a finalizer has it.
func (p play) send(t *testing.T, options ...client.DeleteOption) []string {
	value := &warnings{}
	config := stage.Plane.Admin()
	config.WarningHandler = value
	c, err := client.New(config, client.Options{Scheme: simulation.Scheme(), Mapper: stage.Admin.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	if p.cascade.propagation != "" {
		options = append(options, client.PropagationPolicy(p.cascade.propagation))
	}
	o := client.Object(&machinev1beta1.MachineSet{})
	if p.on == authority.ClusterAPI {
		o = &clusterv1.MachineSet{}
	}
	o.SetNamespace(p.deleted().namespace)
	o.SetName(p.set.name)
	if err := c.Delete(t.Context(), o, options...); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(value.all, func(text string) bool { return !strings.Contains(text, "authority/") })
}

// agrees returns how the warnings differ from the outcome, "" if they do not.
func agrees(value []string, d setDeletion, o authority.Outcome) string {
	all := strings.Join(value, "\n")
	for _, w := range []struct {
		text string
		want bool
	}{
		{"authority/delete-detached", o.Object == authority.Goes && o.Twin == authority.Stays},
		{"authority/delete-recreated", o.Object == authority.MadeAgain},
		{"the garbage collector deletes this API's Machines", o.Instances == authority.MayEnd && d.on != d.authority},
		{"authority/delete-orphans", o.Instances == authority.MayEnd && d.on == d.authority},
		{"no instance is terminated", o.Object == authority.MadeAgain && o.Instances == authority.RunOn},
	} {
		if strings.Contains(all, w.text) != w.want {
			return fmt.Sprintf("%q: want it said: %t", w.text, w.want)
		}
	}
	return ""
}

// sight is everything that exists of a case's set.
type sight struct {
	mapiSet, capiSet *metav1.ObjectMeta
	mapi             map[string]machinev1beta1.Machine
	capi             map[string]clusterv1.Machine
	infra            map[string]awsv1.AWSMachine
	running, ever    map[string][]string
	versions         string
}

func (p play) see(t *testing.T) sight {
	t.Helper()
	s := sight{
		mapi: map[string]machinev1beta1.Machine{}, capi: map[string]clusterv1.Machine{}, infra: map[string]awsv1.AWSMachine{},
		running: map[string][]string{}, ever: map[string][]string{},
	}
	var versions []string
	mine := func(o client.Object) bool {
		is := o.GetName() == p.set.name || strings.HasPrefix(o.GetName(), p.set.name+"-")
		if is {
			versions = append(versions, fmt.Sprintf("%T %s %s", o, o.GetName(), o.GetResourceVersion()))
		}
		return is
	}
	mapiSets, capiSets := &machinev1beta1.MachineSetList{}, &clusterv1.MachineSetList{}
	mapiMachines, capiMachines, awsMachines := &machinev1beta1.MachineList{}, &clusterv1.MachineList{}, &awsv1.AWSMachineList{}
	for _, l := range []client.ObjectList{mapiSets, capiSets, mapiMachines, capiMachines, awsMachines} {
		list(t, l)
	}
	for i := range mapiSets.Items {
		if mine(&mapiSets.Items[i]) {
			s.mapiSet = &mapiSets.Items[i].ObjectMeta
		}
	}
	for i := range capiSets.Items {
		if mine(&capiSets.Items[i]) {
			s.capiSet = &capiSets.Items[i].ObjectMeta
		}
	}
	for _, m := range mapiMachines.Items {
		if mine(&m) {
			s.mapi[m.Name] = m
		}
	}
	for _, m := range capiMachines.Items {
		if mine(&m) {
			s.capi[m.Name] = m
		}
	}
	for _, m := range awsMachines.Items {
		if mine(&m) {
			s.infra[m.Name] = m
		}
	}
	for _, i := range stage.Cloud.Instances() {
		if name := i.Machine.Name; strings.HasPrefix(name, p.set.name+"-") {
			s.ever[name] = append(s.ever[name], i.ID)
			if i.Ended.IsZero() {
				s.running[name] = append(s.running[name], i.ID)
			}
		}
	}
	slices.Sort(versions)
	s.versions = strings.Join(versions, "\n")
	return s
}

func (s sight) String() string {
	var out strings.Builder
	for side, set := range map[string]*metav1.ObjectMeta{mapi: s.mapiSet, capi: s.capiSet} {
		if set != nil {
			fmt.Fprintf(&out, "%s set %s deleting %t %v\n", side, set.UID, set.DeletionTimestamp != nil, set.Finalizers)
		}
	}
	for _, m := range s.mapi {
		fmt.Fprintf(&out, "%s %s %s deleting %t %v owners %s id %v\n", mapi, m.Name, m.Status.AuthoritativeAPI, m.DeletionTimestamp != nil, m.Finalizers,
			owners(&m), m.Spec.ProviderID)
	}
	for _, m := range s.capi {
		fmt.Fprintf(&out, "%s %s paused %t deleting %t %v owners %s id %s\n", capi, m.Name, pausedByAnnotation(&m), m.DeletionTimestamp != nil, m.Finalizers,
			owners(&m), m.Spec.ProviderID)
	}
	fmt.Fprintf(&out, "running %v, ever %v", s.running, s.ever)
	return out.String()
}

func owners(o client.Object) (out []string) {
	for _, r := range o.GetOwnerReferences() {
		out = append(out, fmt.Sprintf("%s/%s/%s", r.Kind, r.Name, r.UID))
	}
	return out
}

func pausedByAnnotation(o client.Object) bool {
	_, is := o.GetAnnotations()["cluster.x-k8s.io/paused"]
	return is
}

// brief returns in a few words what is left.
func (s sight) brief(p play) string {
	var out []string
	for _, side := range []struct {
		text string
		set  *metav1.ObjectMeta
	}{{"Machine API's set", s.mapiSet}, {"Cluster API's set", s.capiSet}} {
		switch {
		case side.set == nil:
			out = append(out, side.text+" gone")
		case string(side.set.UID) == p.mirror || side.text == "Machine API's set":
			out = append(out, side.text+" stays")
		default:
			out = append(out, side.text+" recreated")
		}
	}
	for _, api := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		n, of := 0, 0
		for name, hands := range p.machines {
			if hands == api {
				of++
				n += len(s.running[name])
			}
		}
		if of > 0 {
			out = append(out, fmt.Sprintf("%s: %d of %d instances run", api.Text(), n, of))
		}
	}
	born := 0
	for name := range s.ever {
		if _, is := p.machines[name]; !is {
			born++
		}
	}
	return strings.Join(append(out, fmt.Sprintf("%d created", born)), ", ")
}

// wrong returns what is not as promised, "" if everything is.
func (p play) wrong(t *testing.T, o authority.Outcome) string {
	s := p.see(t)
	var out []string
	say := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	for name, ids := range s.ever {
		say(len(ids) > 1, "%s had the instances %v", name, ids)
	}
	for name := range s.running {
		say(!s.acts(name), "nobody acts for the instance of %s", name)
	}
	for name, m := range s.mapi {
		say(m.DeletionTimestamp != nil, "Machine API's %s is still being deleted", name)
		say(m.DeletionTimestamp == nil && len(s.running[name]) == 0, "Machine API's %s has no instance", name)
	}
	for name, m := range s.capi {
		say(m.DeletionTimestamp != nil, "Cluster API's %s is still being deleted", name)
		say(m.DeletionTimestamp == nil && len(s.running[name]) == 0, "Cluster API's %s has no instance", name)
	}
	for name, hands := range p.machines {
		runs := fmt.Sprint(s.running[name]) == "["+p.before[name]+"]"
		switch {
		case o.Instances == authority.End:
			say(len(s.running[name]) > 0, "%s runs", name)
		case o.Instances == authority.RunOn, p.on != p.authority && hands != p.on:
			say(!runs, "%s had the instance %s, and has %v", name, p.before[name], s.running[name])
		}
	}
	say(o.Instances == authority.End && s.versions != "", "objects are left")
	say(o.Object == authority.Goes && o.Twin == authority.Goes && (s.mapiSet != nil || s.capiSet != nil), "a set is left")
	if o.Twin == authority.Stays {
		say(s.capiSet == nil || s.capiSet.DeletionTimestamp != nil, "Cluster API has no set")
		say(len(s.running) != 2, "%d instances run", len(s.running))
		say(o.Object == authority.Goes && s.mapiSet != nil, "Machine API's set is left")
		say(o.Object == authority.MadeAgain && (s.mapiSet == nil || s.mapiSet.DeletionTimestamp != nil), "Machine API has no set")
		out = append(out, s.unowned()...)
	}
	if o.Object == authority.MadeAgain {
		say(s.capiSet != nil && string(s.capiSet.UID) == p.mirror, "Cluster API's set is the one that was deleted")
	}
	return strings.Join(append(out, p.unsettled(t, s)...), "; ")
}

// acts reports whether exactly one object names the running instance of a Machine and is not paused.
func (s sight) acts(name string) bool {
	n := 0
	if m, is := s.mapi[name]; is && m.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityMachineAPI && m.Spec.ProviderID != nil {
		n++
	}
	if m, is := s.capi[name]; is && !pausedByAnnotation(&m) && m.Spec.ProviderID != "" {
		if infra, is := s.infra[name]; is && !pausedByAnnotation(&infra) {
			n++
		}
	}
	return n == 1
}

// unowned returns the Machines that do not belong to the existing set of their API.
func (s sight) unowned() (out []string) {
	for name, m := range s.capi {
		if owner := metav1.GetControllerOf(&m); s.capiSet != nil && (owner == nil || owner.UID != s.capiSet.UID) {
			out = append(out, "Cluster API's "+name+" is not the set's")
		}
	}
	for name, m := range s.mapi {
		if owner := metav1.GetControllerOf(&m); s.mapiSet != nil && (owner == nil || owner.UID != s.mapiSet.UID) {
			out = append(out, "Machine API's "+name+" is not the set's")
		}
	}
	return out
}

// unsettled returns the Machine API objects that are not synchronized and settled.
func (p play) unsettled(t *testing.T, s sight) (out []string) {
	var all []object
	for name := range s.mapi {
		all = append(all, mapiMachine(name))
	}
	if s.mapiSet != nil {
		all = append(all, p.set)
	}
	for _, o := range all {
		if is := condition(t, o, "Synchronized") + " " + condition(t, o, "AuthoritySettled"); is != "True True" {
			out = append(out, o.name+" is not settled: "+is+" "+messageOf(t, o, "Synchronized")+" "+messageOf(t, o, "AuthoritySettled"))
		}
	}
	return out
}

// quiet waits until nobody has written to an object of the set for three seconds, which shows that no two controllers fight.
func (p play) quiet(t *testing.T) {
	t.Helper()
	last, since := p.see(t).versions, time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), 500*time.Millisecond, patience, false, func(context.Context) (bool, error) {
		if now := p.see(t).versions; now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 3*time.Second, nil
	})
	if err != nil {
		t.Errorf("the writes do not end: %s", p.see(t))
	}
}

// tidy deletes what is left, which must be possible.
func (p play) tidy(t *testing.T) {
	t.Helper()
	s := p.see(t)
	for _, o := range []object{p.set, capiSet(p.set.name)} {
		kubectl(t, "", o.args("delete", "--wait=false", "--ignore-not-found")...)
	}
	for name := range s.mapi {
		kubectl(t, "", mapiMachine(name).args("delete", "--wait=false", "--ignore-not-found")...)
	}
	for name := range s.capi {
		kubectl(t, "", capiMachine(name).args("delete", "--wait=false", "--ignore-not-found")...)
	}
	eventually(t, "nothing is left of "+p.set.name, func() string {
		s := p.see(t)
		return fmt.Sprintf("%d objects, %d instances", len(strings.Fields(s.versions))/3, len(s.running))
	}, "0 objects, 0 instances")
}

// acceptable is a Machine's spec that Machine API's own webhook can complete.
const acceptable = `{providerSpec: {value: {apiVersion: machine.openshift.io/v1beta1, kind: AWSMachineProviderConfig}}}`

// holdLabel is a label on a set of the Machine API whose move is not to end.
const holdLabel = "example.com/hold"

// holdSwitches makes the API server refuse the end of a move of a set that has holdLabel, until lift is called.
func holdSwitches(t *testing.T) (lift func()) {
	t.Helper()
	apply(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: hold-switches}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [machine.openshift.io], apiVersions: [v1beta1], operations: [CREATE, UPDATE], resources: [machinesets, machinesets/status]}
      - {apiGroups: [cluster.x-k8s.io], apiVersions: ["*"], operations: [UPDATE], resources: [machinesets]}
  matchConditions: [{name: held, expression: "'`+holdLabel+`' in object.metadata.?labels.orValue({})"}]
  validations:
    - expression: "!object.metadata.?annotations[?'cluster.x-k8s.io/paused'].orValue('').startsWith('`+authority.Arriving(0)[:len(authority.Arriving(0))-1]+`')"
      message: held
    - expression: "request.operation == 'CREATE' ? object.metadata.name != 'hold-probe' : !(oldObject.?status.authoritativeAPI.orValue('') == 'Migrating' && object.?status.authoritativeAPI.orValue('') != 'Migrating')"
      message: held
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: hold-switches}
spec: {policyName: hold-switches, validationActions: [Deny]}
`)
	probe := `{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: hold-probe, namespace: ` + mapi + `, labels: {` + holdLabel +
		`: "true"}}, spec: {template: {spec: ` + acceptable + `}}}`
	eventually(t, "the policy holds", func() string {
		return fmt.Sprint(strings.Contains(kubectl(t, probe, "create", "--dry-run=server", "-f", "-").err, "held"))
	}, "true")
	return func() {
		t.Helper()
		if a := kubectl(t, "", "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "hold-switches"); !a.ok {
			t.Error(a.err)
		}
	}
}
