/** The words of one croft command in a line, and the files that its standard input and output are. */
export interface ShellLine {
  readonly words: readonly string[];
  readonly input: string | undefined;
  readonly output: string | undefined;
  /** The program that reads its output, such as `gzip`. */
  readonly pipedTo: string | undefined;
}

/** Parses the lines of examples: croft's words in quotes or not, `< file`, `> file` and `| program`. */
export function toShellLine(line: string): ShellLine {
  const words = (line.match(/(?:[^\s'"]|'[^']*'|"(?:\\.|[^"\\])*")+/g) ?? []).map((word) => ({
    isPlain: !/['"]/.test(word),
    text: word.replaceAll(/'([^']*)'|"((?:\\.|[^"\\])*)"/g, (_, single, double) =>
      String(single ?? (double as string).replaceAll(/\\(.)/g, "$1")),
    ),
  }));
  if (words[0]?.text !== "croft") throw new Error(`an example begins with croft: ${line}`);
  const found: { words: string[]; input?: string; output?: string; pipedTo?: string } = {
    words: [],
  };
  for (let index = 1; index < words.length; index++) {
    const { text, isPlain } = words[index]!;
    const next = words[index + 1]?.text;
    if (isPlain && (text === "<" || text === ">" || text === "|")) {
      if (next === undefined) throw new Error(`nothing follows ${text}: ${line}`);
      if (text === "<") found.input = next;
      if (text === ">") found.output = next;
      if (text === "|") return { ...empty, ...found, pipedTo: next };
      index++;
    } else found.words.push(text);
  }
  return { ...empty, ...found };
}

const empty = { input: undefined, output: undefined, pipedTo: undefined };
