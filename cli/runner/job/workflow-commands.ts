/** A line by which a step talks to its runner: `::name key=value,key=value::text`. */
export interface WorkflowCommand {
  /** In lower case. */
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly text: string;
}

const COMMAND = /^\s*::([A-Za-z][\w-]*)(?: ([^\n]*?))?::(.*)$/s;

/** Parses a line of a step's output; undefined when it is not a command. */
export function parseWorkflowCommand(line: string): WorkflowCommand | undefined {
  const [, name, rest = "", text = ""] = COMMAND.exec(line) ?? [];
  if (name === undefined) return undefined;
  const properties = rest.split(",").flatMap((part) => {
    const at = part.indexOf("=");
    if (at === -1) return [];
    return [[part.slice(0, at).trim(), unescapeProperty(part.slice(at + 1))] as const];
  });
  return {
    name: name.toLowerCase(),
    properties: Object.fromEntries(properties),
    text: unescapeText(text),
  };
}

function unescapeText(text: string): string {
  return text.replaceAll(/%(0D|0A|25)/gi, (_, code: string) => SIGNS[code.toUpperCase()] ?? "");
}

function unescapeProperty(text: string): string {
  return text.replaceAll(
    /%(0D|0A|3A|2C|25)/gi,
    (_, code: string) => SIGNS[code.toUpperCase()] ?? "",
  );
}

const SIGNS: Readonly<Record<string, string>> = {
  "0D": "\r",
  "0A": "\n",
  "3A": ":",
  "2C": ",",
  "25": "%",
};
