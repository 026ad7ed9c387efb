// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var privateTypes = Table{
	Section: "Conversions of private types fail",
	Head:    [3]string{"`error_type`", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"upstream-webhook-unavailable"},
			Means: "the conversion webhook (the converter) that the message names does not answer",
			Do: "look at the converter's Pods, and at the endpoints of its Service. If the shim does not trust the converter's certificate, the message " +
				"says so: set `--upstream-ca`",
		},
		{
			Names: []string{"upstream-failed"},
			Means: "the converter answered a conversion with `Failed`, or with an error",
			Do: "read the converter's message, which is in the shim's log and in the answer to the client. If the converter does not find a " +
				"CustomResourceDefinition, it runs without the API proxy, or the label for the Cluster API contract is missing",
		},
		{
			Names: []string{"upstream-not-configured"},
			Means: "no `--upstream` of the conversion shim matches the API group of the objects",
			Do:    "run `kubectl poundlock private-types install` again, with `--upstream SUFFIX=URL` for the group",
		},
		{
			Names: []string{"translation-failed"},
			Means: "the converter's answer is not a ConversionReview, or the objects in the answer are not the objects that were sent",
			Do:    "check that the URL of `--upstream` belongs to a conversion webhook: a proxy or load balancer may answer instead of the webhook",
		},
		{
			Names: []string{"upstream-uid-mismatch"},
			Means: "the converter answered with another UID than the review's. The objects were correct, and the conversion succeeded",
			Do:    "nothing; report it to the authors of the converter",
		},
		{
			Names: []string{"invalid-request"},
			Means: "the conversion shim received a request that is not a ConversionReview about private types",
			Do:    "check whether a CustomResourceDefinition that is not private names the shim as its conversion webhook. Otherwise another client calls the shim",
		},
		{
			Names: []string{"overloaded"},
			Means: "more conversion reviews arrived at the same time than `--concurrency` allows, or together they were larger than `--in-flight-mib` allows",
			Do:    "the API server retries the reviews, up to ten times. If this reason stays, add replicas",
		},
	},
}

var errorTypes = Table{
	Section: "Error types",
	Head:    [3]string{"`error_type`", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"error_type"},
			Means: "this label of metrics has the kind of an error",
			Do:    "run `kubectl poundlock explain` with the label's value",
		},
		{
			Names: []string{"invalid-json"},
			Means: "a client or the API server sent the API proxy a body that is not JSON",
			Do:    "the proxy's log has the request: find its sender",
		},
		{
			Names: []string{"unsupported-resource"},
			Means: "a body has a kind of a private group that the API proxy does not translate",
			Do:    "see [private types](private-types.md) for the kinds that the proxy translates",
		},
	},
}
