// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command modelcheck walks every state that a pair of objects can come to while everybody interferes with everybody. It also
// walks the states of a family of MachineSets and Machines. It checks DESIGN §4's invariants in each state. `make proof
// WHAT=walk` is the complete walk, and `go test` a bounded form. docs/proof.md explains how to read its output.
//
// # What is real, and what is a model
//
// The proof calls these functions as they are: authority.Next, authority.DeletionState.Next, authority.GateOf, authority.Source, and authority.Rules. The rules
// answer each request that a person makes in the model. About what a provider keeps for an instance, the proof asks authority.Objects.State,
// feedback.InstanceHook, twin's WantCore and Kept, and deletion's Asked, Next and ReleaseInfra, with objects that it writes out. The reconcilers and webhooks
// that call these functions are modelled.
// There are three models, and each actor of one (actors.go) has a file whose name begins with the model's:
//
//	pair_    a Machine, a MachineSet or a MachineHealthCheck, what both APIs store of it, and its instance. The handoff and the mirror follow the code:
//	         reconcilers/handoff's gather (the Cluster API side, then the Machine API object), one step, its requests one after the other (plan.go);
//	         reconcilers/mirror's gather (which API is authoritative is read last), and the writes that mirroring decides one after the other, up to a
//	         deletion, whose outcome is read again. kept.go is about a provider that keeps an object for each instance, with a second controller
//	         (OpenStackServer, VSphereVM), admission.go about the rules that a person's commands pass
//	family_  two MachineSets and up to two Machines of settled authority: deletion by anybody and with its namespace, in the background, in the
//	         foreground and leaving orphans; the collector; scaling; the Machine API's set while the feature gate is off. With a Machine alone:
//	         deletion of either set at any moment of a move of the sets
//	sets_    two MachineSets while authority over them moves: what either counts, Machines that are born until the source has paused, scaling,
//	         Machines that do not convert, a set that is asked to move as soon as it is created, a mirror that is deleted and recreated, marks
//	         of Cluster API's check
//
// # How the world is made small
//
// An object is the few bits that anybody decides from (object.go). Numbers are relative: the model does not store "generation 7, synchronized 6", but whether
// one has caught up with the other. It does not store a resourceVersion, but whether an object was written since it was read. It does not store a spec, but
// whether it is the last spec that a person gave the authoritative object. Nothing is counted, so no counter bounds the walk. People ask, abort, edit, delete
// and crash things as often as they like.
//
// A view is what a controller has in its cache: an older version of the object. Cluster API's controllers act on their view however old it is, without waiting
// for an answer of their own. A view never goes back. These controllers write without a resourceVersion, and write lists of finalizers whole. A view may stop
// at one version between the old and the stored one (deeds: skips). To a controller that has not looked, more such versions make no difference.
//
// Poundlock and the Machine API's machine controller decide on reads past the cache, so a stale cache only delays them. What can be stale is what they read a
// while ago and still hold. The API server refuses their patches if the resourceVersion has passed or the object is gone. It refuses a creation if an object of
// that name exists. It does not refuse their deletions (by UID), and the cloud does not refuse their calls: these take effect however late.
//
// # What is checked
//
// In every state (wrong):
//
//   - Both sides' controllers can never act together.
//   - There are never two instances.
//   - Every instance has a controller that holds a finalizer, and so can delete it. If the provider keeps an object for each instance, that is the object's
//     controller. Until it holds the object, Poundlock's hook has to keep the Machine.
//   - No instance is terminated unless somebody asked for it, by the rules of converting › Summary of the rules.
//     None is left behind.
//   - The spec of the authoritative object is the last one that a person gave, and its labels are the last that were written while its controllers acted.
//   - No set deletes a Machine by the mark of a check that no longer looks at it. No check moves while it has a request open that only its controller can
//     take back.
//   - What somebody deleted while Poundlock was away is not created again, if Cluster API had begun to act on it and Poundlock had seen the pair.
//
// In states after which nothing more is promised to happen (unrest):
//
//   - Nothing waits for its deletion, and no mirror is missing or different. What a neighbour wrote to one object is on both.
//   - The controllers of the authoritative side act.
//   - Every instance that should run does, and no other.
//   - The handoff's next step is Settle, or a condition explains what a person has to do.
//
// Every fair run comes to such a rest (livelock.go decides how).
//
// # What is not modelled
//
//   - Failed conversions, and clusters that lack their Infrastructure or Cluster: they are waits with a condition.
//   - Strangers that act (authority.Foreign), except one that is created at the same time as the Machine API object. A Cluster API object with an instance
//     of its own is no part of the pair.
//   - Templates: no controller acts on one.
//   - Some deletions before a provider knows the instance of a Machine that has just moved to Cluster API: of the provider's machine itself, of the
//     namespace, and of the Machine's set in the foreground. The hook does not keep the collector and the namespace controller from the provider's
//     machine. The machine is deleted at once, and leaves the instance behind.
//   - An object for the instance that an older Poundlock left acting, if its Machine has lost the mirror that leads to the object, or is deleted with its
//     namespace: nobody can pause the object in time.
//   - An object for the instance that names another instance, or belongs to a machine of another name.
//   - With the feature gate off, a controller of the Machine API's Machines that stores the phase Deleting although its object has changed since it was read,
//     and then calls the cloud.
//   - What people do while Poundlock is away (deeds: aways), except that they delete objects for which Cluster API is authoritative. Nobody refuses anything
//     then, and people are responsible for what they leave. The model takes for granted that Poundlock cannot be removed while a move is under way; a
//     manager that dies in a move is a crash. Only walks with this deed know whether it is stored that an object existed (State.Unrecorded).
//   - Conditions other than the three from which somebody decides.
//   - What a MachineHealthCheck does to Machines, except for its marks and requests; and a Machine that leaves its check while a request is open. The check
//     itself is walked.
//   - With the feature gate off, a controller of the Machine API's Machines that creates an instance (admission refuses its finalizer), and a set of the
//     Machine API's that deletes a Machine for which the Machine API is authoritative (docs/decisions.md).
//   - What the autoscaler writes to the mirror of a set that moves, or of a family: it counts as an edit of the authoritative object. pair_neighbours.go and
//     its test say which neighbours write what to a pair, and which of that the model leaves out.
//   - Ownership of the mirror's creation, as an apply would set it: a write of managed fields, from which nobody
//     decides.
//   - Deletions of sets that move, together with scaling, with deletions of their Machines, or with Machines that do not convert or move themselves:
//     each of these is walked without the other.
//   - Retries after transient errors: a crash has the same effect.
//   - An authoritative object that is stripped of its finalizers by force, but for Cluster API's own on a Machine that is being deleted
//     and has an instance (deeds: strips).
//
// Two managers may both believe that they lead. They go on at the same time only until the pass ends that the former leader is in (deeds: leaders), and not
// while something is deleted. A creation by the former leader may take effect when all else is gone. It leaves a paused object without an instance, which
// nothing can prevent. The former leader may also remove a finalizer from the provider's object while the present leader, which cancels the move, removes the
// Machine API's. Until the provider's controller looks again, nobody holds a finalizer. So walks with a former leader ask for a holder at rest only.
//
// # What is assumed of others
//
// A controller, of either API, may die between its call to the cloud and its write of the answer. It may then
// acknowledge a pause without the instance's ID. It finds the instance when it acts again and wants to create one. A
// person who decides that no instance exists (deeds: decides) has looked: it is so at that moment.
//
// A provider's controller may never acknowledge a pause (authority.ByPatience). The model assumes that it has seen the pause, and has ended what it had begun
// before, when Poundlock's patience is over (half a minute, or a quarter of an hour if it may be creating an instance). Until then it may do whatever an older
// version of the object lets it do. A restarted controller of Cluster API sees no older version than it acted on before. A call to the cloud has reached it by
// the time that a new process asks there.
//
// A provider that keeps an object for each instance finds an instance by the name that is known to its machine. The controller of its machines looks at what is
// stored before it creates or deletes that object. Both its controllers see their own writes at once: otherwise the API server would refuse the write, or the
// controller would do the same twice. A condition is written with the version of the object that was seen.
//
// A deletion may meet a move, or another deletion of the same family with the opposite meaning. The proof does not judge which of the two prevails, only that
// everything ends well.
package main
