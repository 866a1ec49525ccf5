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
export function toBashScript(rows: readonly CompletionRow[]): string {
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
_croft() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  local path="" next word words="" flags="" kind="" index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    [[ $word == -* ]] && continue
    next="\${path:+$path }$word"
    case "$next" in
    ${paths.join("|")}) path=$next ;;
    esac
  done
  case "$prev" in
${fixed.join("\n")}
    --profile) COMPREPLY=($(compgen -W "$(croft __complete profiles 2>/dev/null | cut -f1)" -- "$cur")); return ;;
  esac
  case "$path" in
${cases.join("\n")}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [[ -n $kind ]]; then
    COMPREPLY=($(compgen -W "$(croft __complete "$kind" 2>/dev/null | cut -f1)" -- "$cur"))
  fi
}
complete -o default -F _croft croft
`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
