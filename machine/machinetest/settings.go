// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Verb is the name of a call of the API.
type Verb string

// The verbs.
const (
	Launch    Verb = "Launch"
	Describe  Verb = "Describe"
	Terminate Verb = "Terminate"
)

// Settings are the cloud's times and limits. They may be changed while it runs.
type Settings struct {
	// BootTime is how long an instance is pending.
	BootTime time.Duration
	// ShutdownTime is how long an instance is shutting down.
	ShutdownTime time.Duration
	// Lag is how long Describe and Terminate do not find a launched instance, and how long Describe does not show that an instance was terminated.
	Lag time.Duration
	// Latency is how long a call takes, by the call's verb.
	Latency map[Verb]time.Duration
	// Quota is how many instances may exist at a time, including those that shut down; 0 means any number.
	Quota int
}

// settings is the JSON form of Settings. Durations are texts, such as "1m30s".
type settings struct {
	BootTime     string          `json:"bootTime"`
	ShutdownTime string          `json:"shutdownTime"`
	Lag          string          `json:"lag"`
	Latency      map[Verb]string `json:"latency"`
	Quota        *int            `json:"quota"`
}

// MarshalJSON writes durations as texts.
func (s Settings) MarshalJSON() ([]byte, error) {
	out := settings{s.BootTime.String(), s.ShutdownTime.String(), s.Lag.String(), map[Verb]string{}, &s.Quota}
	for verb, d := range s.Latency {
		out.Latency[verb] = d.String()
	}
	return json.Marshal(out)
}

// UnmarshalJSON changes the settings that are in raw, and leaves the others.
func (s *Settings) UnmarshalJSON(raw []byte) error {
	var in settings
	if err := strictly(raw, &in); err != nil {
		return err
	}
	next := Settings{Latency: map[Verb]time.Duration{}, Quota: s.Quota}
	for name, d := range map[string]struct {
		text     string
		now, new *time.Duration
	}{
		"bootTime":     {in.BootTime, &s.BootTime, &next.BootTime},
		"shutdownTime": {in.ShutdownTime, &s.ShutdownTime, &next.ShutdownTime},
		"lag":          {in.Lag, &s.Lag, &next.Lag},
	} {
		*d.new = *d.now
		if err := duration(name, d.text, d.new); err != nil {
			return err
		}
	}
	for verb, text := range in.Latency {
		d := time.Duration(0)
		if err := duration("latency."+string(verb), text, &d); err != nil {
			return err
		}
		next.Latency[verb] = d
	}
	if in.Latency == nil {
		next.Latency = s.Latency
	}
	if in.Quota != nil {
		next.Quota = *in.Quota
	}
	*s = next
	return s.check()
}

func duration(name, text string, into *time.Duration) error {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return refuse(Malformed, "%s is %q: write a duration, such as \"1.5s\" or \"2m\"", name, text)
	}
	*into = d
	return nil
}

func (s Settings) check() error {
	if s.Quota < 0 {
		return refuse(Malformed, "quota is %d: use the maximum number of instances, or 0 for no limit", s.Quota)
	}
	for verb := range s.Latency {
		if !verb.known() {
			return refuse(Malformed, "latency.%s is not a known verb: use %s, %s or %s", verb, Launch, Describe, Terminate)
		}
	}
	return nil
}

func (v Verb) known() bool { return v == Launch || v == Describe || v == Terminate }

// Settings returns the settings of the cloud: its times and limits.
func (c *Cloud) Settings(context.Context) (Settings, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settings, nil
}

// Configure replaces the settings.
func (c *Cloud) Configure(_ context.Context, s Settings) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("changing the cloud's settings: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settings = s
	return nil
}
