// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

const (
	// ProbeName is of the Lease that a probe of Poundlock's webhooks asks for in a dry run, in the Cluster API namespace of a pair. It is never stored.
	ProbeName = "poundlock-probe"
	// ProbeAnswer begins the warning by which a webhook answers it. The path of the webhook follows.
	ProbeAnswer = "Poundlock answers at "
)
