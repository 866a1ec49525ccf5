import type { WireCommit } from "../../daemon/contract/forge/code/shapes.ts";
import type { ByteDownload } from "../client/bytes.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, resourceOf } from "../output/spec.ts";
import { repositoryArgument } from "../support/repository.ts";
import { commandDetails } from "../tree/command.ts";

const commitColumns: readonly Column<WireCommit>[] = [
  { header: "commit", cell: ({ sha }) => sha.slice(0, 10) },
  { header: "author", cell: ({ commit }) => commit.author.name },
  { header: "date", cell: ({ commit }) => time(commit.author.date) },
  { header: "message", cell: ({ commit }) => commit.message.split("\n")[0] },
];

const commitLines: readonly Column<WireCommit>[] = [
  { header: "commit", cell: ({ sha }) => sha },
  { header: "author", cell: ({ commit }) => `${commit.author.name} <${commit.author.email}>` },
  { header: "date", cell: ({ commit }) => time(commit.author.date) },
  { header: "message", cell: ({ commit }) => commit.message.trimEnd() },
  { header: "added lines", cell: ({ stats }) => stats?.additions },
  { header: "deleted lines", cell: ({ stats }) => stats?.deletions },
  { header: "files", cell: ({ files }) => files?.map(({ filename }) => filename).join(", ") },
  { header: "address", cell: ({ html_url: address }) => address },
];

export const repoLog = commandDetails({
  args: {
    ...repositoryArgument,
    "[ref]": "a branch, tag or commit; the default branch if it is not given",
  },
  flags: {
    "--path <path>": "only commits that change this file or folder",
    "--since <time>": "only commits after it, as RFC 3339",
    "--until <time>": "only commits before it, as RFC 3339",
  },
  calls: [forge.listCommits],
  output: listOf(forge.listCommits),
  examples: [
    ["List the latest commits", "croft repo log keeper/notes"],
    [
      "List the commits of a branch that change a folder",
      "croft repo log keeper/notes feature --path docs",
    ],
  ],
  /** Prints commits, newest first. */
  async run(cli, { repository, ...flags }) {
    const options = { ...repository, ...flags };
    const { owner, repo, ref: sha, path, since, until } = options;
    const input = {
      params: { owner, repo },
      query: { sha, path, since, until, stat: cli.output.isMachine, files: cli.output.isMachine },
    };
    await cli.output.list(forgePages(cli.client, forge.listCommits, input), commitColumns);
  },
});

export const repoShow = commandDetails({
  args: { ...repositoryArgument, "<ref>": "a commit, branch or tag" },
  flags: { "--diff": "print the changes", "--patch": "print it as a patch for git am" },
  calls: [forge.getCommit, forge.getCommitDiff, forge.getCommitPatch],
  output: resourceOf(forge.getCommit),
  examples: [
    ["Show the latest commit of a branch", "croft repo show keeper/notes main"],
    ["Print what a commit changes", "croft repo show keeper/notes main --diff"],
  ],
  /** Prints a commit, or its changes. */
  async run(cli, { repository, ...flags }) {
    const options = { ...repository, ...flags };
    const { owner, repo, ref: sha, diff, patch } = options;
    if (diff && patch) throw usageError("--diff and --patch exclude each other");
    const params = { owner, repo, sha };
    if (diff || patch) {
      assertNoDocument(cli);
      return printText(
        cli,
        diff
          ? await cli.client.download(forge.getCommitDiff, { params })
          : await cli.client.download(forge.getCommitPatch, { params }),
      );
    }
    const { body } = await cli.client.call(forge.getCommit, { params });
    await cli.output.resource(body, commitLines);
  },
});

export const repoCompare = commandDetails({
  args: {
    ...repositoryArgument,
    "<base...head>": "two branches, tags or commits, such as main...feature",
  },
  flags: { "--diff": "print the diff", "--patch": "print the commits as patches for git am" },
  calls: [forge.compare],
  output: listOf(forge.compare, "commits"),
  examples: [
    ["Compare two branches", "croft repo compare keeper/notes main...feature"],
    [
      "Write the commits to a file, as patches",
      "croft repo compare keeper/notes main...feature --patch > feature.patch",
    ],
  ],
  /** Prints the commits of the head that the base lacks, or the diff. */
  async run(cli, { repository: { owner, repo }, "base...head": basehead, diff, patch }) {
    if (diff && patch) throw usageError("--diff and --patch exclude each other");
    const params = { owner, repo, basehead };
    if (diff || patch) {
      assertNoDocument(cli);
      const query = { output: diff ? "diff" : "patch" };
      return printText(cli, await cli.client.download(forge.compare, { params, query }));
    }
    const { body } = await cli.client.call(forge.compare, { params });
    const { commits, total_commits: total } = body;
    if (total > commits.length) cli.io.note(`The newest ${commits.length} of ${total} commits:`);
    await cli.output.list(wholeList(commits), commitColumns);
  },
});

function assertNoDocument(cli: CliContext): void {
  if (cli.output.isMachine)
    throw usageError("--diff and --patch do not go with machine output", "the text is the output");
}

/** Prints a text line by line as it arrives, without control sequences. */
export async function printText(cli: CliContext, { stream }: ByteDownload): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    const text = rest + decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf("\n") + 1;
    rest = text.slice(end);
    if (end > 0) await cli.output.text(text.slice(0, end), undefined);
  }
  if (rest !== "") await cli.output.text(rest, undefined);
}
