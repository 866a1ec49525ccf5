import type { Command } from "commander";
import type {
  acceptTransfer as acceptTransferEndpoint,
  rejectTransfer as rejectTransferEndpoint,
  transferRepository as transferRepositoryEndpoint,
} from "../../../daemon/contract/forge/repositories/transfers.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { repositoryLines } from "./repo-columns.ts";
import { type RepositoryName, toRepositoryName } from "./repo-name.ts";

const transferRepository = operation<typeof transferRepositoryEndpoint>(
  "forge.repos.transfer.start",
  "POST",
  "/api/v1/repos/:owner/:repo/transfer",
);
const acceptTransfer = operation<typeof acceptTransferEndpoint>(
  "forge.repos.transfer.accept",
  "POST",
  "/api/v1/repos/:owner/:repo/transfer/accept",
);
const rejectTransfer = operation<typeof rejectTransferEndpoint>(
  "forge.repos.transfer.reject",
  "POST",
  "/api/v1/repos/:owner/:repo/transfer/reject",
);

export const operations = [transferRepository, acceptTransfer, rejectTransfer];
export const output = resourceOf(acceptTransfer, 202);

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
        ? await cli.client.call(rejectTransfer, { params })
        : await cli.client.call(acceptTransfer, { params });
    return cli.output.resource(body, repositoryLines);
  }
  if (newOwner === undefined)
    throw new CliError("missing_input", "name the new owner, or give --accept or --reject");
  const { status, body } = await cli.client.call(transferRepository, {
    params,
    body: { new_owner: newOwner },
  });
  if (status === 201) cli.io.note(`${newOwner} must accept it: croft repo transfer --accept`);
  await cli.output.resource(body, repositoryLines);
}
