// cli/examples: two or more examples of every command, for its help page, the reference and the manual. They are
// separate from the commands because only help needs them. A test runs each of them.

/** The description of an example, and the command as typed in a shell. */
export type Example = readonly [sentence: string, line: string];

/** The examples of commands by their words, such as `admin user list`. */
export type Examples = Readonly<Record<string, readonly Example[]>>;

/** Loads the examples of all commands. */
export async function loadExamples(): Promise<Examples> {
  const files = await Promise.all([
    import("./home.ts"),
    import("./accounts.ts"),
    import("./admin.ts"),
    import("./repositories.ts"),
    import("./workflows.ts"),
    import("./collaboration.ts"),
    import("./hooks.ts"),
    import("./vault.ts"),
    import("./vault-storage.ts"),
  ]);
  return Object.assign({}, ...files.map(({ examples }) => examples)) as Examples;
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
