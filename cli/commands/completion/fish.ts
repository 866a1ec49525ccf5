import type { Entry } from "../../tree/entry.ts";
import {
  type CompletionRow,
  scriptCommand,
  type Described,
  groupFlags,
  listValueFlags,
} from "./table.ts";

export const fish = (commands: readonly Entry[]) =>
  scriptCommand(commands, {
    shell: "fish",
    note: "To load it in every session: croft completion fish > ~/.config/fish/completions/croft.fish",
    examples: [
      ["Print the script", "croft completion fish"],
      ["Install it for your user", "croft completion fish > croft.fish"],
    ],
    toScript: toFishScript,
  });

/**
 * Creates a script that completes words with their descriptions. It is one function, because fish evaluates the
 * condition of every rule at each key.
 */
export function toFishScript(rows: readonly CompletionRow[]): string {
  const paths = rows.filter(({ path }) => path !== "").map(({ path }) => quote(path));
  const valued = groupFlags(rows).map(
    ({ value, flags }) =>
      `      case ${flags.map(quote).join(" ")}\n        ${value === "live" ? "__croft_values $argv[2..]" : `printf '%s\\n' ${value.map(quote).join(" ")}`}`,
  );
  const cases = rows.map(({ path, words, flags, args, isVariadic }) => {
    const lines = [
      words.length === 0 ? "" : `set words ${words.map(describe).join(" ")}`,
      flags.length === 0 ? "" : `set flags ${flags.map(describe).join(" ")}`,
      args.length === 0 ? "" : `set kinds ${args.join(" ")}`,
      isVariadic ? "set repeated 1" : "",
    ].filter((line) => line !== "");
    return [`    case ${quote(path)}`, ...lines.map((line) => `      ${line}`)].join("\n");
  });
  return `# fish completion for croft
function __croft_values
  set -l tokens (commandline -opc)
  croft __complete -- $tokens[2..] $argv[2..] (__croft_typed $argv[1]) 2>/dev/null
end
function __croft_typed
  # What the token begins with is no part of the value.
  set -l token (string replace -- "$argv[1]" '' (commandline -ct))
  # In quotes that are still open.
  set -l typed (string unescape -- $token; or string unescape -- $token'"'; or string unescape -- $token"'")
  printf '%s' "$typed"
  # Without a line end, an empty text would be no word.
  printf '\\n'
end
function __croft_flag_values
  switch $argv[1]
${valued.join("\n")}
      case '* --profile'
        __croft_values $argv[2..]
      case '*'
        __fish_complete_path (string replace -- "$argv[2]" '' (commandline -ct))
  end
end
function __croft_complete
  set -l path ''
  set -l flag ''
  set -l count 1
  set -l words
  set -l flags
  set -l kinds
  set -l repeated
  set -l stem ''
  set -l joined
  for word in (commandline -opc)[2..]
    if test -n "$flag"
      set flag ''
      continue
    end
    switch $word
      case ${listValueFlags(rows).map(quote).join(" ")}
        set flag $word
        continue
      case '-?*'
        continue
    end
    set -l next (string trim -- "$path $word")
    if contains -- $next ${paths.join(" ")}
      set path $next
    else
      set count (math $count + 1)
    end
  end
  # --flag=value is the flag and its value; fish replaces both.
  if test -z "$flag"; and string match -q -- '--*=*' (commandline -ct)
    switch (string replace -r -- '=.*' '' (commandline -ct))
      case ${listValueFlags(rows).map(quote).join(" ")}
        set flag (string replace -r -- '=.*' '' (commandline -ct))
        set stem "$flag="
        set joined $flag
    end
  end
  if test -n "$flag"
    __croft_flag_values "$path $flag" "$stem" $joined | string replace -r -- '^' "$stem"
    return
  end
  switch "$path"
${cases.join("\n")}
  end
  if string match -q -- '-*' (commandline -ct)
    printf '%s\\n' $flags
  else if set -q words[1]
    printf '%s\\n' $words
  else if set -q kinds[1]
    if set -q repeated[1]; and test $count -gt (builtin count $kinds)
      set count (builtin count $kinds)
    end
    switch "$kinds[$count]"
      case live
        __croft_values
      case transfers
        __croft_values
        string match -q -- '*:*' (commandline -ct); or __fish_complete_path (commandline -ct)
      case files
        __fish_complete_path (commandline -ct)
    end
  end
end
complete -c croft -f -a '(__croft_complete)'
`;
}

/** Formats a word and its description for fish: separated by a tab. */
function describe({ word, description }: Described): string {
  return quote(`${word}\t${description}`);
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
