import type { WireVariable } from "../../daemon/contract/forge/actions/variables.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { type ActionLevel, type LevelFlags, toLevel, withLevel } from "../support/action-level.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List variables", () => listVariables, { aliases: ["ls"] }),
  verb("get", "Show a variable", () => getVariable),
  verb("set", "Create or change a variable", () => setVariable),
  verb("delete", "Delete a variable", () => deleteVariable, { aliases: ["rm"] }),
];

const columns: readonly Column<WireVariable>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "value", cell: ({ data }) => data },
  { header: "description", cell: ({ description }) => description },
];

const changedOutput = shape({ name: "string" });
const VALUE_BYTES_MAX = 65_536;

export const listVariables = {
  operations: [
    forge.listRepositoryVariables,
    forge.listOrganizationVariables,
    forge.listOwnVariables,
    forge.listInstanceVariables,
  ],
  output: listOf(forge.listRepositoryVariables),
  define(command, cli, run = runList): void {
    withLevel(command).action((flags: LevelFlags) => run(cli, toLevel(flags)));
  },
} satisfies CommandModule;

/** Prints the variables of a level. */
async function runList(cli: CliContext, level: ActionLevel): Promise<void> {
  await cli.output.list(pagesOf(cli, level), columns);
}

function pagesOf({ client }: CliContext, level: ActionLevel) {
  switch (level.kind) {
    case "repository":
      return forgePages(client, forge.listRepositoryVariables, { params: level.params });
    case "organization":
      return forgePages(client, forge.listOrganizationVariables, { params: level.params });
    case "user":
      return forgePages(client, forge.listOwnVariables, {});
    case "instance":
      return forgePages(client, forge.listInstanceVariables, {});
  }
}

/** The operations on one variable, by level. */
const operations = {
  get: {
    repository: forge.getRepositoryVariable,
    organization: forge.getOrganizationVariable,
    user: forge.getOwnVariable,
    instance: forge.getInstanceVariable,
  },
  create: {
    repository: forge.createRepositoryVariable,
    organization: forge.createOrganizationVariable,
    user: forge.createOwnVariable,
    instance: forge.createInstanceVariable,
  },
  edit: {
    repository: forge.editRepositoryVariable,
    organization: forge.editOrganizationVariable,
    user: forge.editOwnVariable,
    instance: forge.editInstanceVariable,
  },
  delete: {
    repository: forge.deleteRepositoryVariable,
    organization: forge.deleteOrganizationVariable,
    user: forge.deleteOwnVariable,
    instance: forge.deleteInstanceVariable,
  },
} as const;

export interface VariableName {
  readonly level: ActionLevel;
  readonly name: string;
}

/** All levels use the types of the repository's operations: their parameters differ only in the owner. */
function toCall({ level, name }: VariableName) {
  return {
    kind: level.kind as "repository",
    params: { ...level.params, variablename: name } as {
      owner: string;
      repo: string;
      variablename: string;
    },
  };
}

export const getVariable = {
  operations: Object.values(operations.get),
  output: resourceOf(forge.getRepositoryVariable),
  define(command, cli, run = runGet): void {
    withLevel(command)
      .argument("<name>", "the name")
      .action((name: string, flags: LevelFlags) => run(cli, { level: toLevel(flags), name }));
  },
} satisfies CommandModule;

async function runGet(cli: CliContext, variable: VariableName): Promise<void> {
  const { kind, params } = toCall(variable);
  const { body } = await cli.client.call(operations.get[kind], { params });
  await cli.output.resource(body, columns);
}

export interface VariableSetOptions extends VariableName {
  readonly value?: string;
  readonly valueStdin: boolean;
  readonly description?: string;
}

export const setVariable = {
  operations: [...Object.values(operations.create), ...Object.values(operations.edit)],
  output: changedOutput,
  prompted: ["--value or --value-stdin"],
  define(command, cli, run = runSet): void {
    withLevel(command)
      .argument("<name>", "the name, such as REGION")
      .option("--value <text>", "the value; prompted for when absent")
      .option("--value-stdin", "read the value from standard input")
      .option("--description <text>", "the description")
      .action(
        (
          name: string,
          flags: LevelFlags & Omit<Partial<VariableSetOptions>, keyof VariableName>,
        ) => {
          const { value, valueStdin = false, description } = flags;
          if (value !== undefined && valueStdin)
            throw usageError("give --value or --value-stdin, not both");
          return run(cli, {
            level: toLevel(flags),
            name,
            valueStdin,
            ...(value === undefined ? {} : { value }),
            ...(description === undefined ? {} : { description }),
          });
        },
      );
  },
} satisfies CommandModule;

/** Changes a variable, or creates it if it does not exist. */
async function runSet(cli: CliContext, options: VariableSetOptions): Promise<void> {
  const { name, description } = options;
  const value = await readValue(cli, options);
  const body = { value, description: description ?? null };
  const { kind, params } = toCall(options);
  const isNew = await cli.client.call(operations.edit[kind], { params, body }).then(
    () => false,
    (error: unknown) => {
      if (error instanceof CliError && error.code === "not_found") return true;
      throw error;
    },
  );
  if (isNew) await cli.client.call(operations.create[kind], { params, body });
  await cli.output.done({ name }, `${isNew ? "Created" : "Changed"} variable ${name}.`);
}

async function readValue(cli: CliContext, options: VariableSetOptions): Promise<string> {
  const { value, valueStdin, name } = options;
  if (value !== undefined) return value;
  if (!valueStdin) return cli.prompts.text(`Value of ${name}:`, "--value or --value-stdin");
  return (await cli.io.readInput(VALUE_BYTES_MAX)).replace(/\r?\n$/, "");
}

export const deleteVariable = {
  operations: Object.values(operations.delete),
  output: changedOutput,
  destructive: true,
  define(command, cli, run = runDelete): void {
    withLevel(command)
      .argument("<name>", "the name")
      .action((name: string, flags: LevelFlags) => run(cli, { level: toLevel(flags), name }));
  },
} satisfies CommandModule;

async function runDelete(cli: CliContext, variable: VariableName): Promise<void> {
  const { name } = variable;
  await cli.prompts.confirm(`Delete variable ${name}?`);
  const { kind, params } = toCall(variable);
  await cli.client.call(operations.delete[kind], { params });
  await cli.output.done({ name }, `Deleted variable ${name}.`);
}
