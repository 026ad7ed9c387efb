// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

var privateTypes = Table{
	Section: "Conversions of private types fail",
	Head:    [3]string{"`error_type`", "what it means", "what to do"},
	Rows: []Row{
		{
			Names: []string{"upstream-webhook-unavailable"},
			Means: "the converter that the message names does not answer",
			Do: "look at the converter's pods, and at the endpoints of its Service. If the converter's certificate is not trusted, the message says so: " +
				"see `--upstream-ca`",
		},
		{
			Names: []string{"upstream-failed"},
			Means: "the converter answered `Failed`, or with an error",
			Do: "the converter's message is in the log and in the answer. If the converter does not find a CustomResourceDefinition, it runs without a " +
				"proxy, or the label for the contract is missing",
		},
		{
			Names: []string{"upstream-not-configured"},
			Means: "no `--upstream` matches the group",
			Do:    "run `kubectl poundlock private-types install` again, with `--upstream SUFFIX=URL` for the group",
		},
		{
			Names: []string{"translation-failed"},
			Means: "the converter's answer is not a ConversionReview, or its objects are not the objects that were sent",
			Do:    "check that the URL is a conversion webhook's: a proxy or load balancer may answer instead of the webhook",
		},
		{
			Names: []string{"upstream-uid-mismatch"},
			Means: "the converter answered with another UID. The objects were correct, and the conversion succeeded",
			Do:    "nothing; report it to the authors of the converter",
		},
		{
			Names: []string{"invalid-request"},
			Means: "the request is not a ConversionReview about private types",
			Do:    "a definition that is not private may name the shim as its converter. Otherwise another client calls the shim",
		},
		{
			Names: []string{"overloaded"},
			Means: "more reviews arrived at the same time than `--concurrency` allows, or larger reviews than `--in-flight-mib` allows",
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
			Means: "the label of the metrics that has these values",
			Do:    "see each value",
		},
		{
			Names: []string{"invalid-json"},
			Means: "a client or the API server sent a body that is not JSON",
			Do:    "the proxy's log has the request: find its sender",
		},
		{
			Names: []string{"unsupported-resource"},
			Means: "a body has a kind of a private group that the proxy does not translate",
			Do:    "see [private types](private-types.md) for what it translates",
		},
	},
}
