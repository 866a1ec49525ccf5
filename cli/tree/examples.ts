import type { CommandDefinition, Example } from "./entry.ts";

/**
 * The examples of the command `line`, such as `admin user list`: a command that has its place in two groups has examples of
 * both.
 */
export function examplesOf({ examples }: CommandDefinition, line: string): readonly Example[] {
  return examples.filter(([, example]) => `${example} `.startsWith(`croft ${line} `));
}

/** The examples as a help page shows them; the lines of a long command are joined by a backslash, as a shell reads it. */
export function toExamplesText(examples: readonly Example[], width: number): string {
  const blocks = examples.map(([sentence, line]) =>
    [`  ${sentence}`, ...foldCommand(line, width - 6).map((one) => `    ${one}`)].join("\n"),
  );
  return ["Examples:", ...blocks].join("\n");
}

/** Breaks a command into lines of at most `width` cells, where a flag or a redirection begins. */
export function foldCommand(line: string, width: number): readonly string[] {
  if (line.length <= width) return [line];
  // Blanks inside quotes do not separate words.
  const words = line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  const lines: string[] = [];
  let part = "";
  const endPart = () => {
    const last = lines.at(-1);
    if (last === undefined) lines.push(part);
    else if (last.length + part.length + 3 <= width) lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(`  ${part}`);
  };
  for (const word of words) {
    const begins = /^(?:--?[a-z]|[<>|]$)/i.test(word);
    if (begins && part !== "") endPart();
    part = begins || part === "" ? word : `${part} ${word}`;
  }
  endPart();
  return lines.map((one, index) => (index < lines.length - 1 ? `${one} \\` : one));
}
