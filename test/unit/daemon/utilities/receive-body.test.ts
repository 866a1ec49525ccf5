import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { receivePlainBody, SNIFFED_BYTES } from "../../../../daemon/utilities/receive-body.ts";
import { createFileObjects } from "../../../../storage/objects/file-objects.ts";

test("a received file comes with its first bytes, however they arrive, so that it is not read again", async () => {
  const tmp = await mkdtemp(join(tmpdir(), "croft-receive-"));
  try {
    const store = createFileObjects({
      folder: join(tmp, "objects"),
      tmp,
      newId: () => crypto.randomUUID(),
      clock: () => 0,
      onDamaged: () => undefined,
    });
    const bytes = Buffer.from(Array.from({ length: 3 * SNIFFED_BYTES }, (_, at) => at % 251));
    for (const chunkBytes of [1_000, SNIFFED_BYTES, SNIFFED_BYTES + 1, bytes.byteLength]) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.byteLength; at += chunkBytes)
        chunks.push(bytes.subarray(at, at + chunkBytes));
      const limits = { bytesMax: bytes.byteLength, declaredBytes: undefined };
      const received = await receivePlainBody(store, Readable.from(chunks), limits);
      await received.discard();
      expect(Buffer.compare(received.head, bytes.subarray(0, SNIFFED_BYTES))).toBe(0);
    }
    const limits = { bytesMax: 0, declaredBytes: undefined };
    const empty = await receivePlainBody(store, Readable.from([]), limits);
    await empty.discard();
    expect(empty.head).toHaveLength(0);
  } finally {
    await rm(tmp, { recursive: true });
  }
});
