import { describe, expect, test } from "vitest";
import { createListedItems } from "../../../../storage/cloud/listed-items.ts";
import type { ProviderItem } from "../../../../storage/cloud/item.ts";

const item = (id: string, name = id): ProviderItem => ({
  id,
  name,
  kind: "file",
  parent: "",
  contentType: undefined,
  size: undefined,
  modifiedAt: undefined,
  etag: undefined,
  version: undefined,
});

describe("attack: an endless listing", () => {
  test("fails a listing that repeats the same items endlessly", () => {
    const accumulated = createListedItems<number>();
    for (let page = 0; page <= 1_000; page++) {
      expect(accumulated.add(item("a"), page)).toBeUndefined();
      expect(accumulated.endPage()).toBeUndefined();
    }
    expect(accumulated.endPage()).toEqual({
      kind: "offline",
      sent: true,
      note: "listing_without_end",
    });
    expect(accumulated.values()).toEqual([1_000]);
  });

  test("more items than a folder may have, and more text than memory should hold, are too much", () => {
    const few = createListedItems<undefined>(2);
    expect([few.add(item("a"), undefined), few.add(item("b"), undefined)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(few.add(item("c"), undefined)).toEqual({
      kind: "unsupported",
      reason: "folder_too_large",
    });
    const repeated = createListedItems<undefined>(2);
    const answers = ["a", "a", "a", "a", "a"].map((id) => repeated.add(item(id), undefined));
    expect(answers.map((answer) => answer?.kind)).toEqual([
      ...Array.from({ length: 4 }, () => undefined),
      "unsupported",
    ]);
    const long = createListedItems<undefined>();
    const name = "x".repeat(16 * 1024 * 1024);
    const outcomes = ["a", "b", "c", "d"].map((id) => long.add(item(id, name), undefined));
    expect(outcomes).toEqual([
      undefined,
      undefined,
      undefined,
      { kind: "unsupported", reason: "folder_too_large" },
    ]);
  });
});
