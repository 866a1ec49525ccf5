import { forge } from "../../client/operations.ts";
import { usageError } from "../../errors.ts";
import { time } from "../../output/cells.ts";
import { resourceOf } from "../../output/spec.ts";
import { readTextFlags } from "../../support/input.ts";
import { findPullName, pullArgument } from "../../support/pulls.ts";
import { toIssueName } from "../../support/repository.ts";
import { commandDetails } from "../../tree/command.ts";

export const reviewPull = commandDetails({
  args: pullArgument,
  flags: {
    "-a, --approve": "approve it",
    "-r, --request-changes": "request changes",
    "-c, --comment": "comment without a verdict",
    "-b, --body <text>": 'the text, as Markdown; "-" reads standard input',
    "-F, --body-file <file>": 'a file with the text; "-" reads standard input',
  },
  calls: [forge.listPulls, forge.createReview],
  output: resourceOf(forge.createReview),
  examples: [
    ["Approve a pull request", "croft pr review keeper/notes#7 --approve"],
    [
      "Request changes",
      'croft pr review keeper/notes#7 --request-changes --body "The test is missing"',
    ],
  ],
  async run(cli, { approve, requestChanges, comment, body: text, bodyFile, ...pull }) {
    const events = [
      approve === true ? "APPROVED" : undefined,
      requestChanges === true ? "REQUEST_CHANGES" : undefined,
      comment === true ? "COMMENT" : undefined,
    ].filter((event) => event !== undefined);
    const [event] = events;
    if (event === undefined || events.length > 1)
      throw usageError("give one of --approve, --request-changes and --comment");
    const body = await readTextFlags(cli, { body: text, bodyFile });
    if (event !== "APPROVED" && (body ?? "").trim() === "")
      throw usageError("the review has no text", "give --body or --body-file");
    const params = await findPullName(cli, pull);
    const { body: review } = await cli.client.call(forge.createReview, {
      params,
      body: { event, ...(body === undefined ? {} : { body }) },
    });
    await cli.output.resource(review, [
      { header: "id", cell: ({ id }) => id },
      { header: "state", cell: ({ state }) => state },
      { header: "reviewer", cell: ({ user }) => user?.login },
      { header: "official", cell: ({ official }) => official },
      { header: "submitted", cell: ({ submitted_at: submittedAt }) => time(submittedAt) },
      { header: "address", cell: ({ html_url: address }) => address },
    ]);
  },
});

export const applySuggestions = commandDetails({
  args: {
    "<pull>": {
      help: "the pull request as OWNER/NAME#NUMBER or number",
      parse: toIssueName,
    },
    "<comments...>": { help: "the ids of the comments: croft pr view --comments", parse: toId },
  },
  flags: { "-m, --message <text>": "the message of the commit" },
  calls: [forge.applySuggestions],
  output: resourceOf(forge.applySuggestions, 201),
  examples: [
    ["Apply a suggestion", "croft pr apply keeper/notes#7 31"],
    [
      "Apply two in one commit",
      'croft pr apply keeper/notes#7 31 32 --message "Mend what the review found"',
    ],
  ],
  async run(cli, { pull: params, comments, message }) {
    const { body: commit } = await cli.client.call(forge.applySuggestions, {
      params,
      body: { comments: [...comments], ...(message === undefined ? {} : { message }) },
    });
    await cli.output.resource(commit, [{ header: "commit", cell: ({ sha }) => sha }]);
  },
});

function toId(text: string): number {
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id < 1) throw usageError(`${text} is not the id of a comment`);
  return id;
}
