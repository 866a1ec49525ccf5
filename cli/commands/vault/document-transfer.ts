import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { z } from "zod";
import type { document as documentSchema } from "../../../daemon/contract/vault/documents.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun, usageError } from "../../errors.ts";
import type { Progress } from "../../output/progress.ts";
import { oneOrList, shapeOrList } from "../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../support/batch.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import { assertRawOutput, writeRaw } from "../../support/raw-output.ts";
import { assertWaitFlags, waitUntilEnded, waitFlags } from "../../support/wait.ts";
import { documentLines, describeMissingText } from "./document-columns.ts";
import { createFileNames, partSuffix } from "../../support/file-names.ts";
import { assertFree, ONE_FILE_HINT, saveStream } from "../../support/save-stream.ts";
import { type Content, openSource } from "./item/send-file.ts";
import { isResumed, uploadDocumentResumably } from "./item/resume-upload.ts";
import { trackTransfer, withRetries } from "./item/transfer.ts";
import { commandDetails } from "../../tree/command.ts";

type WireDocument = z.output<typeof documentSchema>;

export const uploadDocument = commandDetails({
  args: { "<files...>": "files, or - for standard input" },
  flags: {
    ...waitFlags("wait until its text is extracted and classified"),
    "--name <name>": "the name of a single document; the file's own by default",
    "-r, --recursive": "also upload the files of folders",
    "--if-absent": "skip files whose content is already one of your documents",
  },
  calls: [
    vault.uploadDocument,
    vault.beginDocumentUpload,
    vault.appendDocumentUpload,
    vault.completeDocumentUpload,
    vault.getDocument,
    vault.listDocuments,
  ],
  output: oneOrList(vault.uploadDocument, resultFields, 201),
  examples: [
    ["Upload a document", "croft vault document upload report.pdf"],
    ["Upload a folder", "croft vault document upload photos -r"],
    [
      "Upload standard input under a name",
      "croft vault document upload - --name notes.md < notes.md",
    ],
    [
      "Print the topics once it is classified",
      "croft vault document upload report.pdf --wait --timeout 5m --jq '.topics[]'",
    ],
    [
      "In a script that may run again: only the new files of a folder",
      "croft vault document upload photos -r --if-absent",
    ],
  ],
  /**
   * Uploads files, one after the other, and prints the documents; with `--if-absent` the existing ones of equal bytes. Their texts are extracted afterwards, in the background. If
   * some of several fail, the exit code is `partial`.
   */
  async run(cli, options) {
    assertWaitFlags(options);
    const { files, name, wait, timeout, ifAbsent } = options;
    const paths = options.recursive === true ? await listFiles(cli, files) : files;
    const [first = ""] = paths;
    const isBatch = files.length > 1 || options.recursive === true;
    if (isBatch && name !== undefined) throw usageError("--name goes with one file");
    if (paths.includes("-") && name === undefined)
      throw usageError("standard input has no name", "give one with --name, and no other file");
    const progress = await cli.progress();
    const calling = isBatch ? withRetries(cli, progress) : cli;
    const send = async (path: string, filename: string, source: Content) => {
      const existing = ifAbsent === true ? await findUploaded(calling, path, source) : undefined;
      if (existing !== undefined) return existing;
      const made = await ((await isResumed(calling, path))
        ? trackTransfer(progress, filename, (shown) =>
            uploadDocumentResumably(calling, { source: path, filename }, shown),
          )
        : sendDocument(calling, source, filename, progress).then(({ body }) => body));
      return wait === true ? waitForDocument(calling, made.id, timeout) : made;
    };
    const upload = async (path: string) => {
      const filename = name ?? basename(resolve(cli.system.workingDirectory, path));
      const source = await openSource(calling, path);
      // A pipe is read once, and its hash must be known before its bytes are sent.
      if (ifAbsent === true && !source.canRestart)
        return withSpooled(calling, source, (spooled) => send(path, filename, spooled));
      return send(path, filename, source);
    };
    if (!isBatch) {
      const made = await upload(first).finally(() => progress.finish());
      return cli.output.resource(made, documentLines);
    }
    const outcomes = await runBatch(paths, upload).finally(() => progress.finish());
    await finishBatch(cli, outcomes, "uploaded", [
      { header: "file", cell: ({ item }) => item },
      { header: "id", cell: ({ id }) => id },
      { header: "error", cell: ({ error }) => error?.message },
    ]);
  },
});

/** Returns the caller's newest document with the bytes of a file. */
async function findUploaded(
  cli: CliContext,
  path: string,
  source: Content,
): Promise<WireDocument | undefined> {
  const hash = createHash("sha256");
  await pipeline(source.open(), hash, { signal: cli.signal });
  const query = { sha256: hash.digest("hex"), per_page: 1 };
  const [found] = (await cli.client.call(vault.listDocuments, { query })).body.items;
  if (found === undefined) return undefined;
  cli.io.note(`${path} is the document ${found.filename} already; nothing was uploaded.`);
  return (await cli.client.call(vault.getDocument, { params: { document_id: found.id } })).body;
}

/**
 * Waits until a document's text is extracted and classified. @throws CliError `task_failed` when the classification
 * failed, `not_finished` after the timeout
 */
export async function waitForDocument(cli: CliContext, id: string, timeout: number | undefined) {
  const read = async () =>
    (await cli.client.call(vault.getDocument, { params: { document_id: id } })).body;
  const ended = await waitUntilEnded(cli, {
    title: `document ${id}`,
    timeout,
    read,
    stateOf: ({ status }) => status,
    hasEnded: ({ status }) => status === "ready" || status === "classification_failed",
    lookWith: `croft vault document view ${id}`,
  });
  if (ended.status === "ready") return ended;
  const missing = describeMissingText(ended.status_reason, ended.extracted_text);
  throw new CliError(
    "task_failed",
    `the classification of document ${id} failed${missing === undefined ? "" : ` (missing text: ${missing})`}`,
    { service: "vault", hint: `"croft vault document classify ${id}" tries again` },
  );
}

const downloadedFields = { id: "string", path: "string", size: "integer" } as const;

export const downloadDocuments = commandDetails({
  args: { "<ids...>": "documents: their ids, or names that only one has" },
  flags: {
    "-o, --output <file>": "a file, a folder, or - for standard output",
    "--version-number <number>": {
      help: "an earlier content of a document of yours, by its number",
      parse: toVersionNumber,
    },
    "--force": "replace existing files",
  },
  calls: [
    ...findDocumentOperations,
    vault.getDocument,
    vault.getDocumentContent,
    vault.listDocumentVersions,
    vault.getDocumentVersionContent,
  ],
  output: shapeOrList(downloadedFields, {
    ...resultFields,
    id: "string?",
    path: "string?",
    size: "integer?",
  }),
  writes: true,
  completions: { ids: "documents" },
  examples: [
    [
      "Download a document under its name",
      "croft vault document download 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8",
    ],
    [
      "Download it to a file",
      "croft vault document download 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 -o copy.pdf",
    ],
    [
      "Download an earlier content",
      "croft vault document download 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --version-number 2 -o old.pdf",
    ],
    [
      "Download several to a folder",
      "croft vault document download 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 01912d4c-77aa-7cc4-9c2e-0123456789ab -o papers",
    ],
  ],
  /** Downloads documents, one after the other. If some of several fail, the exit code is `partial`. */
  async run(cli, { ids, output, versionNumber: version }) {
    const [first = ""] = ids;
    const isBatch = ids.length > 1;
    if (isBatch && version !== undefined)
      throw usageError("--version-number goes with one document");
    if (output === "-") {
      if (isBatch) throw usageError("standard output takes one document");
      return printDocument(cli, first, version);
    }
    const path = resolve(cli.system.workingDirectory, output ?? ".");
    const isNewFolder = isBatch && output !== undefined;
    if (isNewFolder && !cli.flags.dryRun) await mkdir(path, { recursive: true });
    const isFolder = await stat(path).then(
      (stats) => stats.isDirectory(),
      // Not a folder: a file to write. Any other problem is reported when it is written.
      () => isNewFolder,
    );
    const progress = await cli.progress();
    const calling = isBatch ? withRetries(cli, progress) : cli;
    const names = createFileNames(cli.system.platform);
    // A vault may hold several documents of one name, a folder one file.
    const pathOf = (name: string) => (isFolder ? join(path, ...names.takeAll([name])) : path);
    const download = (word: string) => saveDocument(calling, word, { pathOf, progress, version });
    if (!isBatch) {
      const saved = await download(first).finally(() => progress.finish());
      return cli.output.done(saved, `Downloaded ${saved.path}.`);
    }
    const outcomes = await runBatch(ids, download).finally(() => progress.finish());
    await finishBatch(cli, outcomes, "downloaded", [
      { header: "document", cell: ({ item }) => item },
      { header: "path", cell: ({ path: saved }) => saved },
      { header: "error", cell: ({ error }) => error?.message },
    ]);
  },
});

async function printDocument(
  cli: CliContext,
  word: string,
  version: number | undefined,
): Promise<void> {
  const id = await findDocumentId(cli, word, { received: true });
  if (cli.flags.dryRun) throw new DryRun({ downloads: [{ document: id, path: "-" }] });
  assertRawOutput(cli, {
    what: "--output -",
    instead: "--output FILE writes a file, --force does it anyway",
  });
  const { stream } = await openContent(cli, id, version);
  await writeRaw(cli, stream);
}

function openContent(cli: CliContext, id: string, version: number | undefined) {
  if (version === undefined)
    return cli.client.download(vault.getDocumentContent, { params: { document_id: id } });
  const params = { document_id: id, number: String(version) };
  return cli.client.download(vault.getDocumentVersionContent, { params });
}

/** Returns size and hash of a content of a document. @throws CliError `not_found` */
async function findVersion(cli: CliContext, id: string, number: number) {
  for (let page = 1; ; page += 1) {
    const query = { page, per_page: 100 };
    const { items } = (
      await cli.client.call(vault.listDocumentVersions, { params: { document_id: id }, query })
    ).body;
    const found = items.find((version) => version.number === number);
    if (found !== undefined) return found;
    if (items.length < query.per_page)
      throw new CliError("not_found", `the document has no version ${number}`, {
        service: "vault",
        hint: `"croft vault document versions ${id}" lists them`,
      });
  }
}

/** @throws CliError `usage` */
export function toVersionNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usageError(`${JSON.stringify(text)} is not the number of a version`);
}

/** Writes a document's bytes to a file, which appears under its name when it is complete. */
async function saveDocument(
  cli: CliContext,
  word: string,
  to: {
    readonly pathOf: (filename: string) => string;
    readonly progress: Progress;
    readonly version: number | undefined;
  },
) {
  const id = await findDocumentId(cli, word, { received: true });
  const input = { params: { document_id: id } };
  const { body } = await cli.client.call(vault.getDocument, input);
  const { sha256, size_bytes: size } =
    to.version === undefined ? body : await findVersion(cli, id, to.version);
  const path = to.pathOf(body.filename);
  if (cli.flags.dryRun) throw new DryRun({ downloads: [{ document: id, path, size }] });
  if (!cli.flags.force) await assertFree(path, ONE_FILE_HINT);
  await trackTransfer(to.progress, body.filename, async (shown) => {
    const { stream } = await openContent(cli, id, to.version);
    shown.begin(size);
    await saveStream(cli, stream, {
      path,
      mayReplace: cli.flags.force,
      hint: ONE_FILE_HINT,
      sha256,
      size,
      mode: 0o600,
      onProgress: shown.update,
    });
  });
  return { id, path, size };
}

/**
 * Returns the files, and those in folders at any depth, in order. Links, devices and part files in folders are left out.
 */
async function listFiles(cli: CliContext, words: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const word of words) {
    const path = resolve(cli.system.workingDirectory, word);
    const isFolder = await stat(path).then(
      (stats) => stats.isDirectory(),
      // The upload reports a missing file.
      () => false,
    );
    if (!isFolder) {
      found.push(word);
      continue;
    }
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    // A part file is the rest of an interrupted download.
    const inside = entries.filter((entry) => entry.isFile() && !entry.name.endsWith(partSuffix));
    const paths = inside.map((entry) => join(entry.parentPath, entry.name)).toSorted();
    for (const each of paths) found.push(each);
  }
  if (found.length === 0) throw usageError(`${words.join(", ")} has no files`);
  return found;
}

/** Calls `use` with a temporary file that has the bytes of a pipe, and removes it afterwards. */
async function withSpooled<T>(
  cli: CliContext,
  source: Content,
  use: (spooled: Content) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "croft-upload-"));
  const path = join(folder, "bytes");
  try {
    await saveStream(cli, source.open(), { path, mayReplace: false, mode: 0o600 });
    return await use(await openSource(cli, path));
  } finally {
    source.close?.();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Uploads a document from any source. */
export function sendDocument(
  cli: CliContext,
  source: Content,
  filename: string,
  progress: Progress,
) {
  return trackTransfer(progress, filename, (shown) => {
    shown.begin(source.size);
    return cli.client.upload(
      vault.uploadDocument,
      {},
      {
        fields: { filename },
        fileField: "file",
        filename,
        contentType: "application/octet-stream",
        size: source.size,
        canRestart: source.canRestart,
        open: source.open,
        onProgress: shown.update,
      },
    );
  }).finally(() => source.close?.());
}
