#!/usr/bin/env bash
# Copyright The Poundlock Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Plants violations of the three sentences ("nouns think, verbs act") in a scratch module, and watches each fail under the
# repository's own .golangci.yml; beside each lies the nearest import that is allowed. Argument: the golangci-lint command.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
golangci=("$@")
[ ${#golangci[@]} -gt 0 ] || golangci=(go tool -modfile="$root/tools/go.mod" golangci-lint)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

module=github.com/poundlock/poundlock
cp "$root/.golangci.yml" "$scratch/"
printf 'module %s\n\ngo 1.26\n\nrequire (\n\tsigs.k8s.io/controller-runtime v0.0.0\n\tsigs.k8s.io/kustomize/api v0.0.0\n)\n\nreplace (\n\tsigs.k8s.io/controller-runtime => ./fake\n\tsigs.k8s.io/kustomize/api => ./fakekustomize\n)\n' "$module" >"$scratch/go.mod"

# plant FILE IMPORT: a package that imports another. The base of FILE names the case.
plant() {
	local dir
	dir=$(dirname "$scratch/$1")
	mkdir -p "$dir"
	printf '// Package %s is planted.\npackage %s\n\nimport _ "%s"\n' "$(basename "$dir")" "$(basename "$dir")" "$2" >"$scratch/$1"
}
empty() {
	mkdir -p "$scratch/$1"
	printf '// Package %s is planted.\npackage %s\n' "$(basename "$1")" "$(basename "$1")" >"$scratch/$1/empty.go"
}

mkdir -p "$scratch/fake/pkg/client"
printf 'module sigs.k8s.io/controller-runtime\n\ngo 1.26\n' >"$scratch/fake/go.mod"
printf 'package client\n' >"$scratch/fake/pkg/client/client.go"
mkdir -p "$scratch/fakekustomize/krusty"
printf 'module sigs.k8s.io/kustomize/api\n\ngo 1.26\n' >"$scratch/fakekustomize/go.mod"
printf 'package krusty\n' >"$scratch/fakekustomize/krusty/krusty.go"
# What is imported imports nothing itself, so that the plants are no cycle.
for package in policies/leaf conversion/leaf machine/leaf machine/controller bundle/leaf installation/leaf translation/leaf webhooks/leaf webhooks/shim/leaf proxy/leaf certs/leaf facts/leaf reconcilers/leaf internal/leaf test/leaf cmd/kubectl-poundlock/cleanup/leaf cmd/kubectl-poundlock/readiness/leaf; do
	empty "$package"
done

refused=(
	# a noun imports API types and its own kind only
	"policies/authority/conversion.go $module/conversion/leaf"
	"policies/authority/webhooks.go $module/webhooks/leaf"
	"conversion/aws/policies.go $module/policies/leaf"
	"machine/conversion.go $module/conversion/leaf"
	"controlplanetemplate/webhooks.go $module/webhooks/leaf"
	"mirroring/shell.go $module/reconcilers/leaf"
	"mirroring/answers/facts.go $module/facts/leaf"
	"bundle/policies.go $module/policies/leaf"
	"bundle/installer.go $module/reconcilers/leaf"
	"bundle/installation.go $module/installation/leaf"
	"installation/policies.go $module/policies/leaf"
	"installation/shell.go $module/reconcilers/leaf"
	"translation/policies.go $module/policies/leaf"
	# … and has no client, clock, logger or environment
	"policies/ownership/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"policies/authority/environment.go os"
	"conversion/core/http.go net/http"
	"controlplanetemplate/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"mirroring/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"mirroring/answers/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"conversion/aws/logger.go log/slog"
	"bundle/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"bundle/environment.go os"
	"installation/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"installation/environment.go os"
	"translation/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"translation/http.go net/http"
	# … nor runs kustomize
	"bundle/kustomize.go sigs.k8s.io/kustomize/api/krusty"
	# a shell never imports another shell
	"webhooks/certs.go $module/certs/leaf"
	"webhooks/reconciler.go $module/reconcilers/leaf"
	"webhooks/shim.go $module/webhooks/shim/leaf"
	"webhooks/shim/webhooks.go $module/webhooks/leaf"
	"webhooks/shim/proxy.go $module/proxy/leaf"
	"webhooks/shim/certs.go $module/certs/leaf"
	"proxy/webhooks.go $module/webhooks/leaf"
	"proxy/shim.go $module/webhooks/shim/leaf"
	"certs/webhooks.go $module/webhooks/leaf"
	"reconcilers/mirror/handoff.go $module/reconcilers/leaf"
	"reconcilers/handoff/webhooks.go $module/webhooks/leaf"
	"machine/scaling/controller.go $module/machine/controller"
	"machine/controller/mirror.go $module/reconcilers/leaf"
	"reconcilers/mirror/controller.go $module/machine/controller"
	"cmd/poundlock/controller.go $module/machine/controller"
	# what reads for shells knows none
	"facts/webhooks.go $module/webhooks/leaf"
	"facts/pairfacts/reconciler.go $module/reconcilers/leaf"
	# a command of the plugin imports no other, and what it thinks has no client or environment
	"cmd/kubectl-poundlock/check/cleanup.go $module/cmd/kubectl-poundlock/cleanup/leaf"
	"cmd/kubectl-poundlock/targets/cleanup.go $module/cmd/kubectl-poundlock/cleanup/leaf"
	"cmd/kubectl-poundlock/readiness/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"cmd/kubectl-poundlock/migrate/plan.go os"
	# nothing outside test/ imports test/
	"cmd/poundlock/test.go $module/test/leaf"
	"reconcilers/mirror/test.go $module/test/leaf"
	"policies/authority/test.go $module/test/leaf"
	# plumbing has no domain word
	"internal/terms/policies.go $module/policies/leaf"
)
allowed=(
	"policies/authority/kernel.go $module/policies/leaf"
	"policies/authority/plumbing.go $module/internal/leaf"
	"policies/authority/kit_test.go $module/conversion/leaf"
	"policies/policiestest/environment.go os"
	"conversion/aws/kernel.go $module/conversion/leaf"
	"controlplanetemplate/fields.go $module/conversion/leaf"
	"controlplanetemplate/sets.go $module/policies/leaf"
	"mirroring/fields.go $module/conversion/leaf"
	"mirroring/rules.go $module/policies/leaf"
	"bundle/plumbing.go $module/internal/leaf"
	"installation/bundle.go $module/bundle/leaf"
	"bundle/kit_test.go os"
	"translation/plumbing.go $module/internal/leaf"
	"translation/query.go net/url"
	"proxy/noun.go $module/translation/leaf"
	"webhooks/shim/noun.go $module/translation/leaf"
	"reconcilers/install/noun.go $module/bundle/leaf"
	"reconcilers/install/installation.go $module/installation/leaf"
	"cmd/poundlock/kustomize.go sigs.k8s.io/kustomize/api/krusty"
	"cmd/kubectl-poundlock/commands/cleanup.go $module/cmd/kubectl-poundlock/cleanup/leaf"
	"cmd/kubectl-poundlock/migrate/noun.go $module/cmd/kubectl-poundlock/readiness/leaf"
	"cmd/kubectl-poundlock/migrate/environment.go os"
	"webhooks/noun.go $module/policies/leaf"
	"webhooks/facts.go $module/facts/leaf"
	"reconcilers/mirror/facts.go $module/facts/leaf"
	"facts/pairfacts/noun.go $module/policies/leaf"
	"facts/pairfacts/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"webhooks/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"certs/files.go os"
	"machine/controller/client.go sigs.k8s.io/controller-runtime/pkg/client"
	"machine/controller/noun.go $module/policies/leaf"
	"test/simulation/controllers.go $module/machine/controller"
	"certs/control_plane_test.go $module/test/leaf"
	"reconcilers/handoff/noun.go $module/policies/leaf"
	"reconcilers/all.go $module/reconcilers/leaf"
	"cmd/poundlock/wire.go $module/webhooks/leaf"
	"test/testcluster/product.go $module/reconcilers/leaf"
)

# Every folder of Go code at the top is named by a fence, and every folder that a fence or a plant names exists.
status=0
fences() { sed -n 's/^ *files: \[\(.*\)\].*/\1/p' "$1" | grep -o '{config-path}/[a-z/-]*\(\.go\)\?' | sed 's|{config-path}/||; s|/[a-z]*\.go$||; s|/*$||' | sort -u; }
folders() { git -C "$root" ls-files -- '*.go' | sed -n 's|/.*||p' | sort -u; }
unfenced() { comm -23 <(folders) <(fences "$1" | sed 's|/.*||' | sort -u); }
# docs and manifests are generated pages, tools are programs of their own: they are read by nobody, and only nothing-imports-test is about them.
beyond="docs manifests tools"
for folder in $(unfenced "$root/.golangci.yml"); do
	[[ " $beyond " == *" $folder "* ]] || { echo "no fence names $folder (.golangci.yml)" >&2; status=1; }
done
for folder in $(fences "$root/.golangci.yml") $(printf '%s\n' "${refused[@]}" "${allowed[@]}" | sed 's| .*||; s|/[^/]*$||' | sort -u); do
	[ -d "$root/$folder" ] || { echo "a fence or a plant names $folder, which does not exist" >&2; status=1; }
done
# … which finds a folder whose fence is taken away.
grep -v '{config-path}/facts/' "$root/.golangci.yml" >"$scratch/without.yml"
[[ " $(unfenced "$scratch/without.yml" | tr '\n' ' ') " == *" facts "* ]] || { echo "planted and not found: a folder without a fence" >&2; status=1; }
rm "$scratch/without.yml"
[ $status -eq 0 ] || exit 1

for planted in "${refused[@]}" "${allowed[@]}"; do
	# shellcheck disable=SC2086 # two words
	plant $planted
done

output=$(cd "$scratch" && "${golangci[@]}" run --enable-only depguard --output.text.print-issued-lines=false --output.text.colors=false ./... 2>&1) || true
status=0
for planted in "${refused[@]}"; do
	grep -q "^${planted%% *}:.*(depguard)" <<<"$output" || { echo "planted and not refused: $planted" >&2; status=1; }
done
for planted in "${allowed[@]}"; do
	! grep -q "^${planted%% *}:" <<<"$output" || { echo "allowed and yet refused: $planted" >&2; status=1; }
done
if [ $status -ne 0 ]; then
	printf '%s\n' "$output" >&2
	exit 1
fi
echo "depguard refuses ${#refused[@]} planted imports and lets ${#allowed[@]} pass"
