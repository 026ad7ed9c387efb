// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nutanixtest is what tests need of Nutanix: values that a providerSpec and a NutanixMachine may have, and the kit of a cluster there.
//
// It knows what is valid, and what of it has two forms. It refuses to know how it converts: that is what is tested with it.
package nutanixtest
