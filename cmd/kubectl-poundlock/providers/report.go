// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"cmp"
	"fmt"

	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/reconcilers/install"
)

// report is the answer for programs.
type report struct {
	// Platform is the cluster's platform, as its Infrastructure names it; absent if the platform is not known, or nothing is installed on it.
	Platform string `json:"platform,omitempty"`
	// Held is why the release's content is not applied; absent if it is.
	Held string `json:"held,omitempty"`
	// Objects are the providers.
	Objects []providerReport `json:"objects"`
	// Dropped are objects of the release that are never applied.
	Dropped []droppedReport `json:"dropped,omitempty"`
	// Lacks is why no Machine can be created; absent if one can.
	Lacks string `json:"lacks,omitempty"`
}

type providerReport struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Hash is the hash of the content that is to be applied.
	Hash string `json:"hash"`
	// Installed is the version whose content became ready last; absent if none did.
	Installed string `json:"installed,omitempty"`
	// Stage is the stage that is not passed yet; absent if all stages are. NotBegun reports that the installer has not looked at this content yet.
	Stage    string `json:"stage,omitempty"`
	NotBegun bool   `json:"notBegun,omitempty"`
	// WaitsFor is what the stage waits for, Problem is an error that does not pass by itself, and Trouble is an error that may pass by itself. Each is a
	// sentence.
	WaitsFor string `json:"waitsFor,omitempty"`
	Problem  string `json:"problem,omitempty"`
	Trouble  string `json:"trouble,omitempty"`
}

type droppedReport struct {
	Provider string `json:"provider"`
	Object   string `json:"object"`
	Why      string `json:"why"`
}

func reportOf(view *install.View) report {
	out := report{Platform: view.Platform.Name, Lacks: view.Lacks, Objects: []providerReport{}}
	if err := held(view); err != nil {
		out.Held = err.Error()
	}
	for _, p := range view.Providers {
		out.Objects = append(out.Objects, providerReportOf(p))
		for _, d := range p.Dropped {
			out.Dropped = append(out.Dropped, droppedReport{p.Label(), d.Object, d.What})
		}
	}
	return out
}

func providerReportOf(p install.ProviderView) providerReport {
	now := p.Progress
	out := providerReport{Name: p.Label(), Version: p.Version, Hash: p.Hash, Installed: now.ReadyVersion}
	if now.Hash != p.Hash { // the installer's record is about earlier content
		out.NotBegun = true
		return out
	}
	if now.Stage > 0 {
		out.Stage = installation.NameOf(now.Stage)
	}
	out.WaitsFor, out.Problem, out.Trouble = now.Waits, now.Problem, now.Trouble
	return out
}

// row returns a provider's line of the table.
func (p providerReport) row(number int) []string {
	stage, waits := "all passed", p.WaitsFor
	switch {
	case p.NotBegun:
		stage = "not begun"
	case p.Stage != "":
		stage = fmt.Sprintf("%d %s", number, p.Stage)
	}
	if p.Problem != "" {
		waits = p.Problem
	} else if p.Trouble != "" {
		waits = "trying again: " + p.Trouble
	}
	return []string{p.Name, p.Version, short(p.Hash), cmp.Or(p.Installed, "-"), stage, waits}
}
