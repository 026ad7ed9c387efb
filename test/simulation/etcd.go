// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/poundlock/poundlock/test/neighbours"
)

// The hook with which the etcd operator holds a Machine whose Node is a voting member. It removes the hook when etcd can do without that member.
const (
	EtcdHook      = neighbours.EtcdHook
	EtcdHookOwner = neighbours.EtcdHookOwner
)

// EtcdNamespace and EtcdMembers name the ConfigMap in which the simulated etcd stores its members, by the names of their Nodes, and the history of its
// membership.
const (
	EtcdNamespace = "openshift-etcd"
	EtcdMembers   = "etcd-members"
)

// Membership is the membership of etcd as its operator knows it.
type Membership struct {
	// Members are the names of the members' Nodes, sorted.
	Members []string
	// History has each change of the membership, the oldest first.
	History []Joining
}

// Joining is a change of the membership: one member joined or left.
type Joining struct {
	// Voting is the number of members after the change.
	Voting int
	// Left reports whether the member left.
	Left bool
	// Node and Machine name the member. Machine is "-" if the Node had no Machine any more.
	Node, Machine string
}

func (j Joining) String() string {
	sign := "+"
	if j.Left {
		sign = "-"
	}
	return fmt.Sprintf("%d %s%s %s", j.Voting, sign, j.Node, j.Machine)
}

// The keys of the ConfigMap.
const (
	membersKey = "members"
	historyKey = "history"
)

// ReadMembership reads the ConfigMap: a line for each member, and a line for each change, such as "4 +ip-10-0-0-9.ec2.internal master-x7k2p-0".
func ReadMembership(kept *corev1.ConfigMap) (Membership, error) {
	m := Membership{Members: strings.Fields(kept.Data[membersKey])}
	for line := range strings.Lines(kept.Data[historyKey]) {
		var j Joining
		var node string
		if _, err := fmt.Sscanf(line, "%d %s %s", &j.Voting, &node, &j.Machine); err != nil || len(node) < 2 {
			return m, fmt.Errorf("the history of ConfigMap %s has a line %q, which is none", kept.Name, line)
		}
		j.Left, j.Node = node[0] == '-', node[1:]
		m.History = append(m.History, j)
	}
	return m, nil
}

func (m Membership) write(kept *corev1.ConfigMap) {
	lines := func(all []string) string {
		if len(all) == 0 {
			return ""
		}
		return strings.Join(all, "\n") + "\n"
	}
	var history []string
	for _, j := range m.History {
		history = append(history, j.String())
	}
	kept.Data = map[string]string{membersKey: lines(m.Members), historyKey: lines(history)}
}

// Fewest returns the least number of voting members since there were `since` of them for the first time. It returns false if there never were so many.
func (m Membership) Fewest(since int) (int, bool) {
	at := slices.IndexFunc(m.History, func(j Joining) bool { return j.Voting >= since })
	if at < 0 {
		return 0, false
	}
	return slices.MinFunc(m.History[at:], func(a, b Joining) int { return cmp.Compare(a.Voting, b.Voting) }).Voting, true
}

func (m Membership) has(node string) bool { return slices.Contains(m.Members, node) }

// with returns the membership after a change.
func (m Membership) with(left bool, node, machine string) Membership {
	members := slices.DeleteFunc(slices.Clone(m.Members), func(n string) bool { return n == node })
	if !left {
		members = append(members, node)
	}
	slices.Sort(members)
	return Membership{members, append(slices.Clone(m.History), Joining{len(members), left, node, cmp.Or(machine, "-")})}
}

// voter is what matters to etcd about a Machine of the control plane.
type voter struct {
	machine string
	// node is the name of the Machine's Node, "" while it has none.
	node             string
	deleting, hooked bool
}

// quorum is what an etcd operator decides from.
type quorum struct {
	Membership
	voters []voter
	// healthy are the Nodes of the control plane that are ready.
	healthy map[string]bool
	// desired is how many members etcd is to have. No member is taken away if fewer than that would be left.
	desired int
}

// deed is the one change that an etcd operator makes next.
type deed struct {
	verb    deedVerb
	machine string
	node    string
}

type deedVerb string

const (
	nothing deedVerb = ""
	join    deedVerb = "join"
	leave   deedVerb = "leave"
)

// next returns the next change of the membership, as the operator of a cluster decides it. A Machine joins only once the hook holds it
// (neighbours.EtcdOperator). A Machine that is being deleted leaves only if as many healthy members remain as etcd is to have.
func (q quorum) next() deed {
	for _, v := range q.voters {
		if d := q.of(v); d.verb != nothing {
			return d
		}
	}
	for _, node := range q.Members { // its Machine was removed without being held
		if !slices.ContainsFunc(q.voters, func(v voter) bool { return v.node == node }) && q.enoughWithout(node) {
			return deed{leave, "", node}
		}
	}
	return deed{}
}

func (q quorum) of(v voter) deed {
	member := v.node != "" && q.has(v.node)
	switch {
	case v.deleting && member && q.enoughWithout(v.node):
		return deed{leave, v.machine, v.node}
	case v.deleting:
		return deed{}
	case v.hooked && !member && q.healthy[v.node]:
		return deed{join, v.machine, v.node}
	}
	return deed{}
}

// enoughWithout reports whether as many healthy members as etcd is to have remain without a Node.
func (q quorum) enoughWithout(node string) bool {
	left := 0
	for _, m := range q.Members {
		if m != node && q.healthy[m] {
			left++
		}
	}
	return left >= q.desired
}
