// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/poundlock/poundlock/bundle"
)

// Progress is which stage a provider has reached. Its inventory keeps that for the next process and for `kubectl poundlock providers`.
type Progress struct {
	Version string `json:"version"`
	Hash    string `json:"hash"`
	// Ready is the hash that last became ready, ReadyVersion its version.
	Ready        string `json:"ready,omitempty"`
	ReadyVersion string `json:"readyVersion,omitempty"`
	// Stage is the stage that is not passed yet; 0 if all are.
	Stage bundle.Stage `json:"stage,omitempty"`
	// Since is when that stage began.
	Since   time.Time `json:"since,omitzero"`
	Waits   string    `json:"waits,omitempty"`
	Problem string    `json:"problem,omitempty"`
	// Trouble is the first text of an error that may pass by itself, while it lasts.
	Trouble string `json:"trouble,omitempty"`
	// FailingSince is when the first of several failures was.
	FailingSince time.Time `json:"failingSince,omitzero"`
}

// ParseProgress reads what Text wrote; "" is none.
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

// Text writes a progress: equal ones give equal text.
func (p Progress) Text() string {
	raw, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return ""
	}
	return string(raw)
}

// After returns the progress after a pass. It notes an error that may pass only if the pass before failed, too, and keeps the error's first text: the text
// may differ each time, and each difference is a write.
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
