// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journeys tests what a person does at kubectl, from the first command to the last machine. It has no code but tests. They run on an embedded control
// plane with Poundlock's own binary, Cluster API's real core manager, a simulated cloud, and the controllers that call that cloud.
//
// Each story makes a MachineSet of its own, so that the stories do not disturb each other. It ends with a check of the cloud's ledger: each Machine ever had at
// most one instance, and no side called the cloud while it was not authoritative. The fleet of `make run` belongs to the README's transcript.
//
// TestDeletionsOfASet plays one deletion of a MachineSet for each promise that the review makes. It draws them by a seed that it logs. This command plays all
// of them, in half an hour:
//
//	go test -count=1 -timeout 1h -v ./test/journeys -run TestDeletionsOfASet -complete
//
// Set POUNDLOCK_KEEP to keep the folder with all logs.
package journeys
