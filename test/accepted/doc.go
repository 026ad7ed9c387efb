// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accepted has tests alone: what the conversions make is created on a real API server with the CRDs that the providers publish, so that their
// schemas, defaults and CEL have their say. It knows what must then hold on every platform, and takes from the platforms' kits what is made up. It refuses to
// know any field.
package accepted
