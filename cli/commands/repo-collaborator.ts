import { toChoice } from "../support/flag-values.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { personColumns } from "../support/person.ts";
import {
  repositoryArgument,
  type RepositoryName,
  toRepositoryName,
  createRepositoryList,
} from "../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the collaborators of a repository", () => listAll, { aliases: ["ls"] }),
  verb("view", "Show a user's permission on a repository", () => viewOne),
  verb("add", "Add a collaborator, or change the permission of one", () => addCollaborator),
  verb("remove", "Remove a collaborator", () => removeCollaborator, { aliases: ["rm"] }),
];

const userArgument = ["<username>", "the user"] as const;
const permissions: readonly string[] = ["read", "write", "admin"];

/** The collaborators, in the order in which they were added. */
const listAll = createRepositoryList(forge.listCollaborators, personColumns);

export interface CollaboratorOptions extends RepositoryName {
  readonly username: string;
}

const viewOne = {
  operations: [forge.getCollaboratorPermission],
  output: resourceOf(forge.getCollaboratorPermission),
  define(command, cli, run = runView): void {
    command
      .argument(...repositoryArgument)
      .argument(...userArgument)
      .action((repository: string, username: string) =>
        run(cli, { ...toRepositoryName(repository), username }),
      );
  },
} satisfies CommandModule;

/** Prints the permission of a user, however it was granted. */
async function runView(
  cli: CliContext,
  { owner, repo, username }: CollaboratorOptions,
): Promise<void> {
  const { body } = await cli.client.call(forge.getCollaboratorPermission, {
    params: { owner, repo, collaborator: username },
  });
  await cli.output.resource(body, [
    { header: "username", cell: ({ user }) => user.username },
    { header: "permission", cell: ({ permission }) => permission },
  ]);
}

export interface CollaboratorAddOptions extends CollaboratorOptions {
  readonly permission: string;
}

export const addCollaborator = {
  operations: [forge.putCollaborator],
  output: shape({ added: "boolean", username: "string", permission: "string" }),
  define(command, cli, run = runAdd): void {
    command
      .argument(...repositoryArgument)
      .argument(...userArgument)
      .option("--permission <permission>", "read, write or admin", "write")
      .action((repository: string, username: string, { permission }: { permission: string }) => {
        toChoice("--permission", permissions, permission);
        return run(cli, { ...toRepositoryName(repository), username, permission });
      });
  },
} satisfies CommandModule;

/** Adds a collaborator, or changes the permission of one. */
async function runAdd(cli: CliContext, options: CollaboratorAddOptions): Promise<void> {
  const { owner, repo, username, permission } = options;
  await cli.client.call(forge.putCollaborator, {
    params: { owner, repo, collaborator: username },
    body: { permission },
  });
  await cli.output.done(
    { added: true, username, permission },
    `${username} is a collaborator of ${owner}/${repo} with the permission ${permission}.`,
  );
}

export const removeCollaborator = {
  operations: [forge.deleteCollaborator],
  output: shape({ removed: "boolean", username: "string" }),
  destructive: true,
  define(command, cli, run = runRemove): void {
    command
      .argument(...repositoryArgument)
      .argument(...userArgument)
      .action((repository: string, username: string) =>
        run(cli, { ...toRepositoryName(repository), username }),
      );
  },
} satisfies CommandModule;

async function runRemove(
  cli: CliContext,
  { owner, repo, username }: CollaboratorOptions,
): Promise<void> {
  await cli.prompts.confirm(`Remove ${username} from ${owner}/${repo}?`);
  await cli.client.call(forge.deleteCollaborator, {
    params: { owner, repo, collaborator: username },
  });
  await cli.output.done(
    { removed: true, username },
    `${username} is not a collaborator of ${owner}/${repo}.`,
  );
}
