import type { WireSecret } from "../../daemon/contract/forge/actions/secrets.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, shape } from "../output/spec.ts";
import { type ActionLevel, type LevelFlags, toLevel, withLevel } from "../support/action-level.ts";
import { readSecret } from "../support/secrets.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List secrets, without their values", () => listSecrets, { aliases: ["ls"] }),
  verb("set", "Create or replace a secret", () => setSecret),
  verb("delete", "Delete a secret", () => deleteSecret, { aliases: ["rm"] }),
];

const columns: readonly Column<WireSecret>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "description", cell: ({ description }) => description },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

const changedOutput = shape({ name: "string" });

export const listSecrets = {
  operations: [
    forge.listRepositorySecrets,
    forge.listOrganizationSecrets,
    forge.listOwnSecrets,
    forge.listInstanceSecrets,
  ],
  output: listOf(forge.listRepositorySecrets),
  define(command, cli, run = runList): void {
    withLevel(command).action((flags: LevelFlags) => run(cli, toLevel(flags)));
  },
} satisfies CommandModule;

/** Prints the secrets of a level. */
async function runList(cli: CliContext, level: ActionLevel): Promise<void> {
  await cli.output.list(pagesOf(cli, level), columns);
}

function pagesOf({ client }: CliContext, level: ActionLevel) {
  switch (level.kind) {
    case "repository":
      return forgePages(client, forge.listRepositorySecrets, { params: level.params });
    case "organization":
      return forgePages(client, forge.listOrganizationSecrets, { params: level.params });
    case "user":
      return forgePages(client, forge.listOwnSecrets, {});
    case "instance":
      return forgePages(client, forge.listInstanceSecrets, {});
  }
}

export interface SecretSetOptions {
  readonly level: ActionLevel;
  readonly name: string;
  readonly valueStdin: boolean;
  readonly description?: string;
}

export const setSecret = {
  operations: [
    forge.putRepositorySecret,
    forge.putOrganizationSecret,
    forge.putOwnSecret,
    forge.putInstanceSecret,
  ],
  output: changedOutput,
  prompted: ["--value-stdin"],
  define(command, cli, run = runSet): void {
    withLevel(command)
      .argument("<name>", "the name, such as DEPLOY_KEY")
      .option("--value-stdin", "read the value from standard input")
      .option("--description <text>", "the description")
      .action(
        (
          name: string,
          flags: LevelFlags & { readonly valueStdin?: boolean; readonly description?: string },
        ) => {
          const { valueStdin = false, description } = flags;
          return run(cli, {
            level: toLevel(flags),
            name,
            valueStdin,
            ...(description === undefined ? {} : { description }),
          });
        },
      );
  },
} satisfies CommandModule;

/** Creates or replaces a secret, whose value is read from standard input or prompted for. */
async function runSet(
  cli: CliContext,
  { level, name, valueStdin, description }: SecretSetOptions,
): Promise<void> {
  const value = await readSecret(cli, {
    fromInput: valueStdin,
    question: `Value of ${name}:`,
    flag: "--value-stdin",
  });
  const body = { data: value.replace(/\r?\n$/, ""), description: description ?? null };
  const named = { secretname: name };
  const { client } = cli;
  const { status } = await put();
  await cli.output.done({ name }, `${status === 201 ? "Created" : "Replaced"} secret ${name}.`);

  function put(): Promise<{ readonly status: number }> {
    switch (level.kind) {
      case "repository":
        return client.call(forge.putRepositorySecret, {
          params: { ...level.params, ...named },
          body,
        });
      case "organization":
        return client.call(forge.putOrganizationSecret, {
          params: { ...level.params, ...named },
          body,
        });
      case "user":
        return client.call(forge.putOwnSecret, { params: named, body });
      case "instance":
        return client.call(forge.putInstanceSecret, { params: named, body });
    }
  }
}

export interface SecretName {
  readonly level: ActionLevel;
  readonly name: string;
}

export const deleteSecret = {
  operations: [
    forge.deleteRepositorySecret,
    forge.deleteOrganizationSecret,
    forge.deleteOwnSecret,
    forge.deleteInstanceSecret,
  ],
  output: changedOutput,
  destructive: true,
  define(command, cli, run = runDelete): void {
    withLevel(command)
      .argument("<name>", "the name")
      .action((name: string, flags: LevelFlags) => run(cli, { level: toLevel(flags), name }));
  },
} satisfies CommandModule;

async function runDelete(cli: CliContext, { level, name }: SecretName): Promise<void> {
  await cli.prompts.confirm(`Delete secret ${name}?`);
  const named = { secretname: name };
  const { client } = cli;
  if (level.kind === "repository")
    await client.call(forge.deleteRepositorySecret, { params: { ...level.params, ...named } });
  else if (level.kind === "organization")
    await client.call(forge.deleteOrganizationSecret, { params: { ...level.params, ...named } });
  else if (level.kind === "user") await client.call(forge.deleteOwnSecret, { params: named });
  else await client.call(forge.deleteInstanceSecret, { params: named });
  await cli.output.done({ name }, `Deleted secret ${name}.`);
}
