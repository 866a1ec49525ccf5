import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { issueLines } from "./issue-columns.ts";
import { type IssueName, readText, toIssueName } from "./issue-name.ts";

export const operations = [forge.editIssue];
export const output = resourceOf(forge.editIssue, 201);

/** What the command was given. */
export interface IssueEditOptions extends IssueName {
  readonly title?: string;
  readonly body?: string;
  readonly assign?: readonly string[];
  readonly close?: boolean;
  readonly reopen?: boolean;
}

export function define(command: Command, cli: CliContext, run = runIssueEdit): void {
  command
    .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
    .option("--title <text>", "a new title")
    .option("--body <text>", 'a new text; "-" reads standard input')
    .option("--assign <username...>", "exactly these users")
    .option("--close", "close it")
    .option("--reopen", "open it again")
    .action((given: string, options: Omit<IssueEditOptions, keyof IssueName>) =>
      run(cli, { ...toIssueName(given), ...options }),
    );
}

/** Changes an issue and prints it. */
async function runIssueEdit(cli: CliContext, options: IssueEditOptions): Promise<void> {
  const { owner, repo, index, title, body, assign, close, reopen } = options;
  if (close === true && reopen === true)
    throw usageError("--close and --reopen exclude each other");
  const changes = {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body: await readText(cli, body) }),
    ...(assign === undefined ? {} : { assignees: [...assign] }),
    ...(close === true ? { state: "closed" } : {}),
    ...(reopen === true ? { state: "open" } : {}),
  };
  if (Object.keys(changes).length === 0)
    throw new CliError("missing_input", "say what to change: --title, --body, --assign, --close");
  const { body: issue } = await cli.client.call(forge.editIssue, {
    params: { owner, repo, index },
    body: changes,
  });
  await cli.output.resource(issue, issueLines);
}
