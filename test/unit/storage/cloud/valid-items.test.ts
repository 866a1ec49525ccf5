import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { ProviderItem } from "../../../../storage/cloud/item.ts";
import { withValidItems } from "../../../../storage/cloud/valid-items.ts";
import { createMemoryStorage } from "../../../support/cloud/memory-provider.ts";

const signal = new AbortController().signal;

const validItem: ProviderItem = {
  id: "i1",
  name: "a.txt",
  kind: "file",
  parent: "f",
  contentType: "text/plain",
  size: 5,
  modifiedAt: Date.UTC(2026, 10, 21),
  etag: "e",
  version: "v",
};

/** A storage whose every answer is this item. */
function wrap(item: ProviderItem, items: readonly ProviderItem[] = [item]) {
  const ok = async () => ({ kind: "ok", item }) as const;
  return withValidItems({
    ...createMemoryStorage().connect(),
    list: async () => ({ kind: "ok", items }),
    stat: ok,
    rename: ok,
    read: async () => ({ kind: "ok", item, length: 0, stream: Readable.from([]) }),
  });
}

async function list(...items: readonly ProviderItem[]) {
  const outcome = await wrap(validItem, items).list({ folder: "f", signal });
  return outcome.kind === "ok" ? outcome.items : outcome;
}

describe("attack: invalid items", () => {
  test("valid items are passed on unchanged", async () => {
    expect(await list(validItem)).toEqual([validItem]);
    expect(await wrap(validItem).stat({ id: "i1", signal })).toEqual({
      kind: "ok",
      item: validItem,
    });
  });

  test("drops the folder itself, items without a storable id, and duplicates from the children", async () => {
    const odd = ["f", "", "x".repeat(4097), "nul\0", "lone \ud800"].map((id) => ({
      ...validItem,
      id,
    }));
    const inItself = { ...validItem, id: "i2", parent: "i2" };
    expect(await list(...odd, inItself, validItem, { ...validItem, name: "again" })).toEqual([
      validItem,
    ]);
  });

  test.each([
    [{ size: -1 }, { size: undefined }],
    [{ size: 1e30 }, { size: undefined }],
    [{ size: 1.5 }, { size: undefined }],
    [{ modifiedAt: 1e20 }, { modifiedAt: undefined }],
    [{ modifiedAt: Date.UTC(10000, 0) }, { modifiedAt: undefined }],
    [{ modifiedAt: Date.UTC(-1, 0) }, { modifiedAt: undefined }],
    [{ modifiedAt: Number.NaN }, { modifiedAt: undefined }],
    [{ contentType: "x".repeat(5000) }, { contentType: undefined }],
    [{ name: "a\0b" }, { name: "a\u2400b" }],
    [{ name: "a\ud800b" }, { name: "a\ufffdb" }],
    [{ name: "x".repeat(5000) }, { name: "x".repeat(1024) }],
    [{ name: "" }, { name: "\ufffd" }],
  ])("%o is shown as %o", async (changes, shown) => {
    expect(await list({ ...validItem, ...changes })).toEqual([{ ...validItem, ...shown }]);
  });

  test("an invalid item as the only result fails a lookup, and makes a change an unknown outcome", async () => {
    const provider = wrap({ ...validItem, version: "v\0" });
    expect(await provider.stat({ id: "i1", signal })).toMatchObject({ kind: "offline" });
    expect(await provider.read({ id: "i1", signal })).toMatchObject({ kind: "offline" });
    expect(await provider.rename({ id: "i1", name: "b", expected: {}, signal })).toMatchObject({
      kind: "unknown_outcome",
    });
  });
});
