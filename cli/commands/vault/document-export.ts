import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, extname, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { z } from "zod";
import type { document as documentSchema } from "../../../daemon/contract/vault/documents.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun } from "../../errors.ts";
import type { Progress } from "../../output/progress.ts";
import { size as sizeCell } from "../../output/cells.ts";
import { readPages } from "../../output/pages.ts";
import { unpagedList } from "../../output/spec.ts";
import { finishBatch, resultFields, runTasks } from "../../support/batch.ts";
import { createFileNames } from "../../support/file-names.ts";
import { asObject, parseObject } from "../../support/json.ts";
import { createPartFolders, type PartFolders } from "../../support/part-files.ts";
import { codeOf, lstatIfThere, saveStream } from "../../support/save-stream.ts";
import { commandDetails } from "../../tree/command.ts";
import { trackTransfer, withRetries } from "./item/transfer.ts";

type WireDocument = Omit<z.output<typeof documentSchema>, "extracted_text">;

/** The file of an export that has the data of its documents. */
export const exportFile = "croft-documents.json";
export const exportFormat = "croft-documents";

/** A document in the file of an export. Paths are relative to it, with slashes. */
export interface ExportedDocument {
  readonly file: string;
  readonly id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly sha256: string;
  /** Confidence and reason are those of the classifier, for the topic that it chose. */
  readonly topics: readonly {
    readonly name: string;
    readonly confidence: number | null;
    readonly reason: string | null;
  }[];
  readonly created_at: string;
  readonly updated_at: string;
  readonly shares: readonly { readonly recipient: string; readonly permission: string }[];
  readonly versions?: readonly {
    readonly number: number;
    readonly file: string;
    readonly size_bytes: number;
    readonly sha256: string;
    readonly created_at: string;
  }[];
}

/** The folder of documents without a topic. */
const NO_TOPIC = "Without topic";
/** Names are made for the strictest file systems, so that an export can be copied to any. */
const STRICT = "win32";
const FETCHES_AT_ONCE = 4;

export const exportDocuments = commandDetails({
  args: { "<folder>": "the folder of the export, created when it is missing" },
  flags: {
    "--versions": "also the earlier contents of each document",
    "--force": "replace files of other bytes that are in the way",
  },
  calls: [
    vault.listDocuments,
    vault.listTopics,
    vault.listShares,
    vault.getDocumentContent,
    vault.listDocumentVersions,
    vault.getDocumentVersionContent,
  ],
  output: unpagedList({
    ...resultFields,
    id: "string?",
    size: "integer?",
    state: { enum: ["fetched", "present", null] },
  }),
  writes: true,
  examples: [
    ["Export all of your documents", "croft vault document export papers"],
    [
      "Export them with their earlier contents, and print what failed",
      "croft vault document export papers --versions --jq '.[] | select(.error)'",
    ],
  ],
  note: [
    `Documents are in a folder of their first topic; ${exportFile} has all topics, hashes, times`,
    "and shares. Files that are there with the right hash are not fetched again, so an interrupted",
    "export is completed by the same command. A file that you have changed is replaced by --force only.",
  ].join("\n"),
  /** Writes the caller's documents to a folder. If some fail, the exit code is `partial`. */
  async run(cli, { folder, versions = false }) {
    const root = resolve(cli.system.workingDirectory, folder);
    const progress = await cli.progress();
    const calling = withRetries(cli, progress);
    const { documents, topics } = await plan(calling, versions);
    if (cli.flags.dryRun) {
      progress.finish();
      throw new DryRun({
        folder: root,
        downloads: documents.flatMap((document) =>
          [document, ...(document.versions ?? [])].map((each) => ({
            path: each.file,
            size: each.size_bytes,
          })),
        ),
      });
    }
    const previous = await readPrevious(root);
    await mkdir(root, { recursive: true, mode: 0o700 });
    for (const document of documents)
      for (const file of [document, ...(document.versions ?? [])]) progress.expect(file.size_bytes);
    progress.expectNoMore();
    const isOurs = async (file: string) => {
      const hash = previous.hashes.get(file);
      return hash !== undefined && hasHash(join(root, file), hash);
    };
    const target = { root, progress, isOurs, parts: createPartFolders() };
    const tasks = documents.map((document) => ({
      item: document.file,
      run: () => fetchDocument(calling, document, target),
    }));
    const outcomes = await runTasks(tasks, FETCHES_AT_ONCE)
      .catch((error: unknown) => {
        if (!(error instanceof DryRun) && !cli.output.isMachine)
          cli.io.note("The export is not complete. The same command fetches the rest.");
        throw error;
      })
      .finally(() => progress.finish());
    const failed = new Set(outcomes.flatMap(({ item, failure }) => (failure ? [item] : [])));
    // What could not be fetched again is still there, as it was described.
    const written = documents.flatMap((each) =>
      failed.has(each.file) ? (previous.documents.get(each.file) ?? []) : each,
    );
    const data = { format: exportFormat, version: 1, topics, documents: written };
    await writeData(cli, root, data);
    await finishBatch(cli, outcomes, "exported", [
      { header: "file", cell: ({ item }) => item },
      { header: "size", cell: ({ size }) => sizeCell(size) },
      { header: "state", cell: ({ state }) => state },
      { header: "error", cell: ({ error }) => error?.message },
    ]);
  },
});

interface Target {
  readonly root: string;
  readonly progress: Progress;
  /** Whether an earlier export wrote the file and nobody has changed it since, so that it may be replaced. */
  readonly isOurs: (file: string) => Promise<boolean>;
  readonly parts: PartFolders;
}

/** Reads all documents and gives each its path: the same for the same documents, in whatever order they were uploaded. */
async function plan(cli: CliContext, withVersions: boolean) {
  const listed = await collect(cli, vaultPages(cli.client, vault.listDocuments, { query: {} }));
  const shares = await collect(cli, vaultPages(cli.client, vault.listShares, { query: {} }));
  const { items: topics } = (await cli.client.call(vault.listTopics)).body;
  const byDocument = Map.groupBy(shares, ({ document_id: id }) => id);
  const folders = nameFolders(listed);
  const names = new Map<string, ReturnType<typeof createFileNames>>();
  const documents: ExportedDocument[] = [];
  for (const document of listed.toSorted(byNameAndBytes)) {
    const folder = folders.get(document.topics[0]) ?? "";
    const taken = names.get(folder) ?? createFileNames(STRICT);
    names.set(folder, taken);
    const name = taken.takeAll([document.filename])[0] ?? "_";
    const file = `${folder}/${name}`;
    const shared = (byDocument.get(document.id) ?? []).map((share) => ({
      recipient: share.recipient_handle,
      permission: share.permission,
    }));
    const versions = withVersions ? await listEarlier(cli, document.id) : undefined;
    // Another document may have the name of the folder, or a name that is cut to the same one.
    const place = versions?.length ? taken.takeAll([`${name}.versions`])[0] : undefined;
    const earlier = versions?.map((version) => ({
      ...version,
      file: `${folder}/${place}/${version.number}${extname(name)}`,
    }));
    documents.push({
      ...toExported(document, file),
      shares: shared.toSorted((a, b) => compare(a.recipient, b.recipient)),
      ...(earlier === undefined ? {} : { versions: earlier }),
    });
  }
  const used = new Set(listed.flatMap((document) => document.topics));
  return {
    documents,
    topics: topics
      .filter(({ name, is_system: isSystem }) => !isSystem || used.has(name))
      .map(({ name, description }) => ({ name, description }))
      .toSorted((a, b) => compare(a.name, b.name)),
  };
}

async function collect<T>(
  cli: CliContext,
  source: Parameters<typeof readPages<T>>[0],
): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const { items } of readPages(source, {
    page: undefined,
    limit: undefined,
    all: true,
  })) {
    cli.signal.throwIfAborted();
    all.push(...items);
  }
  return all;
}

/** Returns the folder of each first topic, and that of no topic. The name of the data file is taken. */
function nameFolders(documents: readonly WireDocument[]): ReadonlyMap<string | undefined, string> {
  const topics = [...new Set(documents.flatMap(({ topics: [first] }) => first ?? []))];
  const names = createFileNames(STRICT);
  names.takeAll([exportFile]);
  const sorted = topics.toSorted(compare);
  const folders = names.takeAll([...sorted, NO_TOPIC]);
  return new Map([...sorted, undefined].map((topic, index) => [topic, folders[index] ?? "_"]));
}

const byNameAndBytes = (a: WireDocument, b: WireDocument): number =>
  compare(a.filename, b.filename) || compare(a.sha256, b.sha256) || compare(a.id, b.id);

/** Compares by code units, the same on every machine. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function toExported(document: WireDocument, file: string): Omit<ExportedDocument, "shares"> {
  const { classification } = document;
  return {
    file,
    id: document.id,
    filename: document.filename,
    content_type: document.content_type,
    size_bytes: document.size_bytes,
    sha256: document.sha256,
    topics: document.topics.map((name) =>
      classification?.topic === name
        ? { name, confidence: classification.confidence, reason: classification.words.join(", ") }
        : { name, confidence: null, reason: null },
    ),
    created_at: document.created_at,
    updated_at: document.updated_at,
  };
}

/** Returns the earlier contents of a document. Their place is `NAME.versions/NUMBER.EXTENSION`. */
async function listEarlier(cli: CliContext, id: string) {
  const input = { params: { document_id: id }, query: {} };
  const versions = await collect(cli, vaultPages(cli.client, vault.listDocumentVersions, input));
  return versions
    .filter(({ is_current: isCurrent }) => !isCurrent)
    .map((version) => ({
      number: version.number,
      size_bytes: version.size_bytes,
      sha256: version.sha256,
      created_at: version.created_at,
    }));
}

async function fetchDocument(cli: CliContext, document: ExportedDocument, target: Target) {
  const { id, size_bytes: size } = document;
  const params = { document_id: id };
  const isFetched = await fetchFile(cli, document, target, () =>
    cli.client.download(vault.getDocumentContent, { params }),
  );
  for (const version of document.versions ?? [])
    await fetchFile(cli, version, target, () =>
      cli.client.download(vault.getDocumentVersionContent, {
        params: { ...params, number: String(version.number) },
      }),
    );
  return { id, size, state: isFetched ? ("fetched" as const) : ("present" as const) };
}

/** Fetches one file unless it is there with its hash. Returns whether it did. @throws CliError `conflict` */
async function fetchFile(
  cli: CliContext,
  { file, sha256, size_bytes: size }: { file: string; sha256: string; size_bytes: number },
  { root, progress, isOurs, parts }: Target,
  open: () => Promise<{ readonly stream: Readable }>,
): Promise<boolean> {
  const path = join(root, file);
  await parts.sweep(path, cli.system);
  if (await hasHash(path, sha256)) {
    progress.leaveOut(size);
    return false;
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const mayReplace = cli.flags.force || (await isOurs(file));
  await trackTransfer(progress, file, async (shown) => {
    const { stream } = await open();
    shown.begin(size);
    await saveStream(cli, stream, {
      path,
      mayReplace,
      hint: "--force replaces it",
      sha256,
      size,
      mode: 0o600,
      parts,
      onProgress: shown.update,
    });
  });
  return true;
}

/** Returns whether a regular file, which is not a link, has the hash. */
async function hasHash(path: string, sha256: string): Promise<boolean> {
  if ((await lstatIfThere(path))?.isFile() !== true) return false;
  return (await hashFile(path)) === sha256;
}

/** Returns the SHA-256 of a file in hexadecimal. */
export async function hashFile(path: string, algorithm = "sha256"): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** What an earlier export in the folder says of itself. */
interface Previous {
  /** Of all files, by their paths. */
  readonly hashes: ReadonlyMap<string, string>;
  /** The documents as they are described, by the paths of their files. */
  readonly documents: ReadonlyMap<unknown, object>;
}

/** Reads the description of an earlier export in the folder. @throws CliError `conflict` when it is of something else */
async function readPrevious(root: string): Promise<Previous> {
  const text = await readFile(join(root, exportFile), "utf8").catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return undefined;
    throw error;
  });
  if (text === undefined) return { hashes: new Map(), documents: new Map() };
  const data = parseObject(text);
  if (data?.["format"] !== exportFormat || !Array.isArray(data["documents"]))
    throw new CliError("conflict", `${join(root, exportFile)} is not the file of an export`, {
      hint: "export to another folder",
    });
  const documents = toObjects(data["documents"]);
  const files = documents.flatMap((document) => [document, ...toObjects(document["versions"])]);
  return {
    documents: new Map(documents.map((document) => [document["file"], document])),
    hashes: new Map(
      files.flatMap(({ file, sha256 }) =>
        typeof file === "string" && typeof sha256 === "string" ? [[file, sha256]] : [],
      ),
    ),
  };
}

const toObjects = (value: unknown): readonly Record<string, unknown>[] =>
  (Array.isArray(value) ? value : []).map(asObject).filter((one) => one !== undefined);

async function writeData(cli: CliContext, root: string, data: object): Promise<void> {
  await saveStream(cli, Readable.from([Buffer.from(`${JSON.stringify(data, undefined, 2)}\n`)]), {
    path: join(root, exportFile),
    mayReplace: true,
    mode: 0o600,
  });
}
