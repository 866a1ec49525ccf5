import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { addValue, findMilestoneId, issueLines, toDueDate } from "../../support/issues.ts";
import { findIssueLabelIds } from "../../support/labels.ts";
import { readText, type RepositoryName, toRepositoryName } from "../../support/repository.ts";
import type { CommandModule } from "../../tree/entry.ts";

interface IssueCreateOptions extends RepositoryName {
  readonly title: string;
  readonly body?: string;
  readonly assign?: readonly string[];
  readonly label?: readonly string[];
  readonly milestone?: string;
  readonly due?: string;
}

export const createIssue = {
  operations: [forge.createIssue, forge.listLabels, forge.listOrgLabels, forge.getMilestone],
  output: resourceOf(forge.createIssue, 201),
  define(command, cli, run = runIssueCreate): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .requiredOption("--title <text>", "what it is about")
      .option("--body <text>", 'its text, as Markdown; "-" reads standard input')
      .option("--assign <username...>", "assign these users")
      .option("--label <name>", "add this label; may be repeated", addValue)
      .option("--milestone <title>", "put it into this milestone")
      .option("--due <date>", "the last day, such as 2026-12-31", toDueDate)
      .action((given: string, options: Omit<IssueCreateOptions, keyof RepositoryName>) =>
        run(cli, { ...toRepositoryName(given), ...options }),
      );
  },
} satisfies CommandModule;

/** Opens an issue and prints it. */
async function runIssueCreate(cli: CliContext, options: IssueCreateOptions): Promise<void> {
  const { owner, repo, title, body, assign, label, milestone, due } = options;
  const params = { owner, repo };
  const { body: issue } = await cli.client.call(forge.createIssue, {
    params,
    body: {
      title,
      ...(body === undefined ? {} : { body: await readText(cli, body) }),
      ...(assign === undefined ? {} : { assignees: [...assign] }),
      ...(label === undefined ? {} : { labels: await findIssueLabelIds(cli, params, label) }),
      ...(milestone === undefined
        ? {}
        : { milestone: await findMilestoneId(cli, params, milestone) }),
      ...(due === undefined ? {} : { due_date: due }),
    },
  });
  await cli.output.resource(issue, issueLines);
}
