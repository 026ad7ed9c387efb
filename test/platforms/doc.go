// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platforms has tests alone: one story, played on a stage of each platform, with the provider's own CRDs and its controller's habits. A stage takes half
// a minute, so `make test` plays one, and `make proof WHAT=platforms` all of them.
//
// It knows what must work everywhere. It refuses to know any platform: what is particular is in the kits, and in the simulation's rows.
package platforms
