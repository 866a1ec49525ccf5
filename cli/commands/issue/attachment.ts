import { basename, resolve } from "node:path";
import type { WireAttachment } from "../../../daemon/contract/forge/issues/attachments.ts";
import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { DryRun, usageError } from "../../errors.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { type IssueName, toIssueName } from "../../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { toFileName } from "../../support/file-names.ts";
import { assertFree, ONE_FILE_HINT, saveStream } from "../../support/save-stream.ts";
import { openSource } from "../vault/item/send-file.ts";
import { trackTransfer } from "../vault/item/transfer.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the files of an issue or a comment", () => listAttachments, {
    aliases: ["ls"],
  }),
  verb("download", "Download a file of an issue or a comment", () => downloadAttachment),
  verb("rename", "Rename a file of an issue or a comment", () => renameAttachment),
  verb("delete", "Delete a file of an issue or a comment", () => deleteAttachment, {
    aliases: ["rm"],
  }),
];

const issueArgument = ["<issue>", "the issue as OWNER/NAME#NUMBER"] as const;
const idArgument = ["<id>", "the id of the file"] as const;
const commentFlag = ["--comment <id>", "a comment of the issue instead"] as const;

interface ParentFlags {
  /** The id of a comment. */
  readonly comment?: string;
}

type ParentOptions = IssueName & ParentFlags;

const columns: readonly Column<WireAttachment>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "size", cell: ({ size: bytes }) => size(bytes) },
  { header: "downloads", cell: ({ download_count: downloads }) => downloads },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "address", cell: ({ browser_download_url: address }) => address },
];

export interface AttachOptions extends ParentOptions {
  /** A path, or `-` for standard input. */
  readonly file: string;
  readonly name?: string;
}

export const attachFile = {
  operations: [forge.createIssueAttachment, forge.createCommentAttachment],
  output: resourceOf(forge.createIssueAttachment, 201),
  define(command, cli, run = runAttach): void {
    command
      .argument(...issueArgument)
      .argument("<file>", "a file, or - for standard input")
      .option("--name <name>", "another name for the file")
      .option(...commentFlag)
      .action((issue: string, file: string, flags: ParentFlags & { readonly name?: string }) =>
        run(cli, { ...toIssueName(issue), file, ...flags }),
      );
  },
} satisfies CommandModule;

/** Uploads a file to an issue or a comment, and prints it. */
async function runAttach(cli: CliContext, options: AttachOptions): Promise<void> {
  const { owner, repo, index, comment, file, name } = options;
  if (file === "-" && name === undefined)
    throw usageError("standard input has no name", "give one with --name");
  const filename = name ?? basename(resolve(cli.system.workingDirectory, file));
  const source = await openSource(cli, file);
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
}

const listAttachments = {
  operations: [forge.listIssueAttachments, forge.listCommentAttachments],
  output: listOf(forge.listIssueAttachments),
  define(command, cli, run = runList): void {
    command
      .argument(...issueArgument)
      .option(...commentFlag)
      .action((issue: string, flags: ParentFlags) => run(cli, { ...toIssueName(issue), ...flags }));
  },
} satisfies CommandModule;

/** Prints the files of an issue or a comment, the oldest first. */
async function runList(cli: CliContext, options: ParentOptions): Promise<void> {
  const { owner, repo, index, comment } = options;
  const { body } =
    comment === undefined
      ? await cli.client.call(forge.listIssueAttachments, { params: { owner, repo, index } })
      : await cli.client.call(forge.listCommentAttachments, {
          params: { owner, repo, id: comment },
        });
  await cli.output.list(wholeList(body), columns);
}

interface FileOptions extends ParentOptions {
  readonly id: string;
}

interface DownloadOptions extends FileOptions {
  readonly output?: string;
}

const downloadAttachment = {
  operations: [forge.getIssueAttachment, forge.getCommentAttachment, forge.downloadAttachment],
  output: shape({ path: "string", name: "string" }),
  writes: true,
  define(command, cli, run = runDownload): void {
    command
      .argument(...issueArgument)
      .argument(...idArgument)
      .option("-o, --output <file>", "the file to write; by default the name of the attachment")
      .option("--force", "replace an existing file")
      .option(...commentFlag)
      .action((issue: string, id: string, flags: Omit<DownloadOptions, keyof IssueName | "id">) =>
        run(cli, { ...toIssueName(issue), id, ...flags }),
      );
  },
} satisfies CommandModule;

/**
 * Downloads a file, which appears under its name when it is complete. The uploader chose the name, so without `--force`
 * no file is replaced. @throws CliError `conflict` when the file exists
 */
async function runDownload(cli: CliContext, options: DownloadOptions): Promise<void> {
  const found = await getAttachment(cli, options);
  const name = toFileName(found.name, cli.system.platform);
  const path = resolve(cli.system.workingDirectory, options.output ?? name);
  if (cli.flags.dryRun) throw new DryRun({ downloads: [{ name, path }] });
  if (!cli.flags.force) await assertFree(path, ONE_FILE_HINT);
  const { uuid } = found;
  const { stream } = await cli.client.download(forge.downloadAttachment, { params: { uuid } });
  await saveStream(cli, stream, {
    path,
    mayReplace: cli.flags.force,
    size: found.size,
    hint: ONE_FILE_HINT,
  });
  await cli.output.done({ path, name }, `Wrote ${path}.`);
}

async function getAttachment(cli: CliContext, options: FileOptions): Promise<WireAttachment> {
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

interface RenameOptions extends FileOptions {
  readonly name: string;
}

const renameAttachment = {
  operations: [forge.editIssueAttachment, forge.editCommentAttachment],
  output: resourceOf(forge.editIssueAttachment, 201),
  define(command, cli, run = runRename): void {
    command
      .argument(...issueArgument)
      .argument(...idArgument)
      .argument("<name>", "its new name")
      .option(...commentFlag)
      .action((issue: string, id: string, name: string, flags: ParentFlags) =>
        run(cli, { ...toIssueName(issue), id, name, ...flags }),
      );
  },
} satisfies CommandModule;

async function runRename(cli: CliContext, options: RenameOptions): Promise<void> {
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
}

const deleteAttachment = {
  operations: [forge.deleteIssueAttachment, forge.deleteCommentAttachment],
  output: shape({ deleted: "boolean", id: "string" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    command
      .argument(...issueArgument)
      .argument(...idArgument)
      .option(...commentFlag)
      .action((issue: string, id: string, flags: ParentFlags) =>
        run(cli, { ...toIssueName(issue), id, ...flags }),
      );
  },
} satisfies CommandModule;

async function runDelete(cli: CliContext, options: FileOptions): Promise<void> {
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
}
