import { describe, expect, test } from "vitest";
import { toBufferBytes } from "../../../../../../storage/cache/cache-hits.ts";
import type { ItemBytes } from "../../../../../../daemon/vault/cloud/bytes/bytes.service.ts";
import { createDownloadAnswers } from "../../../../../../daemon/vault/cloud/bytes/bytes.view.ts";

describe("the answer of a download from memory", () => {
  const kept = toBufferBytes(Buffer.from("hello"));
  const item: ItemBytes = {
    kind: "bytes",
    name: "a.txt",
    contentType: "text/plain",
    entityTag: "v1",
    modifiedAt: 1_790_000_000_000,
    bytes: kept,
  };

  test("the response head of a download from memory is the same object while the item is unchanged", () => {
    const toAnswer = createDownloadAnswers();
    expect(toAnswer({ ...item, bytes: { ...kept } })).toBe(toAnswer(item));
  });

  test.each([
    [{ name: "b.txt" }],
    [{ contentType: "image/png" }],
    [{ entityTag: "v2" }],
    [{ modifiedAt: 1_790_000_001_000 }],
    [{ bytes: toBufferBytes(Buffer.from("hello")) }],
  ] as const)("is another one with %j", (change) => {
    const toAnswer = createDownloadAnswers();
    const before = toAnswer(item);
    const after = toAnswer({ ...item, ...change });
    expect(after).not.toBe(before);
    const { name, contentType, entityTag, modifiedAt } = { ...item, ...change };
    expect(after.headers?.["Content-Disposition"]).toBe(`attachment; filename*=UTF-8''${name}`);
    expect(after.bytes).toMatchObject({ contentType, etag: entityTag });
    expect(after.bytes.lastModified?.getTime()).toBe(modifiedAt);
  });
});
