import { basename, resolve } from "node:path";
import type { WireAttachment } from "../../../daemon/contract/forge/issues/attachments.ts";
import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { DryRun, usageError } from "../../errors.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { type IssueName, issueArgument } from "../../support/repository.ts";
import type { Entry } from "../../tree/entry.ts";
import { toFileName } from "../../support/file-names.ts";
import { assertFree, ONE_FILE_HINT, saveWithProgress } from "../../support/save-stream.ts";
import { openSource } from "../vault/item/send-file.ts";
import {
  type NamedContent,
  openVaultSource,
  vaultSourceOperations,
} from "../vault/vault-source.ts";
import { trackTransfer } from "../vault/item/transfer.ts";
import { command, commandDetails, type FlagValues } from "../../tree/command.ts";

const commentFlag = { "--comment <id>": "a comment of the issue instead" } as const;

const idArgument = { "<id>": "the id of the file" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the files of an issue or a comment", {
    aliases: ["ls"],
    args: issueArgument,
    flags: commentFlag,
    calls: [forge.listIssueAttachments, forge.listCommentAttachments],
    output: listOf(forge.listIssueAttachments),
    examples: [
      ["List the files of an issue", "croft issue attachment list keeper/notes#7"],
      ["List the files of a comment", "croft issue attachment list keeper/notes#7 --comment 31"],
    ],
    /** Prints the files of an issue or a comment, the oldest first. */
    async run(cli, { issue, ...flags }) {
      const options = { ...issue, ...flags };
      const { owner, repo, index, comment } = options;
      const { body } =
        comment === undefined
          ? await cli.client.call(forge.listIssueAttachments, { params: { owner, repo, index } })
          : await cli.client.call(forge.listCommentAttachments, {
              params: { owner, repo, id: comment },
            });
      await cli.output.list(wholeList(body), columns);
    },
  }),
  command("download", "Download a file of an issue or a comment", {
    args: { ...issueArgument, ...idArgument },
    flags: {
      "-o, --output <file>": "the file to write; by default the name of the attachment",
      "--force": "replace an existing file",
      ...commentFlag,
    },
    calls: [forge.getIssueAttachment, forge.getCommentAttachment, forge.downloadAttachment],
    output: shape({ path: "string", name: "string" }),
    writes: true,
    examples: [
      ["Download a file under its name", "croft issue attachment download keeper/notes#7 7"],
      [
        "Download it to another file",
        "croft issue attachment download keeper/notes#7 7 --output copy.pdf",
      ],
    ],
    /**
     * Downloads a file, which appears under its name when it is complete. The uploader chose the name, so without `--force`
     * no file is replaced. @throws CliError `conflict` when the file exists
     */
    async run(cli, { issue, ...flags }) {
      const options = { ...issue, ...flags };
      const found = await getAttachment(cli, options);
      const name = toFileName(found.name, cli.system.platform);
      const path = resolve(cli.system.workingDirectory, options.output ?? name);
      if (cli.flags.dryRun) throw new DryRun({ downloads: [{ name, path }] });
      if (!cli.flags.force) await assertFree(path, ONE_FILE_HINT);
      const { uuid } = found;
      const { stream } = await cli.client.download(forge.downloadAttachment, { params: { uuid } });
      await saveWithProgress(cli, name, stream, {
        path,
        mayReplace: cli.flags.force,
        size: found.size,
        hint: ONE_FILE_HINT,
      });
      await cli.output.done({ path, name }, `Wrote ${path}.`);
    },
  }),
  command("rename", "Rename a file of an issue or a comment", {
    args: { ...issueArgument, ...idArgument, "<name>": "its new name" },
    flags: commentFlag,
    calls: [forge.editIssueAttachment, forge.editCommentAttachment],
    output: resourceOf(forge.editIssueAttachment, 201),
    examples: [
      ["Rename a file", "croft issue attachment rename keeper/notes#7 7 minutes.pdf"],
      [
        "Show the request only",
        "croft issue attachment rename keeper/notes#7 7 minutes.pdf --dry-run",
      ],
    ],
    async run(cli, { issue, ...flags }) {
      const options = { ...issue, ...flags };
      const { owner, repo, index, comment, id: attachment, name } = options;
      const { body } =
        comment === undefined
          ? await cli.client.call(forge.editIssueAttachment, {
              params: { owner, repo, index, attachment },
              body: { name },
            })
          : await cli.client.call(forge.editCommentAttachment, {
              params: { owner, repo, id: comment, attachment },
              body: { name },
            });
      await cli.output.resource(body, columns);
    },
  }),
  command("delete", "Delete a file of an issue or a comment", {
    aliases: ["rm"],
    args: { ...issueArgument, ...idArgument },
    flags: commentFlag,
    calls: [forge.deleteIssueAttachment, forge.deleteCommentAttachment],
    output: shape({ deleted: "boolean", id: "string" }),
    destructive: true,
    examples: [
      ["Delete a file", "croft issue attachment delete keeper/notes#7 7 --yes"],
      ["Show the request only", "croft issue attachment delete keeper/notes#7 7 --dry-run"],
    ],
    async run(cli, { issue, ...flags }) {
      const options = { ...issue, ...flags };
      const { owner, repo, index, comment, id } = options;
      await cli.prompts.confirm(`Delete the file ${id}?`);
      if (comment === undefined)
        await cli.client.call(forge.deleteIssueAttachment, {
          params: { owner, repo, index, attachment: id },
        });
      else
        await cli.client.call(forge.deleteCommentAttachment, {
          params: { owner, repo, id: comment, attachment: id },
        });
      await cli.output.done({ deleted: true, id }, `Deleted the file ${id}.`);
    },
  }),
];

const columns: readonly Column<WireAttachment>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "size", cell: ({ size: bytes }) => size(bytes) },
  { header: "downloads", cell: ({ download_count: downloads }) => downloads },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "address", cell: ({ browser_download_url: address }) => address },
];

export const attachFile = commandDetails({
  args: { ...issueArgument, "<file>": "a file, or - for standard input" },
  flags: {
    "--name <name>": "another name for the file",
    "--from-vault":
      "the file is a document (its id or name) or an item (CONNECTION:/path) of the vault",
    ...commentFlag,
  },
  calls: [forge.createIssueAttachment, forge.createCommentAttachment, ...vaultSourceOperations],
  output: resourceOf(forge.createIssueAttachment, 201),
  examples: [
    ["Attach a file to an issue", "croft issue attach keeper/notes#7 report.pdf"],
    [
      "Attach standard input to a comment",
      "croft issue attach keeper/notes#7 - --name notes.md --comment 31 < notes.md",
    ],
    [
      "Attach a file of connected storage",
      "croft issue attach keeper/notes#7 Papers:/notes.md --from-vault",
    ],
  ],
  /** Uploads a file to an issue or a comment, and prints it. One of the vault is streamed from there. */
  async run(cli, { issue, ...flags }) {
    const options = { ...issue, ...flags };
    const { owner, repo, index, comment } = options;
    const { name: filename, content: source } = await openFile(cli, options);
    const progress = await cli.progress();
    const { body } = await trackTransfer(progress, filename, (shown) => {
      shown.begin(source.size);
      const form = {
        fields: {},
        fileField: "attachment",
        filename,
        contentType: "application/octet-stream",
        size: source.size,
        canRestart: source.canRestart,
        open: source.open,
        onProgress: shown.update,
      };
      return comment === undefined
        ? cli.client.upload(forge.createIssueAttachment, { params: { owner, repo, index } }, form)
        : cli.client.upload(
            forge.createCommentAttachment,
            { params: { owner, repo, id: comment } },
            form,
          );
    }).finally(() => {
      source.close?.();
      progress.finish();
    });
    await cli.output.resource(body, columns);
  },
});

async function openFile(
  cli: CliContext,
  options: { readonly file: string; readonly name?: string; readonly fromVault?: true },
): Promise<NamedContent> {
  const { file, name } = options;
  if (options.fromVault === true) {
    const found = await openVaultSource(cli, file);
    return { ...found, name: name ?? found.name };
  }
  if (file === "-" && name === undefined)
    throw usageError("standard input has no name", "give one with --name");
  const content = await openSource(cli, file);
  return { name: name ?? basename(resolve(cli.system.workingDirectory, file)), content };
}

async function getAttachment(
  cli: CliContext,
  options: IssueName & FlagValues<typeof commentFlag> & { readonly id: string },
): Promise<WireAttachment> {
  const { owner, repo, index, comment, id: attachment } = options;
  const { body } =
    comment === undefined
      ? await cli.client.call(forge.getIssueAttachment, {
          params: { owner, repo, index, attachment },
        })
      : await cli.client.call(forge.getCommentAttachment, {
          params: { owner, repo, id: comment, attachment },
        });
  return body;
}
