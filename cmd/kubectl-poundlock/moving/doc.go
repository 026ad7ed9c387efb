// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package moving plans and follows the moves of many objects: in which order they are asked for, how many at a time, what there is to
// tell while they are on the way, and when to stop.
//
// It is pure: the fleet and the time come in as values, requests and lines go out. It keeps nothing that the cluster does not tell
// again, so that a run that was interrupted goes on where it stopped. How authority moves it refuses to know: Poundlock's manager moves it.
package moving
