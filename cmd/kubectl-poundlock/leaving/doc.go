// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaving plans how a cluster gets rid of Poundlock: what keeps it from that, what admission is taken down, and which finalizers
// and marks come off which objects.
//
// It is pure. Which API is authoritative for an object and who is paused it leaves as it is: that nothing begins to act is the point of it.
package leaving
