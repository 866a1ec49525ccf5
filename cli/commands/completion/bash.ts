import { toShellWord } from "../../output/shell-word.ts";
import type { CommandModule } from "../../tree/entry.ts";
import {
  type CompletionRow,
  defineScript,
  flagValues,
  scriptOutput,
  toFreeFlags,
} from "./table.ts";

export const bash = {
  operations: [],
  output: scriptOutput,
  define(command, cli): void {
    command.addHelpText("after", '\nTo load it in every session: eval "$(croft completion bash)"');
    defineScript(command, cli, "bash", toBashScript);
  },
} satisfies CommandModule;

/** A script that completes words without starting croft; it asks croft for values that change. */
export function toBashScript(rows: readonly CompletionRow[]): string {
  const paths = rows.filter(({ path }) => path !== "").map(({ path }) => toShellWord(path));
  const cases = rows.map(
    ({ path, words, flags, values }) =>
      `    ${toShellWord(path)}) words=${toShellWord(words.map(({ word }) => word).join(" "))}` +
      ` flags=${toShellWord(flags.map(({ word }) => word).join(" "))} kind=${toShellWord(values ?? "")} ;;`,
  );
  const fixed = Object.entries(flagValues).map(
    ([flag, values]) =>
      `    ${flag}) COMPREPLY=($(compgen -W ${toShellWord(values.join(" "))} -- "$cur")); return ;;`,
  );
  const free = toFreeFlags(rows).join("|");
  return `# bash completion for croft
${readValues}  [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
  # In quotes a colon ends no word.
  [[ -n $quote ]] && return
  # What stands before the last colon is on the line already, where readline ends words at colons.
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local before=\${cur%"\${cur##*:}"}
    COMPREPLY=("\${COMPREPLY[@]#"$before"}")
  fi
}
_croft() {
  local cur=\${COMP_WORDS[COMP_CWORD]} start=$COMP_CWORD
  # CONNECTION:/path is one word, which bash takes apart at its colon.
  while ((start > 1)) && [[ \${COMP_WORDS[start]} == : || \${COMP_WORDS[start-1]} == : ]]; do
    ((start--))
    cur=\${COMP_WORDS[start]}$cur
  done
  local prev=\${COMP_WORDS[start-1]}
  local path="" next word words="" flags="" kind="" index
  COMPREPLY=()
  compopt +o default 2>/dev/null
  for ((index = 1; index < start; index++)); do
    word=\${COMP_WORDS[index]}
    [[ $word == -* ]] && continue
    next="\${path:+$path }$word"
    case "$next" in
    ${paths.join("|")}) path=$next ;;
    esac
  done
  case "$prev" in
${fixed.join("\n")}
    --profile) _croft_values profiles; return ;;
    ${free}) compopt -o default 2>/dev/null; return ;;
  esac
  case "$path" in
${cases.join("\n")}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [[ $kind == transfers ]]; then
    _croft_values items
    [[ $cur == *:* ]] || compopt -o default 2>/dev/null
  elif [[ -n $kind ]]; then
    _croft_values "$kind"
  else
    compopt -o default 2>/dev/null
  fi
}
complete -o default -F _croft croft
`;
}

/** As bash reads it, but with `@{` for its `${` and `@'` for its backtick. */
const readValues = String.raw`# Values are read, not expanded: names come from elsewhere.
_croft_values() {
  local value typed quote=""
  case $cur in
  [\"\']*) quote=@{cur:0:1} typed=@{cur:1} ;;
  *) IFS= read typed <<<"$cur" ;; # without -r: takes the backslashes away as the shell does
  esac
  while IFS=$'\t' read -r value _; do
    [[ $value == "$typed"* ]] || continue
    case $quote in
    \") value=@{value//\\/\\\\} value=@{value//\"/\\\"} value=@{value//\$/\\\$} value=@{value//\@'/\\\@'} ;;
    \') value=@{value//\'/\'\\\'\'} ;;
    *) printf -v value %q "$value" ;;
    esac
    COMPREPLY+=("$value")
  done < <(croft __complete "$1" "$typed" 2>/dev/null)
`
  .replaceAll("@{", "${")
  .replaceAll("@'", "`");
