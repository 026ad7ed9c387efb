// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inmemory has no code: its module pins Cluster API's development provider, whose machines are in its memory. `make proof
// WHAT=private` runs it behind the proxy.
//
// It is a Go module of its own, as test/clusterapi is. The provider is of an older patch release than the rest: newer ones are not published.
package inmemory
