import type { ByteDownload } from "../../../client/bytes.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError, usageError } from "../../../errors.ts";

/**
 * Writes a download to standard output as it comes. Records hold what strangers sent, so a terminal gets them only when
 * forced. @throws CliError `daemon_unreachable` when it breaks off
 */
export async function writeCsv(cli: CliContext, open: () => Promise<ByteDownload>): Promise<void> {
  if (cli.output.isMachine) throw usageError("CSV does not go with machine output");
  if (cli.io.isOutputTerminal && cli.flags.force !== true)
    throw usageError(
      "the terminal would show raw bytes",
      "send them to a file with > FILE, or give --force",
    );
  const { stream } = await open();
  try {
    for await (const chunk of stream) await cli.io.write(chunk as Uint8Array);
  } catch (error) {
    const failure = toCliError(error);
    throw failure.code === "daemon_unreachable"
      ? new CliError(failure.code, "it broke off before its end: what was written is not all", {
          cause: error,
          service: "vault",
        })
      : error;
  } finally {
    stream.destroy();
  }
}
