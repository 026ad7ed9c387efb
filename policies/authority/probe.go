// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

const (
	// ProbeName is the name of the Lease with which Poundlock probes its webhooks: it is created in a dry run, in the Cluster API namespace of a pair, and so
	// never stored.
	ProbeName = "poundlock-probe"
	// ProbeAnswer is the beginning of the warning with which a webhook answers that probe. The path of the webhook follows.
	ProbeAnswer = "Poundlock answers at "
)
