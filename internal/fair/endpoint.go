// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"net/http"
	"time"
)

// Limits of Endpoint. Anyone who reaches the port may connect, and Go's own limits are 1 MiB of headers, any number of connections, and no deadline.
const (
	// EndpointConnections is the limit for the connections of one client. A kubelet has one or two.
	EndpointConnections = 128
	// EndpointDeadline limits the arrival of a request.
	EndpointDeadline = 5 * time.Second
	endpointHeaders  = 16 << 10
	// answerDeadline limits an answer, from the arrival of its request until the client has taken it.
	answerDeadline = time.Minute
	// idleDeadline is longer than the time between two scrapes.
	idleDeadline = 2 * time.Minute
)

// Endpoint returns a server for probes and metrics whose clients can use only a little of the process, if it serves a listener of New.
func Endpoint(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, MaxHeaderBytes: endpointHeaders, ReadHeaderTimeout: EndpointDeadline, ReadTimeout: EndpointDeadline,
		WriteTimeout: answerDeadline, IdleTimeout: idleDeadline,
	}
}
