import { Writable } from "node:stream";
import { type CliContext, createContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { errorCodes, exitCodes } from "../exit-codes.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { toJson } from "../output/sanitize.ts";
import { wrapPage } from "../output/width.ts";
import { shapeList, toObjectSchema } from "../output/spec.ts";
import { neverStopping } from "../report.ts";
import { loadAllCommands, findCommand } from "../tree/command-tree.ts";
import type { CommandReference } from "../tree/reference.ts";
import type { Entry, RunLine } from "../tree/entry.ts";
import { commandDetails } from "../tree/command.ts";

export const schema = (commands: readonly Entry[]) =>
  commandDetails({
    args: { "<words...>": "the command, such as: admin user list" },
    completions: { words: "commands" },
    output: { kind: "any" },
    examples: [
      ["Print the schema of a list", "croft schema admin user list"],
      [
        "Print the names of its fields",
        "croft schema repo list --jq '.items.properties | keys | .[]'",
      ],
    ],
    /** Prints the JSON Schema of a command's output with `--json`. */
    async run(cli, { words }) {
      const { verb, rest } = await findCommand(words, commands);
      if (verb === undefined || rest.length > 0)
        throw usageError(
          `"croft ${words.join(" ")}" is not a command`,
          '"croft commands" lists them',
        );
      const { toOutputSchema } = await import("../output/schema.ts");
      const schema = toOutputSchema((await verb.load()).output);
      if (schema === undefined)
        throw new CliError(
          "unsupported",
          `the output of "croft ${words.join(" ")}" has no fixed form`,
        );
      await cli.output.text(`${toJson(schema, 2)}\n`, schema);
    },
  });

export const help = (commands: readonly Entry[], runLine: RunLine) =>
  commandDetails({
    args: { "[words...]": 'a command, or a topic; "topics" lists those' },
    completions: { words: "commands" },
    output: {
      kind: "shape",
      list: false,
      paged: false,
      schema: {
        anyOf: [
          toObjectSchema({
            exit_codes: {
              type: "array",
              items: toObjectSchema({ code: "integer", meaning: "string" }),
            },
            error_codes: {
              type: "array",
              items: toObjectSchema({ code: "string", exit_code: "integer", meaning: "string" }),
            },
          }),
          toObjectSchema({ command: "string", text: "string" }),
        ],
      },
    },
    examples: [
      ["Show help for a command", "croft help repo create"],
      ["List the topics", "croft help topics"],
    ],
    /** Prints the help page of a command or group, or a topic. */
    async run(cli, { words }) {
      if (words[0] === "exit-codes" && words.length === 1)
        return cli.output.page(wrapPage(toExitCodesText(), widthOf(cli)), toExitCodesValue());
      if (words.length === 1 && (await printTopic(cli, words[0] ?? ""))) return;
      const line = [...words, "--help"];
      if (!cli.output.isMachine) {
        const { exitCode } = await runLine(line, cli.system);
        return cli.finishWith(exitCode);
      }
      // An unknown command throws the usual error here.
      await findCommand(words, commands);
      const page: Buffer[] = [];
      const stdout = new Writable({
        write(chunk: Buffer | string, _encoding, done) {
          page.push(Buffer.from(chunk));
          done();
        },
      });
      await runLine(line, { ...cli.system, stdout });
      const text = Buffer.concat(page).toString("utf8");
      await cli.output.text(text, { command: words.join(" "), text });
    },
  });

/** Prints a topic, or the list of topics; returns false for an unknown topic. */
async function printTopic(cli: CliContext, word: string): Promise<boolean> {
  const { helpTopics } = await import("./help-topics.ts");
  const known = [
    ...helpTopics.map(({ name, summary }) => ({ name, summary })),
    { name: "exit-codes", summary: "Exit codes and error codes" },
  ];
  const list = () =>
    [
      "Topics:",
      ...known.map(({ name, summary }) => `  croft help ${name.padEnd(11)}  ${summary}`),
      "",
    ].join("\n");
  const text = word === "topics" ? list() : helpTopics.find(({ name }) => name === word)?.text();
  if (text === undefined) return false;
  await cli.output.page(wrapPage(text, widthOf(cli)), { command: word, text });
  return true;
}

/** Long lines are hard to read, also where a terminal has room for them. */
function widthOf({ io }: CliContext): number {
  return Math.min(io.isOutputTerminal ? io.columns : 80, 100);
}

/** The tables of exit codes and error codes for people. */
function toExitCodesText(): string {
  const exits = Object.entries(exitCodes).map(
    ([code, meaning]) => `${code.padStart(5)}  ${meaning}`,
  );
  const width = Math.max(...Object.keys(errorCodes).map((code) => code.length));
  const errors = Object.entries(errorCodes).map(
    ([code, { exit, meaning }]) =>
      `  ${code.padEnd(width)}  ${String(exit).padStart(3)}  ${meaning}`,
  );
  return [
    "Exit codes follow the outcome, not the HTTP status:",
    "",
    ...exits,
    "",
    "With --json and other machine formats a failure is one line of JSON on standard error; its error.code is one of:",
    "",
    ...errors,
    "",
  ].join("\n");
}

function toExitCodesValue() {
  return {
    exit_codes: Object.entries(exitCodes).map(([code, meaning]) => ({
      code: Number(code),
      meaning,
    })),
    error_codes: Object.entries(errorCodes).map(([code, { exit, meaning }]) => ({
      code,
      exit_code: exit,
      meaning,
    })),
  };
}

const namedList = {
  type: "array",
  items: toObjectSchema({ name: "string", description: "string" }),
};

export const listCommands = (commands: readonly Entry[]) =>
  commandDetails({
    output: shapeList({
      command: "string",
      summary: "string",
      usage: "string",
      aliases: { type: "array", items: { type: "string" } },
      arguments: namedList,
      flags: namedList,
      operations: { type: "array", items: { type: "string" } },
      examples: {
        type: "array",
        items: toObjectSchema({ description: "string", command: "string" }),
      },
    }),
    examples: [
      ["List every command", "croft commands"],
      [
        "Print the flags of one as JSON",
        "croft commands --jq '.[] | select(.command == \"croft repo list\") | .flags[].name'",
      ],
    ],
    /** Prints every command with its arguments, flags and the operations that it calls. */
    async run(cli) {
      // Loaded here: it reads the schemas of the contract.
      const { toReference } = await import("../tree/reference.ts");
      const loaded = await loadAllCommands(createContext(cli.system, neverStopping), commands);
      const references = loaded.filter(({ hidden }) => !hidden).map(toReference);
      await cli.output.list(wholeList(references), columns);
    },
  });

const columns: readonly Column<CommandReference>[] = [
  { header: "command", cell: ({ command }) => command },
  { header: "summary", cell: ({ summary }) => summary },
];
