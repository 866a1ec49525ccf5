import type { Command, Option } from "commander";
import { allFields } from "../flags.ts";

/**
 * Writes `--json` without fields as `--json=*`. A flag with an optional value would take the next argument for it;
 * here only `--json=a,b` has one. Values of other flags and everything after `--` stay as they are.
 */
export function markPlainJson(words: readonly string[], command: Command): readonly string[] {
  const marked: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--") return [...marked, ...words.slice(index)];
    if (word === "--json") {
      marked.push(`--json=${allFields}`);
      continue;
    }
    marked.push(word);
    if (takesNextWord(word, command.options) && index + 1 < words.length)
      marked.push(words[++index] ?? "");
  }
  return marked;
}

function takesNextWord(word: string, options: readonly Option[]): boolean {
  return options.some(
    (option) => option.required && (option.long === word || option.short === word),
  );
}
