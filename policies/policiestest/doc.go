// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policiestest reads the tables of cases that every engine of rules is held against: the rules in Go and their
// twins in CEL run through the same files, so that they cannot differ unseen.
//
// It knows how a case is written down and how it becomes a policies.Change. It refuses to know any rule.
//
// A file holds the cases of one rule in tables. A table says what its cases have in common; a case says in a sentence
// what is asked and by whom, how it differs from the table, and what the rule answers: the fields that it denies, words
// of each warning, or neither. A case stands for one change per kind and actor that it names.
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
package policiestest
