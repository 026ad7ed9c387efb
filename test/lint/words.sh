#!/usr/bin/env bash
# Copyright The Poundlock Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the words of words.txt are used nowhere in tracked Go, Markdown and manifests, and prints what to write instead.
# A phrase is found in any case, as whole words, and also where a line breaks within it. It plants offences first, and watches
# each fail; beside each lies the nearest text that is allowed.
set -euo pipefail
cd "$(dirname "$0")/../.."

words=$PWD/test/lint/words.txt
# Left out: objects copied from elsewhere, generated binaries' lists.
files() { git ls-files -- '*.go' '*.md' 'manifests/*.yaml' '*/testdata/cases/*.yaml' ':!:*/testdata/corpus/*' ':!:CHANGELOG*' ':!:NOTICE*'; }

# check FILE...: prints FILE:LINE: phrase: replacement.
check() {
	awk -v WORDS="$words" '
	BEGIN {
		FS = "\t"
		while ((getline < WORDS) > 0) {
			if ($0 ~ /^#/ || NF < 2) continue
			phrase[++n] = $1; instead[n] = $2; inprose[n] = ($3 == "prose")
			held[$1]
		}
	}
	# prose is the line without what opens a comment, a quote or an item, with single blanks.
	function prose(s) {
		sub(/^[ \t]*(\/\/|#+|>|-|\*)?[ \t]*/, "", s)
		gsub(/[ \t]+/, " ", s)
		return tolower(s)
	}
	function letter(c) { return c ~ /[a-z0-9_]/ }
	# found reports whether text holds the phrase as whole words, ending behind the first `behind` characters.
	function found(text, p, behind,    at, from, end) {
		from = 1
		while ((at = index(substr(text, from), p)) > 0) {
			at += from - 1; end = at + length(p)
			if (end - 1 > behind && !letter(substr(" " text, at, 1)) && !letter(substr(text, end, 1))) return 1
			from = at + 1
		}
		return 0
	}
	function search(text, behind, only, at,    i) {
		for (i = 1; i <= n; i++)
			if (inprose[i] == only && found(text, phrase[i], behind)) {
				printf "%s:%d: %s: write %s\n", FILENAME, at ? at : FNR, phrase[i], instead[i]
				bad = 1
			}
	}
	FNR == 1 { last = ""; lastcomment = ""; named = "" }
	{
		if ($0 ~ /^\/\/go:/) next
		line = $0
		text = prose(line)
		search(last " " text, length(last) + 1, 0)
		if (FILENAME ~ /\.md$/) search(last " " text, length(last) + 1, 1)
		last = substr(text, length(text) - 40)
		if (FILENAME !~ /\.go$/) next
		comment = ""
		if ((at = match(line, /(^|[ \t])\/\/[ \t]/)) > 0) comment = prose(substr(line, at))
		# A comment begins with the name of what it describes: the name is no word of its prose.
		if (comment == "" && named != "") {
			if (!found(tolower(line), named, 0)) search(named, 0, 1, namedat)
			named = ""
		}
		if (comment != "" && lastcomment == "" && line ~ /^[ \t]*\/\/ [A-Za-z0-9_]+ /) {
			named = comment; sub(/ .*/, "", named); namedat = FNR
			if (named in held) sub(/^[^ ]+ /, "", comment)
			else named = ""
		}
		if (comment != "") search(lastcomment " " comment, length(lastcomment) + 1, 1)
		lastcomment = substr(comment, length(comment) - 40)
	}
	END { exit bad }
	' "$@"
}

# plants: every phrase as it is, with a capital, as a comment's first words, and broken over two lines; then inside longer words and
# as the name that a comment is about, which pass.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
count=0
while IFS=$'\t' read -r phrase _ scope; do
	case $phrase in '' | '#'*) continue ;; esac
	count=$((count + 1))
	printf '// A line %s of text.\n' "$phrase" >"$scratch/plain.go"
	printf '// A line %s of text.\n' "${phrase^}" >"$scratch/capital.go"
	printf 'package p // a line %s\n' "$phrase" >"$scratch/behind.go"
	printf '// A line x%sx of text.\nvar x%s, _%s, %sx int\n' "$phrase" "${phrase// /}" "${phrase// /_}" "${phrase// /}" >"$scratch/inside.go"
	printf '// %s does it.\nvar x int\n' "${phrase^}" >"$scratch/first.go"
	printf '// %s does it.\nvar %s int\n' "${phrase%% *}" "${phrase%% *}" >"$scratch/name.go"
	printf -- '- A line %s of a page.\n' "$phrase" >"$scratch/page.md"
	refused=(plain capital behind first page)
	allowed=(inside)
	if [[ $phrase == *' '* ]]; then
		printf '// A line %s\n\t// %s of text.\n' "${phrase% *}" "${phrase##* }" >"$scratch/broken.go"
		refused+=(broken)
	fi
	[[ $phrase == *' '* || $scope != prose ]] || allowed+=(name)
	printf 'var x = "a line %s of text"\n' "$phrase" >"$scratch/string.go"
	if [ "$scope" = prose ]; then allowed+=(string); else refused+=(string); fi
	for case in "${refused[@]}"; do
		case $case in page) file=page.md ;; *) file=$case.go ;; esac
		! check "$scratch/$file" >/dev/null || { echo "planted and not refused: $phrase ($case)" >&2; status=1; }
	done
	for case in "${allowed[@]}"; do
		check "$scratch/$case.go" >/dev/null || { echo "allowed and yet refused: $phrase ($case)" >&2; status=1; }
	done
done <"$words"
[ "$count" -gt 0 ] || { echo "words.txt has no words" >&2; status=1; }
[ $status -eq 0 ] || exit 1

mapfile -t list < <(files)
check "${list[@]}" || { echo "these words are not used here (test/lint/words.txt)" >&2; exit 1; }
echo "none of $count words in ${#list[@]} files"
