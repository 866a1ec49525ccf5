import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { defineScript, scriptOutput } from "./define.ts";
import { type CompletionRow, flagValues } from "./table.ts";

export const operations = [] as const;
export const output = scriptOutput;

export function define(command: Command, cli: CliContext): void {
  command.addHelpText("after", '\nTo load it in every session: eval "$(croft completion bash)"');
  defineScript(command, cli, "bash", toBashScript);
}

/** A script that completes words without starting croft; it asks croft for values that change. */
function toBashScript(rows: readonly CompletionRow[]): string {
  const paths = rows.filter(({ path }) => path !== "").map(({ path }) => quote(path));
  const cases = rows.map(
    ({ path, words, flags, values }) =>
      `    ${quote(path)}) words=${quote(words.map(({ word }) => word).join(" "))}` +
      ` flags=${quote(flags.map(({ word }) => word).join(" "))} kind=${quote(values ?? "")} ;;`,
  );
  const fixed = Object.entries(flagValues).map(
    ([flag, values]) =>
      `    ${flag}) COMPREPLY=($(compgen -W ${quote(values.join(" "))} -- "$cur")); return ;;`,
  );
  return `# bash completion for croft
# Values are read, not expanded: names come from elsewhere.
_croft_values() {
  local value
  while IFS=$'\\t' read -r value _; do
    [[ $value == "\${cur//\\\\/}"* ]] || continue
    printf -v value %q "$value"
    COMPREPLY+=("$value")
  done < <(croft __complete "$1" "\${cur//\\\\/}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
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
  esac
  case "$path" in
${cases.join("\n")}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [[ -n $kind ]]; then
    _croft_values "$kind"
  fi
}
complete -o default -F _croft croft
`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
