// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconcilers lists what runs behind leader election: All. Each reconciler is a package beneath it: gather,
// decide, apply, with the deciding done by the nouns under policies and conversion.
//
// It knows which there are. It refuses to know what they do, and none of them knows another: they meet in the objects.
package reconcilers
