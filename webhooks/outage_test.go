// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// asked is one request as an API server sends it to admission.
type asked struct {
	resource, subresource, by string
	// before is the stored object, after the requested one, both as YAML. Without before the request is a CREATE, without after a DELETE.
	before, after string
}

const (
	capiManager         = "system:serviceaccount:c:capi-manager"
	capoManager         = "system:serviceaccount:c:capo-manager"
	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
	collector           = "system:serviceaccount:kube-system:generic-garbage-collector"

	machinesHere     = "machines.v1beta1.machine.openshift.io"
	setsHere         = "machinesets.v1beta1.machine.openshift.io"
	checksHere       = "machinehealthchecks.v1beta1.machine.openshift.io"
	controlPlanes    = "controlplanemachinesets.v1.machine.openshift.io"
	machinesThere    = "machines.v1beta2.cluster.x-k8s.io"
	setsThere        = "machinesets.v1beta2.cluster.x-k8s.io"
	checksThere      = "machinehealthchecks.v1beta2.cluster.x-k8s.io"
	infraThere       = "awsmachines.v1beta2.infrastructure.cluster.x-k8s.io"
	deploymentsThere = "machinedeployments.v1beta2.cluster.x-k8s.io"
	templatesThere   = "awsmachinetemplates.v1beta2.infrastructure.cluster.x-k8s.io"

	unmoved   = `{metadata: {name: a}, spec: {authoritativeAPI: MachineAPI, replicas: 1}, status: {authoritativeAPI: MachineAPI, synchronizedAPI: MachineAPI}}`
	fresh     = `{metadata: {name: a}, spec: {authoritativeAPI: MachineAPI}}`
	unnamed   = `{metadata: {name: a}, spec: {}}`
	moved     = `{metadata: {name: a, finalizers: [sync.machine.openshift.io/finalizer]}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`
	leaving   = `{metadata: {name: a}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: MachineAPI}}`
	inMotion  = `{metadata: {name: a}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: Migrating}}`
	held      = `{metadata: {name: a, finalizers: [sync.machine.openshift.io/finalizer]}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`
	standsOff = `{metadata: {name: a}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI, conditions: [{type: Synchronized, status: 'False', reason: ForeignTwin}]}}`
	empty     = `{metadata: {name: a}}`

	besideForeign = `{metadata: {name: a, annotations: {poundlock.openshift.io/beside-foreign: ''}}, spec: {authoritativeAPI: MachineAPI}, status: {authoritativeAPI: MachineAPI}}`

	nulls = `{metadata: {name: a, annotations: null, finalizers: null, ownerReferences: null}, spec: null, status: null}`
	odd   = `{metadata: {name: a}, spec: text, status: [1]}`

	stranger   = `{metadata: {name: a}, spec: {clusterName: x}}`
	paused     = `{metadata: {name: a, annotations: {cluster.x-k8s.io/paused: ""}}, spec: {clusterName: x}}`
	heldMirror = `{metadata: {name: a, finalizers: [f], annotations: {poundlock.openshift.io/mirror-of: Machine/a}}, spec: {}}`
	marked     = `{metadata: {name: a, annotations: {poundlock.openshift.io/mirror-of: Machine/a}}, spec: {clusterName: x}}`
	ofASet     = `{metadata: {name: a, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineSet, name: s, uid: u, controller: true}]}, spec: {clusterName: x}}`
	ofAPlane   = `{metadata: {name: a, ownerReferences: [{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlane, name: s, uid: u, controller: true}]}, spec: {clusterName: x}}`
	withID     = `{metadata: {name: a}, spec: {providerID: "aws:///a/i-1"}}`
	ownedHere  = `{metadata: {name: a, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: b, uid: u}]}, spec: {providerID: "aws:///a/i-1"}}`
	scaledTo   = `{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: a}, spec: {replicas: 1}}`
)

// These tests have the result of a request when no replica answers: DESIGN §3.1, row by row. An API server reads finalizers before it calls webhooks. So a
// DELETE that waits for a webhook would not see a finalizer that is added meanwhile.
func TestAnInfrastructureMachineThatNobodyHoldsIsDeletedAtOnce(t *testing.T) {
	doors := everyDoor(t)
	for what, c := range map[string]struct {
		asked
		wanted bool
	}{
		"one that nobody holds":                 {asked{resource: infraThere, before: stranger}, false},
		"one that Poundlock has just released":  {asked{resource: infraThere, before: marked}, false},
		"one that its controller holds":         {asked{resource: infraThere, before: held}, true},
		"a paused mirror that nobody holds yet": {asked{resource: infraThere, before: strings.Replace(marked, "annotations: {", "annotations: {cluster.x-k8s.io/paused: '', ", 1)}, true},
		"one full of null":                      {asked{resource: infraThere, before: nulls}, false},
		"a template":                            {asked{resource: templatesThere, before: stranger}, true},
		"an edit":                               {asked{resource: infraThere, before: stranger, after: stranger}, true},
	} {
		for _, in := range []labels.Set{nil, {authority.AdmissionLabel: authority.Enforced}} {
			if asks := len(doors.asked(t, c.asked, in)) > 0; asks != c.wanted {
				t.Errorf("%s: asked about: %t, want %t", what, asks, c.wanted)
			}
		}
	}
}

// Fields that a replacing manifest leaves out are restored by separate webhooks, so that other requests do not wait for them.
func TestWhatIsPutBackIsAskedAbout(t *testing.T) {
	doors := everyDoor(t)
	const owned = `{metadata: {name: a, finalizers: [sync.machine.openshift.io/finalizer], ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: u}]}, spec: {replicas: 1}}`
	for what, c := range map[string]struct {
		asked
		want string
	}{
		"a set of Machine API's without the finalizer":    {asked{resource: setsHere, before: held, after: unmoved}, "machine-api-keep"},
		"a request for Cluster API that is left out":      {asked{resource: setsHere, before: moved, after: held}, "machine-api-keep"},
		"a set of Cluster API's without finalizer, owner": {asked{resource: setsThere, before: owned, after: stranger}, "cluster-api-keep"},
		"without an owner":          {asked{resource: setsThere, before: owned, after: strings.Replace(owned, "ownerReferences", "elsewhere", 1)}, "cluster-api-keep"},
		"with both":                 {asked{resource: setsThere, before: owned, after: strings.Replace(owned, "replicas: 1", "replicas: 2", 1)}, ""},
		"one that is being deleted": {asked{resource: setsThere, before: strings.Replace(owned, "name: a", "name: a, deletionTimestamp: '2026-01-01T00:00:00Z'", 1), after: stranger}, ""},
		"a CRD without the mark": {asked{resource: "customresourcedefinitions.v1.apiextensions.k8s.io",
			before: `{metadata: {name: a, annotations: {poundlock.openshift.io/holds-mirrors: 2 Machines}}}`, after: empty}, "surroundings-keep"},
		"a namespace with it": {asked{resource: "namespaces.v1.",
			before: `{metadata: {name: a, annotations: {poundlock.openshift.io/holds-mirrors: 2 Machines}}}`, after: `{metadata: {name: a, annotations: {poundlock.openshift.io/holds-mirrors: 3 Machines}}}`}, ""},
		"a Cluster that never had it":       {asked{resource: "clusters.v1beta2.cluster.x-k8s.io", before: nulls, after: empty}, ""},
		"one that has neither":              {asked{resource: setsThere, before: stranger, after: paused}, ""},
		"one full of null":                  {asked{resource: setsThere, before: nulls, after: nulls}, ""},
		"the same of Machine API's":         {asked{resource: machinesHere, before: nulls, after: odd}, ""},
		"what has a spec that is no object": {asked{resource: machinesThere, before: odd, after: nulls}, ""},
	} {
		got := ""
		for _, one := range doors.asked(t, c.asked, nil) {
			if one.mutating {
				got = strings.TrimSuffix(one.name, "."+authority.Domain)
			}
		}
		if got != c.want {
			t.Errorf("%s: asked at %q, want %q", what, got, c.want)
		}
	}
}

func TestWhatFailsClosed(t *testing.T) {
	doors := everyDoor(t)
	for what, c := range map[string]struct {
		asked
		closed bool
	}{
		// (a) Machine API objects whose stored or requested authority is anything but MachineAPI or empty.
		"an edit of a Machine that moved":                   {asked{resource: machinesHere, before: moved, after: moved}, true},
		"an edit of a MachineSet that is asked to move":     {asked{resource: setsHere, before: leaving, after: leaving}, true},
		"an edit of a check that is moving":                 {asked{resource: checksHere, before: inMotion, after: inMotion}, true},
		"a request to move":                                 {asked{resource: machinesHere, before: unmoved, after: leaving}, true},
		"a request to move that is taken back":              {asked{resource: machinesHere, before: leaving, after: unmoved}, true},
		"a Machine that is created for Cluster API":         {asked{resource: machinesHere, after: moved}, true},
		"the status of a Machine that moved":                {asked{resource: machinesHere, subresource: "status", before: moved, after: moved}, true},
		"the first status of a Machine for Cluster API":     {asked{resource: machinesHere, subresource: "status", before: `{metadata: {name: a}, spec: {authoritativeAPI: ClusterAPI}}`, after: leaving}, true},
		"a status that calls a Machine Cluster API's":       {asked{resource: machinesHere, subresource: "status", before: unmoved, after: moved}, true},
		"a status that forgets that a Machine moved":        {asked{resource: machinesHere, subresource: "status", before: moved, after: unnamed}, true},
		"an edit of a control plane's set that moved":       {asked{resource: controlPlanes, before: moved, after: strings.Replace(moved, "spec: {", "spec: {replicas: 3, ", 1)}, true},
		"the status of a control plane's set that moved":    {asked{resource: controlPlanes, subresource: "status", before: moved, after: moved}, true},
		"an addition of the sync finalizer":                 {asked{resource: machinesHere, before: unmoved, after: held}, true},
		"a removal of the sync finalizer":                   {asked{resource: setsHere, before: held, after: unmoved}, true},
		"a Machine that stands beside a foreign one begins": {asked{resource: machinesHere, before: standsOff, after: strings.Replace(standsOff, "name: a", "name: a, finalizers: [machine.machine.openshift.io]", 1)}, true},
		"it begins, and its controller has replaced the conditions": {asked{resource: machinesHere, before: besideForeign,
			after: strings.Replace(besideForeign, "name: a", "name: a, finalizers: [machine.machine.openshift.io]", 1)}, true},
		"it is edited":           {asked{resource: machinesHere, before: standsOff, after: strings.Replace(standsOff, "name: a", "name: a, labels: {b: c}", 1)}, false},
		"another Machine begins": {asked{resource: machinesHere, before: unmoved, after: strings.Replace(unmoved, "name: a", "name: a, finalizers: [machine.machine.openshift.io]", 1)}, false},
		"a value of authority that this build does not know": {asked{resource: machinesHere, before: unmoved, after: `{metadata: {name: a}, spec: {authoritativeAPI: Both}}`}, true},

		// (b) objects with the mirror's mark, and creations of objects that would act.
		"an edit of a mirror":                                    {asked{resource: machinesThere, before: marked, after: marked}, true},
		"an edit that takes the mark off":                        {asked{resource: setsThere, before: marked, after: stranger}, true},
		"an edit that puts the mark on":                          {asked{resource: checksThere, before: stranger, after: marked}, true},
		"an edit of a mirror by Cluster API":                     {asked{resource: machinesThere, before: marked, after: marked, by: capiManager}, true},
		"an edit of a provider's mirror":                         {asked{resource: infraThere, before: marked, after: marked}, true},
		"a deletion of a provider's mirror":                      {asked{resource: templatesThere, before: marked}, true},
		"that of a provider's machine":                           {asked{resource: infraThere, before: heldMirror}, true},
		"the namespace controller's deletion of it":              {asked{resource: infraThere, before: heldMirror, by: namespaceController}, false},
		"the garbage collector's deletion of it":                 {asked{resource: infraThere, before: heldMirror, by: collector}, false},
		"an edit of it by the garbage collector":                 {asked{resource: infraThere, before: heldMirror, after: heldMirror, by: collector}, true},
		"a Machine that acts":                                    {asked{resource: machinesThere, after: stranger}, true},
		"a MachineSet that acts":                                 {asked{resource: setsThere, after: stranger, by: capiManager}, true},
		"a check that acts":                                      {asked{resource: checksThere, after: stranger}, true},
		"the end of a Machine's pause":                           {asked{resource: machinesThere, before: paused, after: stranger}, true},
		"the end of a set's pause, by Cluster API":               {asked{resource: setsThere, before: paused, after: stranger, by: capiManager}, true},
		"the pause of what acts":                                 {asked{resource: machinesThere, before: stranger, after: paused}, false},
		"a person's Machine that names a set as its owner":       {asked{resource: machinesThere, after: ofASet}, true},
		"a Machine that Cluster API makes for something else":    {asked{resource: machinesThere, after: ofAPlane, by: capiManager}, true},
		"a paused Machine with a mark that Poundlock never gave": {asked{resource: machinesThere, after: strings.Replace(marked, "annotations: {", "annotations: {cluster.x-k8s.io/paused: '', ", 1)}, true},

		// These requests would give an instance to a second Machine.
		"a provider's machine with an instance":           {asked{resource: infraThere, after: withID}, true},
		"a provider's machine with an owner":              {asked{resource: infraThere, after: ownedHere}, true},
		"an instance for a provider's machine":            {asked{resource: infraThere, before: stranger, after: withID}, true},
		"its other name for a provider's machine":         {asked{resource: infraThere, before: stranger, after: `{metadata: {name: a}, spec: {instanceID: i-1}}`}, true},
		"an instance for a Machine of Cluster API's":      {asked{resource: machinesThere, before: stranger, after: withID}, true},
		"an owner for a provider's machine":               {asked{resource: infraThere, before: stranger, after: ownedHere}, true},
		"the end of the pause of what a Machine owns":     {asked{resource: infraThere, before: strings.Replace(ownedHere, "name: a, o", "name: a, annotations: {cluster.x-k8s.io/paused: ''}, o", 1), after: ownedHere}, true},
		"a Machine's reference to another":                {asked{resource: machinesThere, before: stranger, after: `{metadata: {name: a}, spec: {infrastructureRef: {name: b}}}`}, true},
		"the same by those whose trade it is":             {asked{resource: infraThere, before: stranger, after: ownedHere, by: capiManager}, false},
		"an edit of a provider's machine that has both":   {asked{resource: infraThere, before: ownedHere, after: ownedHere}, false},
		"a provider's machine that belongs to nobody yet": {asked{resource: infraThere, after: stranger}, false},
		"a provider's machine full of null":               {asked{resource: infraThere, before: nulls, after: nulls}, false},
		"a provider's machine that is not one":            {asked{resource: infraThere, before: odd, after: odd}, false},
		"a template that belongs to a set":                {asked{resource: templatesThere, before: stranger, after: ofASet}, false},

		"an edit of a provider's mirror, in a version that Poundlock does not read": {asked{resource: "awsmachines.v1beta1.infrastructure.cluster.x-k8s.io", before: marked, after: marked}, true},
		"a template that somebody creates":                                          {asked{resource: templatesThere, after: stranger}, false},
		"a MachineDeployment":                                                       {asked{resource: deploymentsThere, after: stranger}, false},

		// These are all other requests.
		"a Machine":                             {asked{resource: machinesHere, after: fresh}, false},
		"a Machine that names no authority":     {asked{resource: machinesHere, after: unnamed}, false},
		"a restored Machine":                    {asked{resource: machinesHere, after: held}, false},
		"an edit of a Machine that never moved": {asked{resource: machinesHere, before: unmoved, after: strings.Replace(unmoved, "replicas: 1", "replicas: 2", 1)}, false},
		"an edit of a Machine without a status": {asked{resource: machinesHere, before: unnamed, after: fresh}, false},
		"an edit of a mirrored Machine":         {asked{resource: machinesHere, before: held, after: strings.Replace(held, "name: a", "name: a, labels: {b: c}", 1)}, false},
		"the first status":                      {asked{resource: machinesHere, subresource: "status", before: fresh, after: unmoved}, false},
		"an empty first status":                 {asked{resource: setsHere, subresource: "status", before: unnamed, after: unnamed}, false},
		"a status":                              {asked{resource: machinesHere, subresource: "status", before: unmoved, after: unmoved}, false},
		"a status without Poundlock's fields":   {asked{resource: machinesHere, subresource: "status", before: unmoved, after: fresh}, false},
		"a deletion of a Machine that moved":    {asked{resource: machinesHere, before: moved}, false},
		"a scale of a Machine API set":          {asked{resource: setsHere, subresource: "scale", before: scaledTo, after: strings.Replace(scaledTo, "1}", "2}", 1)}, false},
		"a scale of a Cluster API set":          {asked{resource: setsThere, subresource: "scale", before: scaledTo, after: strings.Replace(scaledTo, "1}", "2}", 1)}, false},
		"a Machine of Cluster API's set":        {asked{resource: machinesThere, after: ofASet, by: capiManager}, false},
		"a paused Machine of Cluster API's":     {asked{resource: machinesThere, after: paused}, false},
		"an edit of what is not mirrored":       {asked{resource: machinesThere, before: stranger, after: paused}, false},
		"an edit of a provider's own":           {asked{resource: infraThere, before: stranger, after: paused}, false},
		"a deletion of a provider's own":        {asked{resource: infraThere, before: stranger}, false},
		"a deletion of a mirror":                {asked{resource: machinesThere, before: marked}, false},
		"a deletion of one whose move is about to end": {asked{resource: machinesThere,
			before: `{metadata: {name: a, finalizers: [f], annotations: {cluster.x-k8s.io/paused: authority-arrives-7}}}`}, true},
		"a control plane's set":               {asked{resource: controlPlanes, after: fresh}, false},
		"an edit of a control plane's set":    {asked{resource: controlPlanes, before: unmoved, after: strings.Replace(unmoved, "replicas: 1", "replicas: 2", 1)}, false},
		"the status of a control plane's set": {asked{resource: controlPlanes, subresource: "status", before: unnamed, after: unmoved}, false},
		"a deletion of a control plane's set": {asked{resource: controlPlanes, before: moved}, false},
		"a deletion of a marked namespace": {asked{resource: "namespaces.v1.",
			before: `{metadata: {name: m, annotations: {poundlock.openshift.io/holds-mirrors: 1 Machine}}}`}, false},
		"a write of Poundlock's own": {asked{resource: machinesThere, before: marked, after: marked, by: poundlockUser}, false},
		"an object with nothing":     {asked{resource: machinesHere, before: empty, after: empty}, false},
		"an object full of null":     {asked{resource: machinesHere, before: nulls, after: nulls}, false},
		"an object that is not one":  {asked{resource: machinesHere, before: odd, after: odd}, false},
		"a mirror full of null":      {asked{resource: machinesThere, before: nulls, after: nulls}, false},
	} {
		t.Run(what, func(t *testing.T) {
			if got := doors.closed(t, c.asked, labels.Set{authority.AdmissionLabel: authority.Enforced}); got != c.closed {
				t.Errorf("fails closed: %t, want %t", got, c.closed)
			}
			if doors.closed(t, c.asked, nil) {
				t.Error("fails closed before any replica has answered")
			}
		})
	}
}

// TestWhatIsKeptForAnInstanceIsAskedAbout: the webhook is called for an object that acts at once, for one that the garbage collector would delete with its
// owner, and for one that names another Machine's instance for later. A provider's own account creates such an object for each new machine.
func TestWhatIsKeptForAnInstanceIsAskedAbout(t *testing.T) {
	doors := everyDoor(t)
	const kept, owned = "vspherevms.v1beta1.infrastructure.cluster.x-k8s.io", `{metadata: {name: a, annotations: {cluster.x-k8s.io/paused: ""}, ` +
		`ownerReferences: [{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachine, name: a, uid: u}]}}`
	for what, c := range map[string]struct {
		after, by string
		want      bool
	}{
		"it acts":                          {after: stranger, want: true},
		"it is paused":                     {after: paused, want: true},
		"it is paused, and has an owner":   {after: owned, want: true},
		"its owner is a bastion's cluster": {after: strings.Replace(owned, "VSphereMachine", "OpenStackCluster", 1), want: true},
		"it is full of null":               {after: nulls, want: true},
		"OpenStack's provider creates it":  {after: stranger, by: capoManager},
	} {
		if got := len(doors.asked(t, asked{resource: kept, after: c.after, by: c.by}, nil)) > 0; got != c.want {
			t.Errorf("%s: asked about: %t, want %t", what, got, c.want)
		}
	}
}

// TestADeploymentIsAskedAboutForItsSelectorAndOwners: each rollout and each scaling of a MachineDeployment is an update, too, and calls no webhook.
func TestADeploymentIsAskedAboutForItsSelectorAndOwners(t *testing.T) {
	doors := everyDoor(t)
	ownedBy := func(deployment, uid string) string {
		return strings.Replace(deployment, "{name: a}", "{name: a, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: \""+uid+"\"}]}", 1)
	}
	selects := func(app string, replicas int) string {
		return fmt.Sprintf(`{metadata: {name: a}, spec: {replicas: %d, selector: {matchLabels: {app: %s}}}}`, replicas, app)
	}
	for what, c := range map[string]struct {
		asked
		want bool
	}{
		"it is created":              {asked{resource: deploymentsThere, after: selects("a", 1)}, true},
		"it is created with nothing": {asked{resource: deploymentsThere, after: empty}, true},
		"it is scaled":               {asked{resource: deploymentsThere, before: selects("a", 1), after: selects("a", 2)}, false},
		"it selects others":          {asked{resource: deploymentsThere, before: selects("a", 1), after: selects("b", 1)}, true},
		"it gets an owner":           {asked{resource: deploymentsThere, before: selects("a", 1), after: ownedBy(selects("a", 1), "1")}, true},
		"it gets another owner":      {asked{resource: deploymentsThere, before: ownedBy(selects("a", 1), "1"), after: ownedBy(selects("a", 1), "2")}, true},
		"it keeps its owner":         {asked{resource: deploymentsThere, before: ownedBy(selects("a", 1), "1"), after: ownedBy(selects("a", 2), "1")}, false},
		"it has no spec":             {asked{resource: deploymentsThere, before: empty, after: empty}, false},
		"it is full of null":         {asked{resource: deploymentsThere, before: nulls, after: nulls}, false},
	} {
		t.Run(what, func(t *testing.T) {
			if got := len(doors.asked(t, c.asked, nil)); (got == 1) != c.want || got > 1 {
				t.Errorf("%d doors are asked, want one: %t", got, c.want)
			}
		})
	}
}

// TestWhatGivesAKeptObjectAnInstanceFailsClosed: with the ID alone, even without an owner, the provider's controller acts on the instance, and terminates it
// when the object is deleted. On OpenStack, the ID is only in the object's status.
func TestWhatGivesAKeptObjectAnInstanceFailsClosed(t *testing.T) {
	doors := everyDoor(t)
	const (
		vms, servers = "vspherevms.v1beta1.infrastructure.cluster.x-k8s.io", "openstackservers.v1alpha1.infrastructure.cluster.x-k8s.io"
		with, other  = `{metadata: {name: a}, spec: {biosUUID: u-1}}`, `{metadata: {name: a}, spec: {biosUUID: u-2}}`
		server       = `{metadata: {name: a}, status: {instanceID: u-1}}`
	)
	for what, c := range map[string]struct {
		asked
		closed bool
	}{
		"it is created with one":           {asked{resource: vms, after: with}, true},
		"it is created with one, paused":   {asked{resource: vms, after: strings.Replace(with, "name: a", "name: a, annotations: {cluster.x-k8s.io/paused: ''}", 1)}, true},
		"it gets one":                      {asked{resource: vms, before: stranger, after: with}, true},
		"it gets another one":              {asked{resource: vms, before: with, after: other}, true},
		"it keeps the one":                 {asked{resource: vms, before: with, after: strings.Replace(with, "name: a", "name: a, labels: {b: c}", 1)}, false},
		"a person creates it without":      {asked{resource: vms, after: stranger}, true},
		"a person creates it full of null": {asked{resource: vms, after: nulls}, true},
		"paused":                           {asked{resource: vms, after: `{metadata: {name: a, annotations: {cluster.x-k8s.io/paused: ''}}, spec: {}}`}, false},
		"a ServiceAccount without":         {asked{resource: vms, after: stranger, by: "system:serviceaccount:c:default"}, false},
		"it is edited full of null":        {asked{resource: vms, before: nulls, after: nulls}, false},
		"it is created odd":                {asked{resource: vms, after: odd, by: "system:serviceaccount:c:default"}, false},
		"a server gets one":                {asked{resource: servers, subresource: "status", before: empty, after: server}, true},
		"OpenStack's provider writes it":   {asked{resource: servers, subresource: "status", before: empty, after: server, by: capoManager}, false},
		"a server's status says the same":  {asked{resource: servers, subresource: "status", before: server, after: server}, false},
		"a person creates a server":        {asked{resource: servers, after: stranger}, true},
		"OpenStack's provider creates one": {asked{resource: servers, after: stranger, by: capoManager}, false},
	} {
		if got := doors.closed(t, c.asked, labels.Set{authority.AdmissionLabel: authority.Enforced}); got != c.closed {
			t.Errorf("%s: fails closed: %t, want %t", what, got, c.closed)
		}
		if doors.closed(t, c.asked, nil) {
			t.Errorf("%s: fails closed before any replica has answered", what)
		}
	}
}

// everyDoor returns the webhooks of both configurations, as an API server of this module's version reads them.
func everyDoor(t *testing.T) doors {
	t.Helper()
	validating, mutating := Configurations(ConfigOptions{
		Platforms: platforms.List(), Pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}}, Own: []string{poundlockUser}, URL: "https://127.0.0.1:1",
		Identities: policies.Identities{policies.ClusterAPIController: {capiManager}, policies.InfrastructureController: {capoManager}, policies.NamespaceController: {namespaceController}, policies.GarbageCollector: {collector}},
	})
	var out doors
	for _, w := range mutating.Webhooks {
		out = append(out, door{w.Name, true, w.Rules, *w.FailurePolicy, selector(t, w.NamespaceSelector), matcher(t, w.Name, w.MatchConditions)})
	}
	for _, w := range validating.Webhooks {
		out = append(out, door{w.Name, false, w.Rules, *w.FailurePolicy, selector(t, w.NamespaceSelector), matcher(t, w.Name, w.MatchConditions)})
	}
	return out
}

type doors []door

// door is one webhook of a configuration.
type door struct {
	name     string
	mutating bool
	rules    []admissionregistrationv1.RuleWithOperations
	policy   admissionregistrationv1.FailurePolicyType
	// namespaces matches the other labels of a namespace, not its name.
	namespaces labels.Selector
	matcher    matchconditions.Matcher
}

func selector(t *testing.T, s *metav1.LabelSelector) labels.Selector {
	t.Helper()
	out, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: s.MatchExpressions[1:]})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func matcher(t *testing.T, name string, conditions []admissionregistrationv1.MatchCondition) matchconditions.Matcher {
	t.Helper()
	if len(conditions) > 64 {
		t.Errorf("%s has %d match conditions, more than an API server takes", name, len(conditions))
	}
	var expressions []admissioncel.ExpressionAccessor
	for i := range conditions {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&conditions[i]))
	}
	vars := admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}
	compiler := admissioncel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	evaluator := compiler.CompileCondition(expressions, vars, environment.NewExpressions)
	if errs := evaluator.CompilationErrors(); len(errs) > 0 {
		t.Fatalf("%s: %v", name, errs)
	}
	fail := admissionregistrationv1.Fail
	return matchconditions.NewMatcher(evaluator, &fail, "webhook", "admit", name)
}

// closed reports whether the request waits for a webhook that fails closed, in a namespace with these labels.
func (d doors) closed(t *testing.T, a asked, in labels.Set) bool {
	t.Helper()
	return slices.ContainsFunc(d.asked(t, a, in), func(one door) bool { return one.policy == admissionregistrationv1.Fail })
}

// asked returns the webhooks that the request reaches. It reports an error if two of one phase are reached.
func (d doors) asked(t *testing.T, a asked, in labels.Set) (out []door) {
	t.Helper()
	request, seen := a.attributes(t), map[bool]string{}
	for _, one := range d {
		if !one.namespaces.Matches(in) || !one.reached(request) {
			continue
		}
		answer := one.matcher.Match(t.Context(), request, nil, nil)
		if answer.Error != nil {
			t.Errorf("%s: %v", one.name, answer.Error)
		}
		if !answer.Matches {
			continue
		}
		if other, ok := seen[one.mutating]; ok {
			t.Errorf("the request comes to %s and to %s", other, one.name)
		}
		seen[one.mutating] = one.name
		out = append(out, one)
	}
	return out
}

func (d door) reached(a *admission.VersionedAttributes) bool {
	resource := a.GetResource().Resource
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	return slices.ContainsFunc(d.rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		inVersion := slices.Contains(r.APIVersions, "*") || slices.Contains(r.APIVersions, a.GetResource().Version)
		return inVersion && slices.Contains(r.APIGroups, a.GetResource().Group) && slices.Contains(r.Resources, resource) &&
			slices.Contains(r.Operations, admissionregistrationv1.OperationType(a.GetOperation()))
	})
}

func (a asked) attributes(t *testing.T) *admission.VersionedAttributes {
	t.Helper()
	gvr, _ := schema.ParseResourceArg(a.resource)
	if gvr == nil {
		t.Fatalf("%q is no resource", a.resource)
	}
	kind := objectKind(t, *gvr)
	operation, options := admission.Update, runtime.Object(nil)
	switch {
	case a.before == "":
		operation = admission.Create
	case a.after == "":
		operation, options = admission.Delete, &metav1.DeleteOptions{}
	}
	by := a.by
	if by == "" {
		by = "a person"
	}
	before, after := contentOf(t, a.before, kind), contentOf(t, a.after, kind)
	record := admission.NewAttributesRecord(after, before, kind, "m", "a", *gvr, a.subresource, operation, options, false,
		&user.DefaultInfo{Name: by, Groups: []string{"system:masters"}})
	return &admission.VersionedAttributes{Attributes: record, VersionedKind: kind, VersionedObject: after, VersionedOldObject: before}
}

// objectKind looks a resource up in the routes.
func objectKind(t *testing.T, gvr schema.GroupVersionResource) schema.GroupVersionKind {
	t.Helper()
	for _, r := range Routes(All(platforms.List()...)) {
		if s, ok := r.subject(gvr.Group, gvr.Resource); ok {
			return s.GroupVersion.WithKind(s.ObjectKind)
		}
	}
	t.Fatalf("no door for %v", gvr)
	return schema.GroupVersionKind{}
}

// contentOf parses an object as an API server sends it in a review, without validation. It returns nil for an empty text.
func contentOf(t *testing.T, text string, kind schema.GroupVersionKind) runtime.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &o.Object); err != nil {
		t.Fatal(err)
	}
	if o.GetKind() == "" {
		o.SetGroupVersionKind(kind)
	}
	return o
}
