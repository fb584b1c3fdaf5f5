#!/usr/bin/env bash
# Run corpus/r7rs on the Scheme systems installed here (Guile 3, MIT Scheme).
#
#   scripts/conformance-peers.sh            all sections; writes corpus/r7rs/peers.json
#   scripts/conformance-peers.sh 6.4 srfi   only the sections whose name starts so; writes nothing
#
# Prints a table section x {passed, failed, total} per peer and every failing test.
# A section that takes longer than LIMIT seconds (default 120) is cut off, and the
# tests without a result count as failed. A peer that is not installed is skipped.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
drivers=$root/scripts/conformance
corpus=$root/corpus/r7rs
limit=${LIMIT:-120}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_guile() {
  timeout "$limit" guile --r7rs -q --no-auto-compile -s "$drivers/guile.scm" "$1" "$2" </dev/null 2>/dev/null
}
run_mit() {
  timeout "$limit" mit-scheme --quiet --no-init-file --load "$drivers/same.scm" \
    --load "$drivers/mit.scm" --eval "(run-file \"$1\" $2)" --eval '(exit)' </dev/null 2>/dev/null
}

peers=()
versions=()
if command -v guile >/dev/null && guile --version </dev/null | grep -q ') 3\.'; then
  peers+=(guile)
  versions+=("$(guile --version </dev/null | sed -n '1s/.*) //p')")
else
  echo "guile: version 3 not installed, skipped (apt-get install guile-3.0)"
fi
if command -v mit-scheme >/dev/null; then
  peers+=(mit)
  versions+=("$(mit-scheme --version </dev/null | sed -n '1s/.* //p')")
else
  echo "mit: not installed, skipped (apt-get install mit-scheme)"
fi
[ ${#peers[@]} -gt 0 ] || { echo "no peer installed"; exit 0; }

# The names of a section's tests, one per line, in order.
names() { sed -nE 's/^\(test(-error)? "([^"]*)".*/\2/p' "$1"; }

sections=()
for file in $(ls "$corpus"/*.scm | sort -V); do
  section=$(basename "$file" .scm)
  if [ $# -gt 0 ]; then
    wanted=no
    for prefix in "$@"; do [[ $section == "$prefix"* ]] && wanted=yes; done
    [ $wanted = yes ] || continue
  fi
  sections+=("$section")
  names "$file" >"$work/$section.names"
done

# A test must start its line and have a name of its own.
for section in "${sections[@]}"; do
  if grep -nE '^[^;( ]|^\((test|test-error)($| [^"])' "$corpus/$section.scm" | head -3 | grep .; then
    echo "$section: malformed test"; exit 1
  fi
done
repeated=$(cat "$work"/*.names | sort | uniq -d)
[ -z "$repeated" ] || { echo "repeated test names:"; echo "$repeated"; exit 1; }

# $work/SECTION.PEER holds one line VERDICT<tab>NAME<tab>DETAIL per test, in order.
for peer in "${peers[@]}"; do
  for section in "${sections[@]}"; do
    results=$work/$section.$peer
    : >"$results"
    wanted=$(wc -l <"$work/$section.names")
    deadline=$((SECONDS + limit))
    # A test that takes its peer down counts as failed, and the run goes on after it.
    while true; do
      { "run_$peer" "$corpus/$section.scm" "$(wc -l <"$results")"; } 2>/dev/null | grep -a '^@@[PF]' | sed 's/^@@//' >>"$results"
      done=$(wc -l <"$results")
      [ "$done" -lt "$wanted" ] || break
      [ "$SECONDS" -lt "$deadline" ] || break
      sed -n "$((done + 1))s/.*/F\t&\tno result (crash)/p" "$work/$section.names" >>"$results"
      [ $((done + 1)) -lt "$wanted" ] || break
    done
    missing=$(($(wc -l <"$results") + 1))
    tail -n "+$missing" "$work/$section.names" | sed 's/.*/F\t&\tno result (cut off)/' >>"$results"
  done
done

passed() { awk -F'\t' '$1 == "P"' "$work/$1.$2" | wc -l; }
total() { wc -l <"$work/$1.names"; }

printf '%-30s' section
for i in "${!peers[@]}"; do printf ' | %-24s' "${peers[$i]} ${versions[$i]}"; done
printf '\n%-30s' ''
for peer in "${peers[@]}"; do printf ' | %7s %7s %8s' passed failed total; done
echo
declare -A sum
all=0
for section in "${sections[@]}"; do
  n=$(total "$section")
  all=$((all + n))
  printf '%-30s' "$section"
  for peer in "${peers[@]}"; do
    p=$(passed "$section" "$peer")
    sum[$peer]=$((${sum[$peer]:-0} + p))
    printf ' | %7d %7d %8d' "$p" $((n - p)) "$n"
  done
  echo
done
printf '%-30s' total
for peer in "${peers[@]}"; do printf ' | %7d %7d %8d' "${sum[$peer]}" $((all - ${sum[$peer]})) "$all"; done
echo

for peer in "${peers[@]}"; do
  echo
  echo "$peer disagrees:"
  for section in "${sections[@]}"; do
    awk -F'\t' -v s="$section" '$1 == "F" { printf "  %s: %s: %s\n", s, $2, $3 }' "$work/$section.$peer"
  done
done

[ $# -eq 0 ] || exit 0
{
  echo '{'
  echo '  "peers": {'
  for i in "${!peers[@]}"; do
    comma=,; [ "$i" -lt $((${#peers[@]} - 1)) ] || comma=
    echo "    \"${peers[$i]}\": \"${versions[$i]}\"$comma"
  done
  echo '  },'
  echo '  "sections": {'
  for j in "${!sections[@]}"; do
    section=${sections[$j]}
    line="    \"$section\": {"
    for i in "${!peers[@]}"; do
      [ "$i" -eq 0 ] || line+=', '
      line+="\"${peers[$i]}\": [$(passed "$section" "${peers[$i]}"), $(total "$section")]"
    done
    comma=,; [ "$j" -lt $((${#sections[@]} - 1)) ] || comma=
    echo "$line}$comma"
  done
  echo '  },'
  echo '  "disagreements": {'
  for i in "${!peers[@]}"; do
    echo "    \"${peers[$i]}\": ["
    for section in "${sections[@]}"; do
      awk -F'\t' -v s="$section" '$1 == "F" { printf "      [\"%s\", \"%s\"],\n", s, $2 }' "$work/$section.${peers[$i]}"
    done | sed '$s/,$//'
    comma=,; [ "$i" -lt $((${#peers[@]} - 1)) ] || comma=
    echo "    ]$comma"
  done
  echo '  }'
  echo '}'
} >"$corpus/peers.json"
