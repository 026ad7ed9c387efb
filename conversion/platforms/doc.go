// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platforms lists the infrastructure platforms that Poundlock converts. A platform is a package beside this one
// and a line in List.
package platforms

//go:generate go test . -run ^TestThePagesAreTheTables$ -update
