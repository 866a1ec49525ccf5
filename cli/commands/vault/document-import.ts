import { lstat, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import type { z } from "zod";
import type { document as documentSchema } from "../../../daemon/contract/vault/documents.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import type { Progress } from "../../output/progress.ts";
import { readPages } from "../../output/pages.ts";
import { unpagedList } from "../../output/spec.ts";
import { failedTask, finishBatch, resultFields, runTasks, type Task } from "../../support/batch.ts";
import { codeOf } from "../../support/save-stream.ts";
import { commandDetails } from "../../tree/command.ts";
import { hashFile } from "./document-export.ts";
import { type ImportedDocument, type ImportedExport, readExport } from "./document-source.ts";
import { openSource } from "./item/send-file.ts";
import { withRetries } from "./item/transfer.ts";
import { readPaperless } from "./paperless-export.ts";
import { sendDocument } from "./document-transfer.ts";
import { toTopicKey } from "./topic.ts";

type WireDocument = Pick<z.output<typeof documentSchema>, "id" | "filename" | "sha256" | "topics">;

/** Longest name of a topic. */
const TOPIC_MAX = 100;

export const importDocuments = commandDetails({
  args: { "<folder>": "the folder of an export" },
  flags: {
    "--from <program>": {
      help: "the program that wrote the export",
      choices: ["croft", "paperless"],
      default: "croft",
    },
  },
  calls: [
    vault.listDocuments,
    vault.listTopics,
    vault.createTopic,
    vault.uploadDocument,
    vault.updateDocument,
  ],
  output: unpagedList({
    ...resultFields,
    id: "string?",
    state: { enum: ["imported", "present", null] },
  }),
  examples: [
    ["Import an export of croft", "croft vault document import papers"],
    [
      "Import an export of Paperless-ngx",
      "croft vault document import paperless-export --from paperless",
    ],
    [
      "Print only what was refused, with the reasons",
      "croft vault document import papers --jq '.[] | select(.error)'",
    ],
  ],
  note: [
    "Topics are created as needed. A document with the name and the bytes of an existing one is not",
    "uploaded again, so an interrupted import is completed by the same command. Of Paperless-ngx, tags,",
    "correspondents and document types become topics; inbox tags, notes and custom fields are left out.",
  ].join("\n"),
  /** Uploads the documents of an export with their topics. If some fail, the exit code is `partial`. */
  async run(cli, { folder, from }) {
    const root = await findRoot(cli, folder);
    const source = from === "paperless" ? await readPaperless(root) : await readExport(root);
    const progress = await cli.progress();
    const calling = withRetries(cli, progress);
    const account = await readAccount(calling, source);
    for (const one of source.documents) if (!("error" in one)) progress.expect(null);
    progress.expectNoMore();
    const tasks = source.documents.map((one): Task<{ id: string; state: string }> =>
      "error" in one
        ? failedTask(one.item, new CliError("invalid", one.error))
        : { item: one.file, run: () => importDocument(calling, root, one, account, progress) },
    );
    // One after the other: of two equal documents the second one finds the first.
    const outcomes = await runTasks(tasks, 1).finally(() => progress.finish());
    await finishBatch(cli, outcomes, "imported", [
      { header: "file", cell: ({ item }) => item },
      { header: "id", cell: ({ id }) => id },
      { header: "state", cell: ({ state }) => state },
      { header: "error", cell: ({ error }) => error?.message },
    ]);
  },
});

async function findRoot(cli: CliContext, folder: string): Promise<string> {
  const path = resolve(cli.system.workingDirectory, folder);
  const root = await realpath(path).catch((error: unknown) => {
    throw new CliError(
      "file_error",
      `${folder}: ${codeOf(error) === "ENOENT" ? "there is no such folder" : codeOf(error)}`,
    );
  });
  if (!(await stat(root)).isDirectory()) throw usageError(`${folder} is not a folder`);
  return root;
}

/** What the account has, which the import adds to. */
interface Account {
  readonly documents: Map<string, WireDocument>;
  /** Names by their keys. */
  readonly topics: Map<string, string>;
  readonly descriptions: ReadonlyMap<string, string>;
}

async function readAccount(cli: CliContext, source: ImportedExport): Promise<Account> {
  const documents = new Map<string, WireDocument>();
  const pages = vaultPages(cli.client, vault.listDocuments, { query: {} });
  for await (const { items } of readPages(pages, { page: undefined, limit: undefined, all: true }))
    for (const document of items) documents.set(toDocumentKey(document), document);
  const { items } = (await cli.client.call(vault.listTopics)).body;
  return {
    documents,
    topics: new Map(items.map(({ name }) => [toTopicKey(name), name])),
    descriptions: new Map(
      source.topics.map(({ name, description }) => [toTopicKey(name), description]),
    ),
  };
}

const toDocumentKey = ({ sha256, filename }: Pick<WireDocument, "sha256" | "filename">): string =>
  `${sha256} ${filename}`;

async function importDocument(
  cli: CliContext,
  root: string,
  document: ImportedDocument,
  account: Account,
  progress: Progress,
): Promise<{ readonly id: string; readonly state: "imported" | "present" }> {
  const path = await findFile(root, document.file);
  const sha256 = await hashFile(path);
  await assertHash(path, document, sha256);
  const { filename } = document;
  const existing = account.documents.get(toDocumentKey({ sha256, filename }));
  if (existing !== undefined) progress.leaveOut(null);
  const { id, topics } = existing ?? (await upload(cli, path, filename, progress));
  const wanted = await createTopics(cli, document.topics, account);
  const have = new Set(existing === undefined ? [] : topics.map(toTopicKey));
  const missing = wanted.filter((name) => !have.has(toTopicKey(name)));
  // Of a document that was uploaded just now, the topics of the export replace what a classifier chose meanwhile.
  const all = existing === undefined ? [...wanted] : [...topics, ...missing];
  if (missing.length > 0)
    await cli.client.call(vault.updateDocument, {
      params: { document_id: id },
      body: { topics: all },
    });
  account.documents.set(toDocumentKey({ sha256, filename }), { id, filename, sha256, topics: all });
  return { id, state: existing === undefined ? "imported" : "present" };
}

async function upload(cli: CliContext, path: string, filename: string, progress: Progress) {
  return (await sendDocument(cli, await openSource(cli, path), filename, progress)).body;
}

/**
 * Returns the path of a file of the export. The export may be a stranger's: a file outside of the folder is not part of it, nor
 * is one behind a link. @throws CliError `invalid`, `file_error`
 */
async function findFile(root: string, file: string): Promise<string> {
  const parts = file.split(/[/\\]/);
  if (file === "" || file.includes("\0") || isAbsolute(file) || parts.includes(".."))
    throw new CliError("invalid", "the path leaves the folder of the export");
  const path = join(root, file);
  const real = await realpath(path).catch((error: unknown) => {
    const isMissing = ["ENOENT", "ENOTDIR"].includes(codeOf(error));
    throw new CliError(
      "file_error",
      isMissing ? "the file is missing in the folder" : `the file cannot be read: ${codeOf(error)}`,
    );
  });
  if (real !== path) throw new CliError("invalid", "the path leads over a link");
  if (!(await lstat(path)).isFile()) throw new CliError("invalid", "it is not a regular file");
  return path;
}

async function assertHash(path: string, { hash }: ImportedDocument, sha256: string): Promise<void> {
  if (hash === undefined) return;
  const found = hash.length === 32 ? await hashFile(path, "md5") : sha256;
  if (found !== hash.toLowerCase())
    throw new CliError("invalid", "the file has other bytes than its export says");
}

/** Creates the topics that the account lacks, and returns the names that it has. */
async function createTopics(
  cli: CliContext,
  names: readonly string[],
  account: Account,
): Promise<readonly string[]> {
  const found = new Map<string, string>();
  for (const word of names) {
    const name = word
      .replaceAll(/\p{Cc}+/gu, " ")
      .trim()
      .slice(0, TOPIC_MAX)
      .toWellFormed();
    const key = toTopicKey(name);
    if (key === "") continue;
    if (!account.topics.has(key)) {
      const body = { name, description: account.descriptions.get(key) ?? "" };
      account.topics.set(key, (await cli.client.call(vault.createTopic, { body })).body.name);
    }
    found.set(key, account.topics.get(key) ?? name);
  }
  return [...found.values()];
}
