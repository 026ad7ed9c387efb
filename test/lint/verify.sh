#!/usr/bin/env bash
# Copyright The Poundlock Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Generates everything in place and fails if a file is different after. Works on a tree with uncommitted changes.
set -euo pipefail
cd "$(dirname "$0")/../.."

state() { git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null | sort -u -k2 || true; }

before=$(mktemp)
trap 'rm -f "$before"' EXIT
state >"$before"
make --no-print-directory generate >/dev/null
if ! changed=$(diff "$before" <(state)); then
	echo "generated files were out of date, and are written now; look at them and commit them:" >&2
	sed -n 's/^[<>] [0-9a-f]*  /  /p' <<<"$changed" | sort -u >&2
	exit 1
fi
echo "generated files are up to date"
