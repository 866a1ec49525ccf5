import type { OutputSink } from "../places/place.ts";
import type { Masker } from "../report/masker.ts";
import type { JobLog } from "./job-log.ts";

/** Values that a step has set by commands in its output, the legacy mechanism. */
export interface CommandValues {
  readonly outputs: Map<string, string>;
  readonly state: Map<string, string>;
}

/** Outputs and states that one step may set by commands. */
const VALUES_MAX = 1_000;

/** Commands that are part of the log. */
const SHOWN: ReadonlySet<string> = new Set(["group", "endgroup", "notice", "warning", "error"]);

/** Writes the output of a step to the log and carries out the workflow commands in it. */
export function createStepOutput({
  log,
  masker,
  isDebug,
}: {
  readonly log: JobLog;
  readonly masker: Masker;
  /** Whether `::debug::` lines are shown. */
  readonly isDebug: boolean;
}): { readonly sink: OutputSink; readonly values: CommandValues } {
  const values = { outputs: new Map<string, string>(), state: new Map<string, string>() };
  let resumeToken: string | undefined;

  const line = (text: string, dropped: number) => {
    if (resumeToken !== undefined) {
      // All lines are text until the resume command.
      if (text.trim() === `::${resumeToken}::`) resumeToken = undefined;
      else log.writeLine(text, dropped);
      return;
    }
    const command = parseWorkflowCommand(text);
    if (command === undefined) log.writeLine(text, dropped);
    else carryOut(command, text, dropped);
  };

  const carryOut = (command: WorkflowCommand, text: string, dropped: number) => {
    const { name, properties } = command;
    const key = properties["name"] ?? "";
    // The value itself is not shown, also one that is masked nowhere else. After too many, the masker shows no row.
    if (name === "add-mask") masker.add(command.text);
    else if (name === "stop-commands") stopCommands(command.text.trim());
    else if (name === "debug") {
      if (isDebug) log.writeLine(text, dropped);
    } else if (name === "set-output" || name === "save-state") {
      const file = name === "set-output" ? "GITHUB_OUTPUT" : "GITHUB_STATE";
      const target = name === "set-output" ? values.outputs : values.state;
      if (key !== "" && target.size < VALUES_MAX) target.set(key, command.text);
      log.write(`::warning::${name} is deprecated: write to the file ${file} instead`);
    } else if (name === "set-env" || name === "add-path")
      log.write(
        `::error::${name} is disabled: write to the file ${name === "set-env" ? "GITHUB_ENV" : "GITHUB_PATH"} instead`,
      );
    else if (SHOWN.has(name)) log.writeLine(text.trimStart(), dropped);
    else if (!IGNORED.has(name)) log.writeLine(text, dropped);
  };

  /** Without a token no later line could resume commands, and later masks would be ignored. */
  const stopCommands = (token: string) => {
    if (token === "") log.write("::warning::stop-commands needs a token; commands continue");
    else resumeToken = token;
  };

  return {
    values,
    sink: {
      lineCharacters: () => log.lineCharacters,
      line,
      isFull: () => log.isFull,
      drained: () => log.drained(),
    },
  };
}

/** Commands of the public runner that have no meaning here. */
const IGNORED: ReadonlySet<string> = new Set(["echo", "add-matcher", "remove-matcher"]);

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
