// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platforms plays one story on a stage of each platform, with the CRDs of the platform's provider and with the way in which the provider's controller
// behaves. It has no code but tests. A stage takes half a minute. So `make test` plays one, and `make proof WHAT=platforms` plays all of them.
//
// The story checks what must work everywhere.
//
// Non-goals:
//   - what is particular to a platform: see the kits, and the rows of test/simulation
package platforms
