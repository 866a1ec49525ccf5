import type { WireDeployKey } from "../../daemon/contract/forge/repositories/deploy-keys.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { type Column, time } from "../output/cells.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { findFirst } from "../output/pages.ts";
import { forgePages } from "../client/paging.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import { isSameKey, readKeyFile, toKeyTitle } from "../support/public-key.ts";
import {
  repositoryArgument,
  type RepositoryName,
  toRepositoryName,
  createRepositoryList,
} from "../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the deploy keys of a repository", () => listKeys, { aliases: ["ls"] }),
  verb("add", "Add a deploy key to a repository", () => addKey),
  verb("delete", "Delete a deploy key of a repository", () => deleteKey, { aliases: ["rm"] }),
];

const columns: readonly Column<WireDeployKey>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "title", cell: ({ title }) => title },
  {
    header: "type",
    cell: ({ read_only: isReadOnly }) => (isReadOnly ? "read-only" : "read-write"),
  },
  { header: "fingerprint", cell: ({ fingerprint }) => fingerprint },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

/** The keys of a repository, the oldest first. */
const listKeys = createRepositoryList(forge.listDeployKeys, columns);

export interface DeployKeyAddOptions extends RepositoryName, IfAbsentFlag {
  /** A path, or `-` for standard input. */
  readonly file: string;
  /** The file's name when absent. */
  readonly title?: string;
  readonly allowWrite?: true;
}

export const addKey = {
  operations: [forge.addDeployKey, forge.listDeployKeys],
  output: resourceOf(forge.addDeployKey, 201),
  define(command, cli, run = runAdd): void {
    addIfAbsentFlag(command)
      .argument(...repositoryArgument)
      .argument("<file>", "a file with the public key; - is standard input")
      .option("--title <title>", "a title for the key; by default the file's name")
      .option("--allow-write", "let the key push")
      .action(
        (
          repository: string,
          file: string,
          flags: Omit<DeployKeyAddOptions, "file" | keyof RepositoryName>,
        ) => run(cli, { ...toRepositoryName(repository), file, ...flags }),
      );
  },
} satisfies CommandModule;

/** Adds a key for one repository, read-only by default. */
async function runAdd(cli: CliContext, options: DeployKeyAddOptions): Promise<void> {
  const { owner, repo, file, title, allowWrite } = options;
  const params = { owner, repo };
  const key = await readKeyFile(cli, file);
  const { value } = await createIfAbsent<WireDeployKey>(cli, {
    ifAbsent: options.ifAbsent,
    title: `the deploy key of ${owner}/${repo}`,
    find: async () => {
      const pages = forgePages(cli.client, forge.listDeployKeys, { params });
      const found = await findFirst(pages, (one) => isSameKey(one.key, key));
      // The response to a creation does not repeat the repository.
      const { repository: _, ...rest } = found ?? {};
      return found && (rest as WireDeployKey);
    },
    create: async () => {
      const body = { title: title ?? toKeyTitle(file), key, read_only: allowWrite !== true };
      return (await cli.client.call(forge.addDeployKey, { params, body })).body;
    },
    settings: (existing) => [
      { flag: "--title", requested: title, existing: existing.title },
      { flag: "--allow-write", requested: allowWrite === true, existing: !existing.read_only },
    ],
  });
  await cli.output.resource(value, columns);
}

interface DeployKeyOptions extends RepositoryName {
  readonly id: string;
}

const deleteKey = {
  operations: [forge.getDeployKey, forge.deleteDeployKey],
  output: shape({ deleted: "boolean", id: "integer", title: "string" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    command
      .argument(...repositoryArgument)
      .argument("<id>", "the key's id")
      .action((repository: string, id: string) =>
        run(cli, { ...toRepositoryName(repository), id }),
      );
  },
} satisfies CommandModule;

/** Deletes a key. The API does not report an unknown key, so the key is looked up first. */
async function runDelete(cli: CliContext, { owner, repo, id }: DeployKeyOptions): Promise<void> {
  const params = { owner, repo, id };
  const { body } = await cli.client.call(forge.getDeployKey, { params });
  await cli.prompts.confirm(`Delete the deploy key ${body.title} of ${owner}/${repo}?`);
  await cli.client.call(forge.deleteDeployKey, { params });
  await cli.output.done(
    { deleted: true, id: body.id, title: body.title },
    `Deleted the deploy key ${body.title}.`,
  );
}
