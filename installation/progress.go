// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/poundlock/poundlock/bundle"
)

// Progress says which stage a provider has reached. It is stored with the provider's inventory, for the next process and for `kubectl poundlock providers`.
type Progress struct {
	Version string `json:"version"`
	Hash    string `json:"hash"`
	// Ready is the hash of the content that became ready last, ReadyVersion its version.
	Ready        string `json:"ready,omitempty"`
	ReadyVersion string `json:"readyVersion,omitempty"`
	// Stage is the stage that the provider has not passed yet; 0 if it has passed all.
	Stage bundle.Stage `json:"stage,omitempty"`
	// Since is when that stage began.
	Since   time.Time `json:"since,omitzero"`
	Waits   string    `json:"waits,omitempty"`
	Problem string    `json:"problem,omitempty"`
	// Trouble is the text of an error that may pass by itself, as it was when the error first occurred. It is set as long as the error lasts.
	Trouble string `json:"trouble,omitempty"`
	// FailingSince is when the first failure of the present series of failures was.
	FailingSince time.Time `json:"failingSince,omitzero"`
}

// ParseProgress reads the result of Text; "" means that there is no progress yet.
func ParseProgress(text string) (Progress, error) {
	var out Progress
	if text == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return out, fmt.Errorf("reading the progress: %w", err)
	}
	return out, nil
}

// Text returns the progress as text. Equal progress has equal text.
func (p Progress) Text() string {
	raw, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return ""
	}
	return string(raw)
}

// After returns the progress after a pass. It stores an error that may pass only if the pass before failed, too. It keeps the first text of the error, because
// the text may differ each time, and each difference would be a write.
func (p Progress) After(o Outcome, failedBefore bool, now time.Time) Progress {
	out := Progress{
		Version: o.Wanted.Version, Hash: o.Wanted.Hash, Ready: o.Installed.Hash, ReadyVersion: o.Installed.Version,
		Stage: o.Stage, Waits: o.Waits, FailingSince: p.FailingSince,
	}
	if o.Stage > 0 {
		if out.Since = now.Truncate(time.Second); p.Stage == o.Stage && p.Hash == o.Wanted.Hash && !p.Since.IsZero() {
			out.Since = p.Since
		}
	}
	if IsFinal(o.Err) {
		out.Problem = o.Err.Error()
	}
	switch {
	case o.Err == nil:
		out.FailingSince = time.Time{}
	case out.FailingSince.IsZero() && (failedBefore || IsFinal(o.Err)):
		out.FailingSince = now.Truncate(time.Second)
	}
	if lasts := !out.FailingSince.IsZero() && !IsFinal(o.Err); lasts && p.Trouble != "" && p.Stage == o.Stage {
		out.Trouble = p.Trouble
	} else if lasts {
		out.Trouble = o.Err.Error()
	}
	return out
}
