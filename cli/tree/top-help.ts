import { breakWords } from "../output/width.ts";
import type { Entry } from "./entry.ts";

/** Groups of commands with their headings. */
type Groups = readonly (readonly [heading: string, names: readonly string[]])[];

const LAST_HEADING = "More";

const END =
  '"croft COMMAND --help" explains a command, and "croft commands" lists all of them with a sentence each. ' +
  '"croft help topics" lists further topics.';

/**
 * Returns the help of `croft` itself, which fits a screen: the names of all commands by their groups. Of a group with one
 * command it shows the commands of that one.
 */
export async function toTopHelp(
  entries: readonly Entry[],
  groups: Groups,
  width: number,
): Promise<string> {
  const grouped = new Set(groups.flatMap(([, names]) => names));
  const rest = entries.filter((entry) => !grouped.has(entry.name) && !isHidden(entry));
  const all: Groups =
    rest.length === 0 ? groups : [...groups, [LAST_HEADING, rest.map(({ name }) => name)]];
  const parts: string[] = [];
  for (const [heading, names] of all) {
    const lines = breakWords((await toLines(entries, names)).join(", "), width - 2);
    parts.push(`${heading}\n${lines.map((line) => `  ${line}\n`).join("")}`);
  }
  return `Usage: croft COMMAND [flags]

A self-hosted forge and document vault: one daemon, one command line.

${parts.join("\n")}
${breakWords(END, width).join("\n")}
`;
}

async function toLines(entries: readonly Entry[], names: readonly string[]): Promise<string[]> {
  const shown = names.flatMap((name) => entries.filter((entry) => entry.name === name));
  const [only] = shown;
  if (shown.length > 1 || only === undefined || only.kind !== "noun")
    return shown.map(({ name }) => name);
  const { entries: below } = await only.load();
  return below.filter((entry) => !isHidden(entry)).map(({ name }) => name);
}

function isHidden(entry: Entry): boolean {
  return entry.kind === "verb" && entry.hidden;
}
