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
			Do:    "look at its pods, and the endpoints of its Service. A certificate that is not trusted is in the message too: see `--upstream-ca`",
		},
		{
			Names: []string{"upstream-failed"},
			Means: "the converter answered `Failed`, or with an error",
			Do: "its message is in the log and in the answer. If it does not find a CustomResourceDefinition, it does not run behind a proxy, or a label for the " +
				"contract is missing",
		},
		{
			Names: []string{"upstream-not-configured"},
			Means: "no `--upstream` is for the group",
			Do:    "`kubectl poundlock private-types install` again, with `--upstream SUFFIX=URL` for it",
		},
		{
			Names: []string{"translation-failed"},
			Means: "the converter's answer is no review, or its objects are not those that were sent",
			Do:    "is the URL a conversion webhook's? A proxy or load balancer may answer in its place",
		},
		{
			Names: []string{"upstream-uid-mismatch"},
			Means: "the converter answered with another UID. The objects were right, and the conversion succeeded",
			Do:    "nothing; report it to the authors of the converter",
		},
		{
			Names: []string{"invalid-request"},
			Means: "what was sent is no ConversionReview about private types",
			Do:    "a definition that is not private may name the shim as its converter. Else somebody else calls it",
		},
		{
			Names: []string{"overloaded"},
			Means: "more reviews came at once than `--concurrency`, or larger ones than `--in-flight-mib`",
			Do:    "the API server repeats them, up to ten times. If it stays, add replicas",
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
			Means: "a client or the API server sent a body that is no JSON",
			Do:    "see who: the proxy's log has the request",
		},
		{
			Names: []string{"unsupported-resource"},
			Means: "a body has a kind of a private group that the proxy does not translate",
			Do:    "see [private types](private-types.md) for what it translates",
		},
	},
}
