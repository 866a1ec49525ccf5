import { toShellWord } from "../../output/shell-word.ts";
import type { CommandModule } from "../../tree/entry.ts";
import {
  type CompletionRow,
  defineScript,
  type Described,
  flagValues,
  scriptOutput,
  toFreeFlags,
} from "./table.ts";

export const zsh = {
  operations: [],
  output: scriptOutput,
  define(command, cli): void {
    command.addHelpText(
      "after",
      '\nTo load it in every session: croft completion zsh > "${fpath[1]}/_croft"',
    );
    defineScript(command, cli, "zsh", toZshScript);
  },
} satisfies CommandModule;

/** A script that completes words with their descriptions. */
export function toZshScript(rows: readonly CompletionRow[]): string {
  const paths = rows.filter(({ path }) => path !== "").map(({ path }) => toShellWord(path));
  const cases = rows.map(
    ({ path, words, flags, values }) =>
      `    ${toShellWord(path)}) words_here=(${words.map(describe).join(" ")});` +
      ` flags_here=(${flags.map(describe).join(" ")}); kind=${toShellWord(values ?? "")} ;;`,
  );
  const fixed = Object.entries(flagValues).map(
    ([flag, values]) => `    ${flag}) compadd -- ${values.join(" ")}; return ;;`,
  );
  const free = toFreeFlags(rows).join("|");
  return `#compdef croft
_croft_values() {
  local typed=$PREFIX
  # In quotes nothing but the quote itself is quoted.
  [[ -z $QIPREFIX ]] && typed=\${(Q)PREFIX}
  local -a found
  found=("\${(@f)$(croft __complete "$1" "$typed" 2>/dev/null | cut -f1)}")
  # Of a folder what is in it may follow.
  compadd -S '' -- \${(M)found:#*/}
  compadd -- \${found:#*/}
}
_croft() {
  local at="" next word kind="" index
  local -a words_here flags_here
  for ((index = 2; index < CURRENT; index++)); do
    word=\${words[index]}
    [[ $word == -* ]] && continue
    next="\${at:+$at }$word"
    case "$next" in
    ${paths.join("|")}) at=$next ;;
    esac
  done
  case "\${words[CURRENT-1]}" in
${fixed.join("\n")}
    --profile) _croft_values profiles; return ;;
    ${free}) _files; return ;;
  esac
  case "$at" in
${cases.join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe 'flag' flags_here
  elif (( \${#words_here} )); then
    _describe 'command' words_here
  elif [[ $kind == transfers ]]; then
    _croft_values items
    [[ $PREFIX == *:* ]] || _files
  elif [[ -n $kind ]]; then
    _croft_values $kind
  else
    _files
  fi
}
if [[ $funcstack[1] == _croft ]]; then _croft "$@"; else compdef _croft croft; fi
`;
}

function describe({ word, description }: Described): string {
  return toShellWord(`${word.replaceAll(":", "\\:")}:${description}`);
}
