// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openstack converts between a Machine API providerSpec for OpenStack and Cluster API's OpenStackMachineSpec.
// Fields has one row per field, and docs/fields/openstack.md is generated from it.
//
// The interfaces are the hard part (interfaces.go). Machine API has two lists, networks and then ports. A port's own
// security groups replace the machine's. Cluster API has one list of ports, and adds the machine's security groups to
// each port's own.
//
// Non-goals:
//   - the core Machine (see conversion/core), except for the few values that one API has in the core Machine and the
//     other in the providerSpec
//   - asking OpenStack: no filter is resolved into an ID, and no name into an image
package openstack
