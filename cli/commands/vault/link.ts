import type { z } from "zod";
import type { link } from "../../../daemon/contract/vault/links.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { listOf, resourceOf, shapeOrList } from "../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../support/batch.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import { toByteSize, toExpiry } from "../../support/flag-values.ts";
import { createItemFinder, findItem, isConnectionAddress } from "../../support/items.ts";
import { readNewSecret } from "../../support/secrets.ts";
import type { Entry } from "../../tree/entry.ts";
import { command, type FlagValues } from "../../tree/command.ts";
import { withRetries } from "./item/transfer.ts";
import { toTopicKey } from "./topic.ts";

type WireLink = z.output<typeof link>;

const limitFlags = {
  "--name <name>": "the title that visitors see; the name of the target by default",
  "--expires <when>": "when it ends: 7d, 2027-01-31, 2027-01-31T12:00:00Z or never",
  "--password": "prompt for a password that visitors need",
  "--password-stdin": "read the password from standard input",
  "--max-downloads <count>": { help: "end after this many downloads", parse: toCount },
  "--max-files <count>": { help: "of --upload: end after this many files", parse: toCount },
  "--max-bytes <size>": { help: "of --upload: end after this many bytes", parse: toByteSize },
  "--topic <name...>": "of --upload: topics that received files get",
  "--message <text>": "of --upload: shown above the form",
} as const;

const noLimitFlags = {
  "--no-password": "open it without a password",
  "--no-max-downloads": "without a limit of downloads",
  "--no-max-files": "without a limit of files",
  "--no-max-bytes": "without a limit of bytes",
} as const;

const qrFlag = { "--qr": "print the address as a QR code as well" } as const;

export const entries: readonly Entry[] = [
  command("create", "Create a link for people without an account", {
    args: {
      "[targets...]": "documents (ids or names), or an item: CONNECTION:/path; none with --upload",
    },
    flags: { "--upload": "a link to send you files", ...limitFlags, ...qrFlag },
    calls: [
      ...findDocumentOperations,
      vault.listConnections,
      vault.listItems,
      vault.listTopics,
      vault.createLink,
    ],
    output: resourceOf(vault.createLink, 201),
    completions: { targets: "documents", "--topic": "topics" },
    note: "A link expires in seven days unless --expires says another time.",
    examples: [
      [
        "Create a link to a document",
        "croft vault link create 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8",
      ],
      [
        "For one download, with its QR code",
        "croft vault link create 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --max-downloads 1 --expires 1d --qr",
      ],
      ["To a file or folder of a connection", "croft vault link create Papers:/2026/report.pdf"],
      [
        "To receive files",
        "croft vault link create --upload --name Scans --max-files 20 --topic Invoices",
      ],
    ],
    async run(cli, options) {
      const { targets, upload = false, qr = false } = options;
      if (upload && targets.length > 0) throw usageError("--upload takes no document or item");
      if (!upload && targets.length === 0)
        throw usageError("nothing to link to", "name documents or an item, or give --upload");
      const target = upload ? { kind: "upload" as const } : await toTarget(cli, targets);
      const limits = await toLimits(cli, options);
      const { body } = await cli.client.call(vault.createLink, { body: { ...target, ...limits } });
      await show(cli, body, qr);
    },
  }),
  command("list", "List your links", {
    aliases: ["ls"],
    flags: {
      "--kind <kind>": { help: "only links of this kind", choices: ["download", "upload"] },
      "--document <document>": "only links to this document: its id or name",
    },
    calls: [...findDocumentOperations, vault.listLinks],
    output: listOf(vault.listLinks, "items"),
    completions: { "--document": "documents" },
    examples: [
      ["List your links", "croft vault link list"],
      [
        "Print the addresses of those to a document",
        "croft vault link list --document 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --jq '.[].url'",
      ],
    ],
    async run(cli, { kind, document }) {
      const query = {
        ...(kind === undefined ? {} : { kind }),
        ...(document === undefined ? {} : { document_id: await findDocumentId(cli, document) }),
      };
      await cli.output.list(vaultPages(cli.client, vault.listLinks, { query }), columns);
    },
  }),
  command("edit", "Change a link; its address stays", {
    args: { "<id>": "the link's id" },
    flags: {
      ...limitFlags,
      ...noLimitFlags,
      ...qrFlag,
    },
    calls: [vault.listTopics, vault.updateLink],
    output: resourceOf(vault.updateLink),
    completions: { "--topic": "topics" },
    examples: [
      [
        "Let it expire later",
        "croft vault link edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --expires 30d",
      ],
      ["Show its QR code again", "croft vault link edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --qr"],
    ],
    async run(cli, options) {
      const limits = await toLimits(cli, options);
      const changes = {
        ...limits,
        ...(options.password === false ? { password: null } : {}),
        ...(options.maxDownloads === false ? { max_downloads: null } : {}),
        ...(options.maxFiles === false ? { max_files: null } : {}),
        ...(options.maxBytes === false ? { max_bytes: null } : {}),
      };
      if (Object.keys(changes).length === 0 && options.qr !== true)
        throw usageError("nothing to change", "give one of the flags");
      const { body } = await cli.client.call(vault.updateLink, {
        params: { link_id: options.id },
        body: changes,
      });
      await show(cli, body, options.qr === true);
    },
  }),
  command("delete", "Revoke links; it takes effect at once", {
    aliases: ["rm", "revoke"],
    args: { "<ids...>": "ids of links" },
    calls: [vault.getLink, vault.deleteLink],
    output: shapeOrList(
      { revoked: "boolean", id: "string", name: "string" },
      { ...resultFields, id: "string?", name: "string?" },
    ),
    destructive: true,
    examples: [
      ["Revoke a link", "croft vault link delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --yes"],
      [
        "Show the request only",
        "croft vault link delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --dry-run",
      ],
    ],
    async run(cli, { ids }) {
      const calling = ids.length === 1 ? cli : withRetries(cli, await cli.progress());
      const find = async (id: string) =>
        (await calling.client.call(vault.getLink, { params: { link_id: id } })).body;
      const revoke = async ({ id, name }: Pick<WireLink, "id" | "name">) => {
        await calling.client.call(vault.deleteLink, { params: { link_id: id } });
        return { id, name };
      };
      const [first = ""] = ids;
      if (ids.length > 1) {
        await cli.prompts.confirm(`Revoke these ${ids.length} links?`);
        const outcomes = await runBatch(ids, async (id) => revoke(await find(id)));
        return finishBatch(cli, outcomes, "revoked", [
          { header: "link", cell: ({ item }) => item },
          { header: "error", cell: ({ error }) => error?.message },
        ]);
      }
      const found = await find(first);
      await cli.prompts.confirm(`Revoke the link ${found.name}?`);
      const revoked = await revoke(found);
      await cli.output.done({ revoked: true, ...revoked }, `Revoked the link ${found.name}.`);
    },
  }),
];

/** Prints a link, and its QR code on a terminal that is wide enough. */
async function show(cli: CliContext, body: WireLink, qr: boolean): Promise<void> {
  if (qr && body.url !== null && !cli.output.isMachine) {
    const { renderUnicodeCompact } = await import("uqr");
    const code = renderUnicodeCompact(body.url, { border: 2 });
    // A QR code with wrapped lines cannot be scanned.
    if (!cli.io.isOutputTerminal || code.indexOf("\n") <= cli.io.columns)
      await cli.io.write(`${code}\n\n`);
  }
  await cli.output.resource(body, lines);
}

async function toTarget(cli: CliContext, words: readonly string[]) {
  const [first = ""] = words;
  if (words.length === 1 && isConnectionAddress(first, cli.system.platform)) {
    const { connection, id } = await findItem(createItemFinder(cli), first);
    return { connection_id: connection.id, item_id: id };
  }
  const ids: string[] = [];
  for (const word of words) ids.push(await findDocumentId(cli, word));
  return ids.length === 1 ? { document_id: ids[0] } : { document_ids: ids };
}

type LimitFlags = FlagValues<typeof limitFlags & typeof noLimitFlags>;

/** The values of a link that flags give. */
async function toLimits(cli: CliContext, options: LimitFlags) {
  const { name, expires, maxDownloads, maxFiles, maxBytes, topic, message } = options;
  const hasPassword = options.password === true || options.passwordStdin === true;
  const password = hasPassword
    ? await readNewSecret(cli, {
        fromInput: options.passwordStdin === true,
        question: "Password of the link:",
        flag: "--password-stdin",
      })
    : undefined;
  return {
    ...(name === undefined ? {} : { name }),
    ...(expires === undefined
      ? {}
      : { expires_at: expires === "never" ? null : toExpiry(expires, cli.clock()) }),
    ...(password === undefined ? {} : { password }),
    ...(typeof maxDownloads === "number" ? { max_downloads: maxDownloads } : {}),
    ...(typeof maxFiles === "number" ? { max_files: maxFiles } : {}),
    ...(typeof maxBytes === "number" ? { max_bytes: maxBytes } : {}),
    ...(topic === undefined ? {} : { topic_ids: await toTopicIds(cli, topic) }),
    ...(message === undefined ? {} : { message }),
  };
}

/** @throws CliError `usage` for a name that no topic has */
async function toTopicIds(cli: CliContext, names: readonly string[]): Promise<string[]> {
  const { items } = (await cli.client.call(vault.listTopics)).body;
  return names.map((name) => {
    const found = items.find((topic) => toTopicKey(topic.name) === toTopicKey(name));
    if (found !== undefined) return found.id;
    throw usageError(
      `there is no topic ${JSON.stringify(name)}`,
      '"croft vault topic list" shows them',
    );
  });
}

function toCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usageError(`${JSON.stringify(text)} is not a number from 1 on`);
}

/** `3 of 5`, or `3` without a limit. */
const ofMost = (count: number, most: number | null): string =>
  most === null ? String(count) : `${count} of ${most}`;

const columns: readonly Column<WireLink>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "kind", cell: ({ kind }) => kind },
  { header: "name", cell: ({ name }) => name },
  { header: "status", cell: ({ status }) => status },
  {
    header: "used",
    cell: (one) =>
      one.kind === "download"
        ? ofMost(one.downloads, one.max_downloads)
        : ofMost(one.files, one.max_files),
  },
  { header: "expires", cell: ({ expires_at: expires }) => expires && time(expires) },
  { header: "password", cell: ({ has_password: hasPassword }) => hasPassword },
  { header: "address", cell: ({ url }) => url },
];

const lines: readonly Column<WireLink>[] = [
  ...columns,
  { header: "most bytes", cell: ({ max_bytes: bytes }) => bytes && size(bytes) },
  { header: "message", cell: ({ message }) => message },
];
