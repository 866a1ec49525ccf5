import type { WireVariable } from "../../daemon/contract/forge/actions/variables.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { type ActionLevel, toLevel, levelFlags } from "../support/action-level.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

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

const changedOutput = shape({ name: "string" });

export const entries: readonly Entry[] = [
  command("list", "List variables", {
    aliases: ["ls"],
    flags: levelFlags,
    calls: [
      forge.listRepositoryVariables,
      forge.listOrganizationVariables,
      forge.listOwnVariables,
      forge.listInstanceVariables,
    ],
    output: listOf(forge.listRepositoryVariables),
    examples: [
      ["List the variables of a repository", "croft variable list --repo keeper/notes"],
      ["List those of all your repositories", "croft variable list --user"],
    ],
    /** Prints the variables of a level. */
    async run(cli, flags) {
      const level = toLevel(flags);

      await cli.output.list(pagesOf(cli, level), columns);
    },
  }),
  command("get", "Show a variable", {
    args: { "<name>": "the name" },
    flags: levelFlags,
    calls: Object.values(operations.get),
    output: resourceOf(forge.getRepositoryVariable),
    examples: [
      ["Show a variable", "croft variable get REGION --repo keeper/notes"],
      ["Print its value", "croft variable get REGION --org acme --jq .data"],
    ],
    async run(cli, { name, ...flags }) {
      const variable = { level: toLevel(flags), name };

      const { kind, params } = toCall(variable);
      const { body } = await cli.client.call(operations.get[kind], { params });
      await cli.output.resource(body, columns);
    },
  }),
  command("set", "Create or change a variable", {
    args: { "<name>": "the name, such as REGION" },
    flags: {
      ...levelFlags,
      "--value <text>": "the value; prompted for when absent",
      "--value-stdin": "read the value from standard input",
      "--description <text>": "the description",
    },
    calls: [...Object.values(operations.create), ...Object.values(operations.edit)],
    output: changedOutput,
    prompted: ["--value or --value-stdin"],
    examples: [
      [
        "Set a variable of a repository",
        "croft variable set REGION --repo keeper/notes --value north",
      ],
      [
        "Set a variable of the server from a file",
        "croft variable set REGION --instance --value-stdin < value.txt",
      ],
    ],
    /** Changes a variable, or creates it if it does not exist. */
    async run(cli, { name, value: typed, valueStdin = false, description, ...flags }) {
      if (typed !== undefined && valueStdin)
        throw usageError("give --value or --value-stdin, not both");
      const value = typed ?? (await readValue(cli, name, valueStdin));
      const body = { value, description: description ?? null };
      const { kind, params } = toCall({ level: toLevel(flags), name });
      const isNew = await cli.client.call(operations.edit[kind], { params, body }).then(
        () => false,
        (error: unknown) => {
          if (error instanceof CliError && error.code === "not_found") return true;
          throw error;
        },
      );
      if (isNew) await cli.client.call(operations.create[kind], { params, body });
      await cli.output.done({ name }, `${isNew ? "Created" : "Changed"} variable ${name}.`);
    },
  }),
  command("delete", "Delete a variable", {
    aliases: ["rm"],
    args: { "<name>": "the name" },
    flags: levelFlags,
    calls: Object.values(operations.delete),
    output: changedOutput,
    destructive: true,
    examples: [
      ["Delete a variable", "croft variable delete REGION --repo keeper/notes --yes"],
      ["Show the request only", "croft variable delete REGION --org acme --dry-run"],
    ],
    async run(cli, { name, ...flags }) {
      const variable = { level: toLevel(flags), name };
      await cli.prompts.confirm(`Delete variable ${name}?`);
      const { kind, params } = toCall(variable);
      await cli.client.call(operations.delete[kind], { params });
      await cli.output.done({ name }, `Deleted variable ${name}.`);
    },
  }),
];

const columns: readonly Column<WireVariable>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "value", cell: ({ data }) => data },
  { header: "description", cell: ({ description }) => description },
];

const VALUE_BYTES_MAX = 65_536;

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

async function readValue(cli: CliContext, name: string, valueStdin: boolean): Promise<string> {
  if (!valueStdin) return cli.prompts.text(`Value of ${name}:`, "--value or --value-stdin");
  return (await cli.io.readInput(VALUE_BYTES_MAX)).replace(/\r?\n$/, "");
}
