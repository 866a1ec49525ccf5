import { vault } from "../../../client/operations.ts";
import { basename, join } from "node:path";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { BrowseDeps } from "../../../ui/browse/browse.ts";
import type { Place } from "../../../ui/browse/folder-view.ts";
import { readConnections } from "../find-connection.ts";
import { type WireItem } from "../find-item.ts";
import { completeLocalPath, toLocalFolder, toLocalPath, toShortPath } from "./local-path.ts";
import { toFileName } from "./receive/file-name.ts";
import { createLocalFiles } from "./receive/local-files.ts";
import { saveItem } from "./receive/save-item.ts";
import { openSource } from "./send/local-source.ts";
import { sendFile } from "./send/send-file.ts";

/** How the screen of `browse` asks the daemon and the disk. It begins at the last of the places. */
export function toBrowseDeps(
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
        throw new CliError("unexpected_answer", "the daemon's answer is unknown");
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
      const { body } = await client.call(vault.deleteItem, { params: paramsOf(place, item) });
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
      const file = await openSource(cli, path);
      report.total(file.size);
      const open = () => {
        const stream = file.open();
        signal.addEventListener("abort", () => stream.destroy(signal.reason as Error), {
          once: true,
        });
        return stream;
      };
      const { provider_item_id: id, name } = await sendFile(
        cli,
        { ...file, open },
        {
          connectionId: connection.id,
          folderId: ref,
          filename: basename(path),
          onProgress: (bytes) => report.done(bytes),
        },
      );
      return { id, name };
    },
    completePath: (typed) => completeLocalPath(typed, system),
  };
}

/** The change is meant for the item as the person sees it. */
function etagOf({ etag }: WireItem): { readonly etag?: string } {
  return etag === null || etag === undefined ? {} : { etag };
}

const previewBytes = 64 * 1024;

/** The beginning of a file as text; null when it is something else. No more of it is read than is shown. */
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
      // A server may answer a request for a part with the whole.
      if (length >= previewBytes) break;
    }
  } finally {
    stream.destroy();
  }
  const bytes = Buffer.concat(chunks).subarray(0, previewBytes);
  const isWhole = size !== null && bytes.byteLength >= size;
  return { start: bytes.includes(0) ? null : bytes.toString("utf8"), isWhole };
}
