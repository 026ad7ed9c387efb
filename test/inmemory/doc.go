// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inmemory has no code. Its module pins Cluster API's provider for development, whose machines exist only in its memory. `make proof WHAT=private` runs
// it behind the proxy.
//
// It is a Go module of its own for the same reason as test/clusterapi. The provider is of an older patch release than the rest, because newer ones are not
// published.
package inmemory
