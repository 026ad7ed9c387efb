// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package values reads, changes, compares and prints values as encoding/json reads them: maps, lists, texts and numbers.
// The path of a member is written like a field's path in Kubernetes, such as network.devices[0].networkName.
//
// Non-goals:
//   - the meaning of a value: package platform has what members of a providerSpec are for
package values
