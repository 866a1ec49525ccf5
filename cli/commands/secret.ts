import type { WireSecret } from "../../daemon/contract/forge/actions/secrets.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, shape } from "../output/spec.ts";
import { type ActionLevel, toLevel, levelFlags } from "../support/action-level.ts";
import { readSecret } from "../support/secrets.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const changedOutput = shape({ name: "string" });

export const entries: readonly Entry[] = [
  command("list", "List secrets, without their values", {
    aliases: ["ls"],
    flags: levelFlags,
    calls: [
      forge.listRepositorySecrets,
      forge.listOrganizationSecrets,
      forge.listOwnSecrets,
      forge.listInstanceSecrets,
    ],
    output: listOf(forge.listRepositorySecrets),
    examples: [
      ["List the secrets of a repository", "croft secret list --repo keeper/notes"],
      ["List those of an organization", "croft secret list --org acme"],
    ],
    /** Prints the secrets of a level. */
    async run(cli, flags) {
      const level = toLevel(flags);

      await cli.output.list(pagesOf(cli, level), columns);
    },
  }),
  command("set", "Create or replace a secret", {
    args: { "<name>": "the name, such as DEPLOY_KEY" },
    flags: {
      ...levelFlags,
      "--value-stdin": "read the value from standard input",
      "--description <text>": "the description",
    },
    calls: [
      forge.putRepositorySecret,
      forge.putOrganizationSecret,
      forge.putOwnSecret,
      forge.putInstanceSecret,
    ],
    output: changedOutput,
    prompted: ["--value-stdin"],
    examples: [
      [
        "Set a secret from a file",
        "croft secret set DEPLOY_KEY --repo keeper/notes --value-stdin < secret.txt",
      ],
      [
        "Set a secret for all repositories of an organization",
        "croft secret set DEPLOY_KEY --org acme --value-stdin < secret.txt",
      ],
    ],
    /** Creates or replaces a secret, whose value is read from standard input or prompted for. */
    async run(cli, { name, valueStdin = false, description, ...flags }) {
      const level = toLevel(flags);
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
    },
  }),
  command("delete", "Delete a secret", {
    aliases: ["rm"],
    args: { "<name>": "the name" },
    flags: levelFlags,
    calls: [
      forge.deleteRepositorySecret,
      forge.deleteOrganizationSecret,
      forge.deleteOwnSecret,
      forge.deleteInstanceSecret,
    ],
    output: changedOutput,
    destructive: true,
    examples: [
      [
        "Delete a secret of a repository",
        "croft secret delete DEPLOY_KEY --repo keeper/notes --yes",
      ],
      ["Show the request only", "croft secret delete DEPLOY_KEY --org acme --dry-run"],
    ],
    async run(cli, { name, ...flags }) {
      const level = toLevel(flags);
      await cli.prompts.confirm(`Delete secret ${name}?`);
      const named = { secretname: name };
      const { client } = cli;
      if (level.kind === "repository")
        await client.call(forge.deleteRepositorySecret, { params: { ...level.params, ...named } });
      else if (level.kind === "organization")
        await client.call(forge.deleteOrganizationSecret, {
          params: { ...level.params, ...named },
        });
      else if (level.kind === "user") await client.call(forge.deleteOwnSecret, { params: named });
      else await client.call(forge.deleteInstanceSecret, { params: named });
      await cli.output.done({ name }, `Deleted secret ${name}.`);
    },
  }),
];

const columns: readonly Column<WireSecret>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "description", cell: ({ description }) => description },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

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
