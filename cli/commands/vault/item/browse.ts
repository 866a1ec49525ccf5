import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { listOf } from "../../../output/spec.ts";
import { pickConnection, readConnections } from "../../../support/connection.ts";
import { toIfMatchHeader } from "../../../support/if-match.ts";
import {
  type ItemAddress,
  toAddressText,
  toPathAddress,
  createItemFinder,
  type WireItem,
} from "../../../support/items.ts";
import type { System } from "../../../system.ts";
import type { Browse, BrowseDeps } from "../../../ui/browse/browse.ts";
import type { Place } from "../../../ui/browse/folder-view.ts";
import { canShowScreen } from "../../../ui/open-screen.ts";
import { printFolder } from "./list.ts";
import { createLocalFiles } from "./local-files.ts";
import { toFileName } from "../../../support/file-names.ts";
import { saveItem } from "./save-file.ts";
import { uploadFile } from "./send-file.ts";
import { commandDetails } from "../../../tree/command.ts";

type FolderAddress = Extract<ItemAddress, { kind: "path" }>;

export const browse = commandDetails({
  args: { "[folder]": "CONNECTION:/path to begin with; all connections when absent" },
  calls: [
    vault.listConnections,
    vault.listItems,
    vault.downloadItem,
    vault.uploadItem,
    vault.createFolder,
    vault.renameItem,
    vault.moveItem,
    vault.deleteItem,
    vault.search,
    vault.getDocument,
    vault.getItemDetail,
  ],
  output: listOf(vault.listItems, "items"),
  completions: { folder: "items" },
  /** The command itself deletes nothing; the screen asks before each deletion. */
  destructive: false,
  examples: [
    ["Browse all your storage", "croft vault item browse"],
    ["Begin in a folder", "croft vault item browse Papers:/2026"],
  ],
  /** Shows folders and files on a screen. Without a terminal, prints the list of `vault item list`. */
  async run(cli, { folder: word }) {
    const folder = word === undefined ? undefined : toPathAddress(word);
    if (!(await canShowScreen(cli))) {
      const { connection, path } = folder ?? (await onlyRoot(cli));
      return printFolder(cli, toAddressText(connection, path), false);
    }
    // Load the modules that draw while the folder is looked up.
    const [start, { showScreen }, { createBrowse }] = await Promise.all([
      folder === undefined ? { places: [], item: undefined } : find(cli, folder),
      import("../../../ui/screen.tsx"),
      import("../../../ui/browse/browse.ts"),
    ]);
    const browse = createBrowse(toBrowseDeps(cli, start.places, start.item));
    const closing = new AbortController();
    const firstLoad = browse.reload();
    const background = [firstLoad, tick(cli, browse, closing.signal)];
    try {
      await showScreen(cli, browse, firstLoad);
    } finally {
      closing.abort();
      await browse.stop();
      await Promise.allSettled(background);
    }
  },
});

/** Returns the root of the only connection. @throws CliError `usage` when there are several */
async function onlyRoot(cli: CliContext): Promise<FolderAddress> {
  const { id } = pickConnection(await readConnections(cli), undefined);
  return { kind: "path", connection: id, path: [], isFolder: true };
}

/** Returns the folders from the root to the named one, and the file in it if the address names a file. */
async function find(
  cli: CliContext,
  address: FolderAddress,
): Promise<{ readonly places: readonly Place[]; readonly item: string | undefined }> {
  const finder = createItemFinder(cli);
  const places: Place[] = [];
  for (let depth = 0; depth <= address.path.length; depth++) {
    const path = address.path.slice(0, depth);
    const { connection, id, item } = await finder.find({ ...address, path });
    if (item?.kind === "file") return { places, item: id };
    places.push({ connection, ref: id, path });
  }
  return { places, item: undefined };
}

const tickMs = 30_000;

async function tick(cli: CliContext, browse: Browse, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await cli.system.sleep(tickMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    browse.tick();
  }
}

/** Connects the storage browser to the daemon and the disk. It starts at the last of the places. */
function toBrowseDeps(
  cli: CliContext,
  start: readonly Place[],
  startItem: string | undefined,
): BrowseDeps {
  const { client, system } = cli;
  const paramsOf = ({ connection }: Place, item: WireItem) => ({
    connection_id: connection.id,
    item_id: item.provider_item_id,
  });
  return {
    start,
    startItem,
    style: cli.io.style,
    clock: cli.clock,
    pause: (milliseconds) => system.sleep(milliseconds),
    connections: () => readConnections(cli),
    async list({ connection, ref }, { cursor, limit, refresh }) {
      const { body } = await client.call(vault.listItems, {
        params: { connection_id: connection.id },
        query: { parent_ref: ref, limit, cursor, refresh: refresh ? "true" : undefined },
      });
      return body;
    },
    async mkdir({ connection, ref }, name) {
      const { body } = await client.call(vault.createFolder, {
        params: { connection_id: connection.id },
        body: { parent_ref: ref, name },
      });
      if (body.kind !== "folder")
        throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
      return { id: body.provider_item_id, name: body.name };
    },
    async rename(place, item, name) {
      const { body } = await client.call(vault.renameItem, {
        params: paramsOf(place, item),
        body: { new_name: name, ...etagOf(item) },
      });
      return body.provider_item_id;
    },
    async move(place, item, target) {
      await client.call(vault.moveItem, {
        params: paramsOf(place, item),
        body: {
          destination_parent_ref: target.ref,
          destination_connection_id: target.connection.id,
          ...etagOf(item),
        },
      });
    },
    async remove(place, item) {
      const { etag } = etagOf(item);
      const headers = etag === undefined ? {} : { "If-Match": toIfMatchHeader(etag) };
      const params = paramsOf(place, item);
      const { body } = await client.call(vault.deleteItem, { params }, { headers });
      return body.reason === "trashed";
    },
    preview: (place, item) => readStart(cli, paramsOf(place, item), item),
    async download(place, item, typed, report, signal) {
      const folder = await toLocalFolder(typed, system);
      const path = join(folder, toFileName(item.name, system.platform));
      report.total(item.size ?? undefined);
      const source = { params: paramsOf(place, item), name: item.name };
      await saveItem(cli, source, {
        path,
        mayReplace: false,
        files: createLocalFiles(),
        signal,
        onBegin: (total) => report.total(total ?? item.size ?? undefined),
        onProgress: (bytes) => report.done(bytes),
      });
      return toShortPath(path, system);
    },
    async upload({ connection, ref }, typed, report, signal) {
      const path = toLocalPath(typed, system);
      const { provider_item_id: id, name } = await uploadFile(
        cli,
        {
          source: path,
          folder: { connectionId: connection.id, id: ref },
          filename: basename(path),
        },
        { begin: (total) => report.total(total), update: (bytes) => report.done(bytes) },
        signal,
      );
      return { id, name };
    },
    completePath: (typed) => completeLocalPath(typed, system),
    async search(words) {
      const { body } = await client.call(vault.search, { query: { q: words, per_page: 100 } });
      return body;
    },
    async readText({ document, item }) {
      if (document !== null) {
        const params = { document_id: document.id };
        const { body } = await client.call(vault.getDocument, { params });
        return body.extracted_text ?? null;
      }
      if (item === null) return null;
      const { body } = await client.call(vault.getItemDetail, {
        params: { connection_id: item.connection_id, item_id: item.provider_item_id },
      });
      return body.extracted_text;
    },
  };
}

/** The change applies only to the version that the screen shows. */
function etagOf({ etag }: WireItem): { readonly etag?: string } {
  return etag === null || etag === undefined ? {} : { etag };
}

const previewBytes = 64 * 1024;

/** Returns the beginning of a file as text; null for binary content. Reads only as much as the preview shows. */
async function readStart(
  cli: CliContext,
  params: { readonly connection_id: string; readonly item_id: string },
  { content_type: type, size }: WireItem,
): Promise<{ readonly start: string | null; readonly isWhole: boolean }> {
  if (size === 0) return { start: "", isWhole: true };
  if (
    !/^(?:text\/|application\/(?:json|xml|yaml|javascript|x-sh|toml)\b|message\/)/.test(type ?? "")
  )
    return { start: null, isWhole: true };
  const headers = { Range: `bytes=0-${previewBytes - 1}` };
  const { stream } = await cli.client.download(vault.downloadItem, { params }, { headers });
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).byteLength;
      // A server may ignore the range and send the whole file.
      if (length >= previewBytes) break;
    }
  } finally {
    stream.destroy();
  }
  const bytes = Buffer.concat(chunks).subarray(0, previewBytes);
  const isWhole = size !== null && bytes.byteLength >= size;
  return { start: bytes.includes(0) ? null : bytes.toString("utf8"), isWhole };
}

type Where = Pick<System, "workingDirectory" | "homeDirectory">;

/**
 * Returns a typed path as an absolute one. Terminals quote files that are dropped on them, and `~` is the home folder.
 */
function toLocalPath(typed: string, { workingDirectory, homeDirectory }: Where): string {
  const text = typed.trim();
  const quoted = /^(['"])(.*)\1$/.exec(text)?.[2];
  const plain = quoted ?? text.replaceAll(/\\(.)/g, "$1");
  if (plain === "~" || plain.startsWith("~/")) return join(homeDirectory, plain.slice(1));
  return resolve(workingDirectory, plain);
}

/** Resolves a typed folder. @throws CliError `file_error` when it does not exist */
async function toLocalFolder(typed: string, where: Where): Promise<string> {
  const path = toLocalPath(typed, where);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return path;
  throw new CliError("file_error", `there is no folder ${typed.trim()}`);
}

/** Completes a typed path to the longest common prefix of the matching files; a folder gets its slash. */
async function completeLocalPath(typed: string, where: Where): Promise<string> {
  const isFolder = typed === "" || typed.endsWith("/");
  const begun = isFolder ? "" : basename(typed);
  const folder = isFolder ? typed : typed.slice(0, typed.length - begun.length);
  const path = toLocalPath(folder === "" ? "." : folder, where);
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const fits = entries.filter(
    ({ name }) => name.startsWith(begun) && (begun !== "" || !name.startsWith(".")),
  );
  const [first] = fits;
  if (first === undefined) return typed;
  const common = fits.map(({ name }) => name).reduce(commonStart);
  const slash = fits.length === 1 && first.isDirectory() ? "/" : "";
  return folder + (common.length < begun.length ? begun : common) + slash;
}

function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

/** Returns a path for display, relative to the working folder where it is below it. */
function toShortPath(path: string, { workingDirectory }: Where): string {
  return dirname(path) === workingDirectory ? `./${basename(path)}` : path;
}
