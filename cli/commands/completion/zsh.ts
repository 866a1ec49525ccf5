import type { Entry } from "../../tree/entry.ts";
import { toShellWord } from "../../output/shell-word.ts";
import {
  type CompletionRow,
  scriptCommand,
  type Described,
  groupFlags,
  listValueFlags,
} from "./table.ts";

export const zsh = (commands: readonly Entry[]) =>
  scriptCommand(commands, {
    shell: "zsh",
    note: 'To load it in every session: croft completion zsh > "${fpath[1]}/_croft"',
    examples: [
      ["Print the script", "croft completion zsh"],
      ["Install it into a folder of fpath", "croft completion zsh > _croft"],
    ],
    toScript: toZshScript,
  });

/** A script that completes words with their descriptions. */
export function toZshScript(rows: readonly CompletionRow[]): string {
  const paths = rows.filter(({ path }) => path !== "").map(({ path }) => toShellWord(path));
  const cases = rows.map(
    ({ path, words, flags, args, isVariadic }) =>
      `    ${toShellWord(path)}) words_here=(${words.map(describe).join(" ")});` +
      ` flags_here=(${flags.map(describe).join(" ")});` +
      ` kinds=(${args.join(" ")})${isVariadic ? "; repeated=1" : ""} ;;`,
  );
  const valued = groupFlags(rows).map(
    ({ value, flags }) =>
      `    ${flags.map(toShellWord).join("|")}) ${value === "live" ? "_croft_values" : `compadd -- ${value.map(toShellWord).join(" ")}`} ;;`,
  );
  return `#compdef croft
_croft_values() {
  local typed=$PREFIX
  # In quotes nothing but the quote itself is quoted.
  [[ -z $QIPREFIX ]] && typed=\${(Q)PREFIX}
  local -a found
  found=("\${(@f)$(croft __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${joined[@]}" "$typed" 2>/dev/null | cut -f1)}")
  # More of the same name follows.
  compadd -S '' -- \${(M)found:#*[/#]}
  compadd -- \${found:#*[/#]}
}
_croft() {
  local at="" flag="" next word repeated=""
  local -i index count=0
  local -a words_here flags_here kinds joined
  for ((index = 2; index < CURRENT; index++)); do
    word=\${words[index]}
    if [[ -n $flag ]]; then
      flag=""
      continue
    fi
    case "$word" in
    ${listValueFlags(rows).join("|")}) flag=$word; continue ;;
    -?*) continue ;;
    esac
    next="\${at:+$at }$word"
    case "$next" in
    ${paths.join("|")}) at=$next ;;
    *) count+=1 ;;
    esac
  done
  # --flag=value is the flag and its value.
  if [[ -z $flag && \${words[CURRENT]} == --*=* ]]; then
    case "\${words[CURRENT]%%=*}" in
    ${listValueFlags(rows).join("|")})
      flag=\${words[CURRENT]%%=*}
      joined=("$flag")
      IPREFIX+=\${PREFIX%%=*}=
      PREFIX=\${PREFIX#*=}
      ;;
    esac
  fi
  if [[ -n $flag ]]; then
    case "$at $flag" in
${valued.join("\n")}
    *" --profile") _croft_values ;;
    *) _files ;;
    esac
    return
  fi
  case "$at" in
${cases.join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe 'flag' flags_here
  elif (( \${#words_here} )); then
    _describe 'command' words_here
  else
    [[ -n $repeated ]] && (( count >= \${#kinds} )) && count=$(( \${#kinds} - 1 ))
    case "\${kinds[count+1]}" in
    live) _croft_values ;;
    transfers)
      _croft_values
      [[ $PREFIX == *:* ]] || _files
      ;;
    files) _files ;;
    esac
  fi
}
if [[ $funcstack[1] == _croft ]]; then _croft "$@"; else compdef _croft croft; fi
`;
}

function describe({ word, description }: Described): string {
  return toShellWord(`${word.replaceAll(":", "\\:")}:${description}`);
}
