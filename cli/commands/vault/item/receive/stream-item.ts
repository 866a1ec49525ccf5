import type { CliContext } from "../../../../context.ts";
import { CliError, toCliError } from "../../../../errors.ts";
import {
  begin,
  type Begun,
  fruitlessMax,
  type ItemSource,
  pauseMs,
  toBegun,
  toBrokenOff,
} from "./item-bytes.ts";
import type { ShownTransfer } from "../transfer.ts";

/**
 * Hands the bytes of an item on, chunk by chunk, and resolves to their number. A connection that breaks off is taken up
 * where it was. @throws CliError `stale` when the item is another version by then: two are never joined
 */
export async function streamItem(
  cli: CliContext,
  source: ItemSource,
  write: (chunk: Uint8Array) => Promise<unknown>,
  shown?: ShownTransfer,
): Promise<number> {
  const { name, opened } = source;
  let begun: Begun =
    opened === undefined ? await begin(cli, source, undefined, cli.signal) : toBegun(opened);
  const { tag } = begun;
  shown?.begin(begun.total);
  let bytes = 0;
  for (let fruitless = 1; ; fruitless++) {
    const before = bytes;
    const { total } = begun;
    try {
      for await (const chunk of begun.download.stream) {
        await write(chunk as Uint8Array);
        bytes += (chunk as Uint8Array).byteLength;
        shown?.update(bytes);
      }
      if (total === undefined || bytes === total) return bytes;
    } catch (error) {
      cli.signal.throwIfAborted();
      if (toCliError(error).code !== "daemon_unreachable") throw error;
    } finally {
      begun.download.stream.destroy();
    }
    if (bytes > before) fruitless = 0;
    if (tag === undefined || fruitless >= fruitlessMax) throw toBrokenOff(name, bytes, total);
    await cli.system.sleep(pauseMs, cli.signal);
    begun = await begin(cli, source, { path: "", tag, size: bytes }, cli.signal);
    if (begun.tag === tag && begun.at === bytes) continue;
    begun.download.stream.destroy();
    throw new CliError("stale", `${name} was changed while it was read`, { service: "vault" });
  }
}
