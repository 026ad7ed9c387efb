// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
)

// Seen has the signs of whether Poundlock runs, and whether the API server calls it.
type Seen struct {
	Presence Presence
	Lease    Lease
	// Missing are the webhook configurations of Poundlock's that do not exist, as KIND/NAME. One that the user may not read is not among them.
	Missing []string
}

// kinds are the kinds of the resources in Webhooks.
var kinds = []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}

func missing(ctx context.Context, client dynamic.Interface) []string {
	var out []string
	for i, resource := range Webhooks {
		if _, err := client.Resource(resource).Get(ctx, Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			out = append(out, kinds[i]+"/"+Name)
		}
	}
	return out
}

// Away returns a sentence if a webhook configuration is missing, Poundlock does not answer, or no manager leads, and since when; "" if all is well or unknown.
func (s Seen) Away(now time.Time) string {
	lost := s.lost(now)
	if lost != "" && s.Presence == Silent && s.Lease.held(now) {
		return lost // that is the cause of the silence: the API server calls no webhook
	}
	return strings.TrimSpace(lost + " " + Away(s.Presence, s.Lease, now))
}

// lost returns the sentence about missing configurations; "" if none is missing. If both are missing, that counts only if a manager leads and is not called.
// Otherwise Poundlock is not installed, or has another name.
func (s Seen) lost(now time.Time) string {
	if len(s.Missing) == 0 || len(s.Missing) == len(Webhooks) && (s.Presence != Silent || !s.Lease.held(now)) {
		return ""
	}
	verb := "does"
	if len(s.Missing) > 1 {
		verb = "do"
	}
	return fmt.Sprintf("%s %s not exist, so the API server does not call Poundlock, and accepts changes that Poundlock would refuse. "+
		"Apply the manifests of your installation again (docs/install.md: kubectl apply -k deploy).", strings.Join(s.Missing, " and "), verb)
}

// Refuse returns Refusal as an error, for a command that must not request anything; nil if there is no refusal.
func (s Seen) Refuse(now time.Time) error {
	if why := s.Refusal(now); why != "" {
		return cli.Exit(cli.CodeNo, why)
	}
	return nil
}

// Refusal returns why the plugin must not request anything of Poundlock: Poundlock would not execute the request, or admission would not lock out other writers
// meanwhile. It is "" if no such reason is known.
func (s Seen) Refusal(now time.Time) string {
	lost := s.lost(now)
	if lost != "" && (s.Presence != Silent || s.Lease.held(now)) {
		return lost + " No request was made"
	}
	if s.Presence == Silent {
		return strings.TrimSpace(lost + " Poundlock does not answer: it is not installed, its manager is down, or the API server does not reach its webhooks. " +
			"Nobody would carry out a request, so this command made none")
	}
	return ""
}
