// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openstack knows how a Machine API providerSpec for OpenStack and Cluster API's OpenStackMachineSpec say the
// same: one row per field, in Fields. docs/fields/openstack.md is generated from it.
//
// The hard part are the interfaces. Machine API has two lists, networks and then ports, and security groups that a port's
// own replace; Cluster API has one list of ports, and adds the machine's security groups to each port's own. See interfaces.go.
//
// It refuses to know the core Machine, but for the few values that one API keeps there and the other in the
// providerSpec, and never asks OpenStack: a filter is not resolved into an id, a name not into an image.
package openstack
