import { vault } from "../../../client/operations.ts";
import { parseJson } from "../../../client/vault-session.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { WireItem } from "../../../support/items.ts";
import { type Content, openSource, type Uploaded } from "./send-file.ts";
import type { TransferProgress } from "./transfer.ts";

/**
 * Replaces the bytes of a file with those of a local one, if it still is the version of `item`.
 * @throws CliError `stale` when it has changed; then it is as it was
 */
export async function replaceFile(
  cli: CliContext,
  connectionId: string,
  item: Pick<WireItem, "provider_item_id" | "etag">,
  source: string,
  progress: TransferProgress,
): Promise<Uploaded> {
  return replaceContent(cli, connectionId, item, await openSource(cli, source), progress);
}

/** The same with bytes from anywhere. */
export async function replaceContent(
  cli: CliContext,
  connectionId: string,
  item: Pick<WireItem, "provider_item_id" | "etag">,
  file: Content,
  progress: TransferProgress,
): Promise<Uploaded> {
  progress.begin(file.size);
  const { stream } = await cli.client.exchange(
    vault.replaceContent,
    { params: { connection_id: connectionId, item_id: item.provider_item_id } },
    {
      contentType: "application/octet-stream",
      headers: {
        // A storage without etags cannot compare.
        "If-Match": item.etag === null ? "*" : `"${item.etag.replace(/^(?:W\/)?"|"$/g, "")}"`,
        ...(file.size === undefined ? {} : { "Content-Length": String(file.size) }),
      },
      body: () => {
        let sent = 0;
        const bytes = file.open();
        bytes.on("data", (chunk: Uint8Array) => progress.update((sent += chunk.byteLength)));
        return bytes.pause();
      },
      canRestart: file.canRestart,
    },
  );
  const body = parseJson(Buffer.concat((await Array.fromAsync(stream)) as Buffer[]));
  if ((body as Partial<Uploaded> | undefined)?.kind === "uploaded") return body as Uploaded;
  throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
}
