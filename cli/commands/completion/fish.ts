import type { CommandModule } from "../../tree/entry.ts";
import {
  type CompletionRow,
  defineScript,
  type Described,
  groupFlags,
  listValueFlags,
  scriptOutput,
} from "./table.ts";

export const fish = {
  operations: [],
  output: scriptOutput,
  define(command, cli): void {
    command.addHelpText(
      "after",
      "\nTo load it in every session: croft completion fish > ~/.config/fish/completions/croft.fish",
    );
    defineScript(command, cli, "fish", toFishScript);
  },
} satisfies CommandModule;

/**
 * Creates a script that completes words with their descriptions. It is one function, because fish evaluates the
 * condition of every rule at each key.
 */
export function toFishScript(rows: readonly CompletionRow[]): string {
  const paths = rows.filter(({ path }) => path !== "").map(({ path }) => quote(path));
  const valued = groupFlags(rows).map(
    ({ value, flags }) =>
      `      case ${flags.map(quote).join(" ")}\n        ${value === "live" ? "__croft_values" : `printf '%s\\n' ${value.map(quote).join(" ")}`}`,
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
  croft __complete -- $tokens[2..] (__croft_typed) 2>/dev/null
end
function __croft_typed
  set -l token (commandline -ct)
  # In quotes that are still open.
  set -l typed (string unescape -- $token; or string unescape -- $token'"'; or string unescape -- $token"'")
  printf '%s' "$typed"
  # Without a line end, an empty text would be no word.
  printf '\\n'
end
function __croft_complete
  set -l path ''
  set -l flag ''
  set -l count 1
  set -l words
  set -l flags
  set -l kinds
  set -l repeated
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
  if test -n "$flag"
    switch "$path $flag"
${valued.join("\n")}
      case '* --profile'
        __croft_values
      case '*'
        __fish_complete_path (commandline -ct)
    end
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
