import type { Entry } from "../../tree/entry.ts";
import { toShellWord } from "../../output/shell-word.ts";
import { type CompletionRow, scriptCommand, groupFlags, listValueFlags } from "./table.ts";

export const bash = (commands: readonly Entry[]) =>
  scriptCommand(commands, {
    shell: "bash",
    note: 'To load it in every session: eval "$(croft completion bash)"',
    examples: [
      ["Load completion in this shell", "croft completion bash"],
      ["Install it for your user", "croft completion bash > croft.bash"],
    ],
    toScript: toBashScript,
  });

/** Creates a script that completes words without starting croft; it runs croft for values that change. */
export function toBashScript(rows: readonly CompletionRow[]): string {
  const paths = rows.filter(({ path }) => path !== "").map(({ path }) => toShellWord(path));
  const cases = rows.map(
    ({ path, words, flags, args, isVariadic }) =>
      `    ${toShellWord(path)}) words=${toShellWord(words.map(({ word }) => word).join(" "))}` +
      ` flags=${toShellWord(flags.map(({ word }) => word).join(" "))}` +
      ` kinds=(${args.join(" ")})${isVariadic ? " repeated=1" : ""} ;;`,
  );
  const valued = groupFlags(rows).map(
    ({ value, flags }) =>
      `    ${flags.map(toShellWord).join("|")}) ${value === "live" ? "_croft_values" : `_croft_pick ${value.map(toShellWord).join(" ")}`} ;;`,
  );
  return `# bash completion for croft
${readValues}_croft() {
  local cur index word flag="" path="" next words="" flags="" repeated="" count=0 stem=""
  local -a line=() kinds=()
  COMPREPLY=()
  compopt +o default 2>/dev/null
  # bash takes words apart at their colons and equals signs: CONNECTION:/path is one word.
  for ((index = 1; index <= COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if ((index > 1)) && [[ $word == [:=]* || \${COMP_WORDS[index-1]} == *[:=] ]]; then
      line[\${#line[@]}-1]+=$word
    else
      line+=("$word")
    fi
  done
  cur=\${line[\${#line[@]}-1]}
  # --flag=value is the flag and its value.
  if [[ $cur == --*=* ]]; then
    case "\${cur%%=*}" in
    ${listValueFlags(rows).join("|")})
      line[\${#line[@]}-1]=\${cur%%=*}
      cur=\${cur#*=}
      line+=("$cur")
      # Where readline ends words at equals signs, the flag is on the line already.
      [[ $COMP_WORDBREAKS == *=* ]] || stem=\${line[\${#line[@]}-2]}=
      ;;
    esac
  fi
  for ((index = 0; index < \${#line[@]} - 1; index++)); do
    word=\${line[index]}
    if [[ -n $flag ]]; then
      flag=""
      continue
    fi
    case "$word" in
    ${listValueFlags(rows).join("|")}) flag=$word; continue ;;
    -?*) continue ;;
    esac
    next="\${path:+$path }$word"
    case "$next" in
    ${paths.join("|")}) path=$next ;;
    *) ((count++)) ;;
    esac
  done
  if [[ -n $flag ]]; then
    case "$path $flag" in
${valued.join("\n")}
    *" --profile") _croft_values ;;
    *)
      if [[ -n $stem ]]; then
        IFS=$'\\n' read -r -d '' -a COMPREPLY < <(compgen -f -- "$cur" | while IFS= read -r word; do printf '%q\\n' "$word"; done)
      else
        compopt -o default 2>/dev/null
      fi
      ;;
    esac
    COMPREPLY=("\${COMPREPLY[@]/#/$stem}")
    return
  fi
  case "$path" in
${cases.join("\n")}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    [[ -n $repeated ]] && ((count >= \${#kinds[@]})) && count=$((\${#kinds[@]} - 1))
    case "\${kinds[count]}" in
    live) _croft_values ;;
    transfers)
      _croft_values
      [[ $cur == *:* ]] || compopt -o default 2>/dev/null
      ;;
    files) compopt -o default 2>/dev/null ;;
    esac
  fi
}
complete -o default -F _croft croft
`;
}

/** Bash source, with `@{` in place of `${` and `@'` in place of a backtick. */
const readValues =
  String.raw`# What the shell would make of a typed word: without its quotes and backslashes, and nothing expanded.
_croft_plain() {
  case $1 in
  [\"\']*)
    plain=@{1:1}
    plain=@{plain%"@{1:0:1}"}
    ;;
  *) IFS= read plain <<<"$1" ;; # without -r: takes the backslashes away as the shell does
  esac
}
_croft_pick() {
  local value
  for value in "$@"; do
    [[ $value == "$cur"* ]] && COMPREPLY+=("$(printf %q "$value")")
  done
  _croft_after_colon
}
_croft_after_colon() {
  # What stands before the last colon is on the line already, where readline ends words at colons.
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local stem=@{cur%"@{cur##*:}"}
    COMPREPLY=("@{COMPREPLY[@]#"$stem"}")
  fi
}
# Values are read, not expanded: names come from elsewhere.
_croft_values() {
  local value typed plain quote="" word
  local -a before=()
  for word in "@{line[@]:0:@{#line[@]}-1}"; do
    _croft_plain "$word"
    before+=("$plain")
  done
  _croft_plain "$cur"
  typed=$plain
  # A word whose quotes are closed is completed as one without them.
  case $cur in
  \"?*\" | \'?*\') quote=closed ;;
  [\"\']*) quote=@{cur:0:1} ;;
  esac
  while IFS=$'\t' read -r value _; do
    [[ $value == "$typed"* ]] || continue
    case $quote in
    \") value=@{value//\\/\\\\} value=@{value//\"/\\\"} value=@{value//\$/\\\$} value=@{value//\@'/\\\@'} ;;
    \') value=@{value//\'/\'\\\'\'} ;;
    *) printf -v value %q "$value" ;;
    esac
    COMPREPLY+=("$value")
  done < <(croft __complete -- "@{before[@]}" "$typed" 2>/dev/null)
  # More of the same name follows.
  [[ @{#COMPREPLY[@]} == 1 && @{COMPREPLY[0]} == *[/#] ]] && compopt -o nospace 2>/dev/null
  # In quotes a colon ends no word.
  [[ -n $quote ]] && return
  _croft_after_colon
}
`
    .replaceAll("@{", "${")
    .replaceAll("@'", "`");
