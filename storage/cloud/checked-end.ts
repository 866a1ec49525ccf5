import { Readable } from "node:stream";
import { BrokenOff, type ReadFailure } from "./outcomes.ts";

/**
 * The same bytes, of which the last ones are held back until `check` finds nothing wrong: for storages that do not tell
 * which version they send. Breaks off with what it finds.
 */
export function withCheckedEnd(
  source: Readable,
  check: () => Promise<ReadFailure | undefined>,
): Readable {
  async function* bytes() {
    let held: Buffer | undefined;
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (held !== undefined) yield held;
      held = chunk;
    }
    const failure = await check();
    if (failure !== undefined) throw new BrokenOff(failure);
    if (held !== undefined) yield held;
  }
  // The generator tells of an error once it is read; until then nobody listens.
  source.on("error", () => undefined);
  const stream = Readable.from(bytes(), { objectMode: false });
  // A generator that waits for the source hears of nothing else.
  stream.on("close", () => source.destroy());
  return stream;
}
