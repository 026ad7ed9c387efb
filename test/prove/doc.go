// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command prove walks every state that a pair of objects, or a family of MachineSets and Machines, can come to while everybody interferes with
// everybody, and checks DESIGN §4's invariants in each. `make proof WHAT=walk` is the whole of it, `go test` a bounded form, and
// docs/proof.md says how to read what it prints.
//
// # What is real, and what is a model
//
// Under proof, and called as they are: authority.Next, authority.Deletion.Next, authority.GateOf, authority.Source, and authority.Rules, which answer
// each request that a person makes in the model. The shells around them are modelled, each in a file of its own that follows the code it stands for:
//
//	handoff.go, plan.go  reconcilers/handoff: gather (the Cluster API side, then the Machine API object), one step, its requests one after the other
//	mirror.go, plan.go   reconcilers/mirror: gather (which API is authoritative is read last), the writes of next.go and deletion.go one after the other, up to a
//	                     deletion, whose outcome is read again
//	controllers.go       reconcilers/provision's machine controller; Cluster API's core controller, its provider's, and the garbage collector
//	people.go            whoever types commands, past admission (admission.go)
//	family.go            two MachineSets and up to two Machines of settled authority: deletion by anybody and with its namespace, in the background, in the foreground and leaving
//	                     orphans; the collector; scaling
//	sets.go              two MachineSets while authority over them moves: what either counts, Machines that are born until the source has paused, scaling,
//	                     Machines that do not convert, a set that is asked to move as soon as it is created, a mirror that is deleted and recreated
//
// # How the world is made small
//
// An object is the few bits that anybody decides from (object.go). Numbers are relative: not "generation 7, synchronized 6" but whether the one has caught
// up with the other; not a resourceVersion but whether an object was written since it was read; not a spec but whether it is what a person last said to
// the authority. Nothing is counted, so nothing is bounded by a counter: people ask, abort, edit, delete and crash things as often as they like.
//
// A view is an older version of the object. Cluster API's controllers act on theirs however old it is, without waiting for an answer of their own, never
// on an older one than before, and write without a resourceVersion, lists of finalizers whole. A view may stop at one version between (deeds: skips); more
// are the same to a controller that has not looked. Poundlock and the Machine API's machine controller decide on reads past the cache, so a stale cache of
// theirs only delays them; what is stale is what they have read a while ago and still hold. Their patches are refused where they carry a resourceVersion
// that has passed or whose object is gone, creations where there is an object of that name; their deletions (by UID) and calls to the cloud are not, and
// land however late.
//
// # What is checked
//
// In every state (wrong): never can both sides' controllers act; never are there two instances; none has nobody who holds a finalizer to delete it under;
// none is ended that nobody asked to end, by the rules of converting › Summary of the rules, nor left behind; the spec of the authoritative object is what a
// person last said. Where nothing more is promised to happen (unrest): nothing waits for its deletion, no mirror is missing or different, whoever is in
// charge acts, an instance runs that should and none that should not, the handoff says Settle, or a condition says what a person has to do. And that
// every fair run comes to such a rest (settle.go says how that is decided).
//
// # What is not modelled
//
// Failed conversions, and clusters that lack their Infrastructure or Cluster: they are waits with a condition. Strangers that act (authority.Foreign): a
// Cluster API object with an instance of its own is no part of the pair. Templates: no controller acts on one.
// Conditions other than the three that are decided from. What a MachineHealthCheck does to Machines. What the autoscaler says to a mirror, which is an edit of the
// object authoritative. That the mirror's creation becomes owned as an apply would be: a write of managed fields, from which nobody decides. Retries after errors that pass: a
// crash is the same. That an authoritative object is stripped of its finalizers by force. Two managers that both believe to lead go on at the same
// time only as far as the pass that the former is in (deeds: leaders), and not while something is deleted: a creation of the former's that lands when
// all else is gone leaves a paused object without an instance, which nothing can prevent. And the former leader may take a finalizer off the provider's
// object while the present one, cancelling, takes the Machine API's: until the provider's controller looks again nobody holds one, so that walks with a
// former leader ask for a holder at rest only.
//
// # What is assumed of others
//
// A controller, of either API, may die between its call to the cloud and what it stores of the answer, and acknowledge a pause without the instance's ID. It
// finds the instance when it acts again and wants to create one. A person who decides that no instance exists (deeds: decides) has looked: it is so at that
// moment. A provider's controller that never acknowledges a pause (authority.ByPatience) has seen it, and ended what it had begun before, when Poundlock's patience of half
// a minute is over: until then it may do whatever an older version lets it do. No controller of Cluster API, restarted, sees an older version than it acted on
// before. A call to the cloud has reached it by the time that a new process asks there. What a deletion means that meets a move, or another deletion of the same family that means the opposite, is not
// judged: only that it ends well.
package main
