import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { repositoryLines } from "./repo-columns.ts";
import { type RepositoryName, toRepositoryName } from "./repo-name.ts";

export const operations = [forge.transferRepository, forge.acceptTransfer, forge.rejectTransfer];
export const output = resourceOf(forge.acceptTransfer, 202);

/** What the command was given. */
export interface RepoTransferOptions extends RepositoryName {
  readonly newOwner?: string;
  readonly accept?: true;
  readonly reject?: true;
}

export function define(command: Command, cli: CliContext, run = runRepoTransfer): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .argument("[new-owner]", "the user or organization that gets it, or is offered it")
    .option("--accept", "take what is offered to you")
    .option("--reject", "reject what is offered to you, or take your own offer back")
    .action(
      (
        given: string,
        newOwner: string | undefined,
        options: Pick<RepoTransferOptions, "accept" | "reject">,
      ) =>
        run(cli, {
          ...toRepositoryName(given),
          ...(newOwner === undefined ? {} : { newOwner }),
          ...options,
        }),
    );
}

/** Gives a repository to another owner, or answers an offer, and prints the repository as it is then. */
async function runRepoTransfer(
  cli: CliContext,
  { owner, repo, newOwner, accept, reject }: RepoTransferOptions,
): Promise<void> {
  const params = { owner, repo };
  if ([newOwner, accept, reject].filter((each) => each !== undefined).length > 1)
    throw usageError("a new owner, --accept and --reject exclude each other");
  if (accept !== undefined || reject !== undefined) {
    const { body } =
      accept === undefined
        ? await cli.client.call(forge.rejectTransfer, { params })
        : await cli.client.call(forge.acceptTransfer, { params });
    return cli.output.resource(body, repositoryLines);
  }
  if (newOwner === undefined)
    throw new CliError("missing_input", "name the new owner, or give --accept or --reject");
  const { status, body } = await cli.client.call(forge.transferRepository, {
    params,
    body: { new_owner: newOwner },
  });
  if (status === 201) cli.io.note(`${newOwner} must accept it: croft repo transfer --accept`);
  await cli.output.resource(body, repositoryLines);
}
