// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package values reads, changes, compares and prints values as encoding/json reads them: maps, lists, texts and numbers.
// A place in one is written as a field of Kubernetes is, such as network.devices[0].networkName.
//
// Non-goals:
//   - the meaning of a value: package platform has what members of a providerSpec are for
package values
