// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policiestest reads the tables of cases that test each engine of rules. The rules in Go and their twins in CEL run through the same files, so a
// difference between them fails a test.
//
// The input is a file with the cases of one rule, in tables. The output is one policies.Change for each kind and actor that a case names.
//
// A table has what its cases have in common. A case has a sentence with the request and its user, its difference from the table, and the rule's answer. The
// answer is the fields that the rule denies, words of each warning, or neither.
//
//	rule: authority/spec-locked
//	tables:
//	- about: the Machine API side while Cluster API is authoritative
//	  side: MachineAPI
//	  kinds: [Machine, MachineSet]
//	  operation: UPDATE
//	  old: {spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}
//	  cases:
//	  - it: a label in the template is refused
//	    change: {spec: {metadata: {labels: {a: b}}}}
//	    denied: [spec.metadata]
//	  - it: a request to move is not the lock's business
//	    change: {spec: {authoritativeAPI: MachineAPI}}
//
// Non-goals:
//   - any rule: see policies/authority and policies/controlplane
package policiestest
