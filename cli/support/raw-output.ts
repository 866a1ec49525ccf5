import type { Readable } from "node:stream";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";

/** How the messages of one command name its output. */
interface RawOutput {
  /** Subject of the sentence that refuses machine output. */
  readonly what: string;
  /** The advice for avoiding raw bytes on a terminal, shown in the refusal. */
  readonly instead: string;
}

/**
 * Checks that bytes may be written to standard output. Bytes have no machine-readable form. A terminal gets them only
 * with `--force`, because it would execute escape sequences in them. @throws CliError `usage`
 */
export function assertRawOutput(
  { output, io, flags }: Pick<CliContext, "output" | "io" | "flags">,
  { what, instead }: RawOutput,
): void {
  if (output.isMachine)
    throw usageError(`${what} does not go with machine output`, "the bytes are the output");
  if (io.isOutputTerminal && flags.force !== true)
    throw usageError("the terminal would show raw bytes", instead);
}

/** Writes a body to standard output as it arrives. */
export async function writeRaw({ io }: Pick<CliContext, "io">, stream: Readable): Promise<void> {
  for await (const chunk of stream) await io.write(chunk as Uint8Array);
}
