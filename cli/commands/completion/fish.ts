import type { CommandModule } from "../../tree/entry.ts";
import { type CompletionRow, defineScript, flagValues, scriptOutput } from "./table.ts";

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

/** A script that completes words with their descriptions. */
export function toFishScript(rows: readonly CompletionRow[]): string {
  const paths = rows.filter(({ path }) => path !== "").map(({ path }) => quote(path));
  const lines = rows.flatMap(({ path, words, flags, values }) => {
    const at = `-n ${quote(`__croft_at ${quote(path)}`)}`;
    return [
      ...words.map(
        ({ word, description }) =>
          `complete -c croft ${at} -f -a ${quote(word)} -d ${quote(description)}`,
      ),
      ...flags.map(({ word, description, takesValue }) => {
        const choices = flagValues[word];
        const file = takesValue && word !== "--profile" ? " -r -F" : "";
        const values = choices === undefined ? file : ` -x -a ${quote(choices.join(" "))}`;
        return `complete -c croft ${at} -l ${word.replace(/^--/, "")}${values} -d ${quote(description)}`;
      }),
      ...(values === undefined
        ? []
        : [
            `complete -c croft ${at} ${values === "transfers" ? "" : "-f "}-a ${quote(`(__croft_values ${values === "transfers" ? "items" : values})`)}`,
          ]),
    ];
  });
  return `# fish completion for croft
function __croft_at
  set -l at
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and continue
    set -l next (string join ' ' -- $at $word)
    contains -- $next ${paths.join(" ")}; and set at $next
  end
  test "$at" = "$argv[1]"
end
function __croft_values
  set -l token (commandline -ct)
  # In quotes that are still open.
  set -l typed (string unescape -- $token; or string unescape -- $token'"'; or string unescape -- $token"'")
  croft __complete $argv[1] "$typed" 2>/dev/null
end
complete -c croft -l profile -x -a '(__croft_values profiles)'
${lines.join("\n")}
`;
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
