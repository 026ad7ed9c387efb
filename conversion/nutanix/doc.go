// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nutanix knows how a Machine API providerSpec for Nutanix and Cluster API's NutanixMachineSpec say the same: one row per field,
// in Fields. docs/fields/nutanix.md is generated from it.
//
// The types of Cluster API's side are its own (infra.go): the provider's would bring the clients of Prism Central along. A test holds them to
// the provider's CRD, leaf by leaf.
//
// It refuses to know the core Machine, but for the few values that one API keeps there and the other in the providerSpec, and never asks
// Prism Central: a name is not resolved into a UUID.
package nutanix
