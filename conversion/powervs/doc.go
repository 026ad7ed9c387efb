// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package powervs knows how a Machine API providerSpec for IBM Power Virtual Server and Cluster API's IBMPowerVSMachineSpec say the same:
// one row per field, in Fields. docs/fields/powervs.md is generated from it.
//
// The types of Cluster API's side are its own (infra.go): the provider's would bring a cloud SDK along. A test holds them to the
// provider's CRD, leaf by leaf.
//
// It refuses to know the core Machine, but for the few values that one API keeps there and the other in the providerSpec, and never asks
// IBM Cloud: a name is not resolved into an id, a regular expression not into a name.
package powervs
