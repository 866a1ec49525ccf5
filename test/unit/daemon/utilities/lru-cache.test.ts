import { expect, test } from "vitest";
import { createLruCache } from "../../../../daemon/utilities/lru-cache.ts";

test("evicts the value that was used longest ago when all together are too long", () => {
  const cache = createLruCache<string>({ valueLengthMax: 4, lengthMax: 6 });
  cache.set("a", "one", 3);
  cache.set("b", "two", 3);
  expect(cache.get("a")).toBe("one");
  cache.set("c", "x", 1);
  expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual(["one", undefined, "x"]);
});

test("replaces the value of a key and its length, and refuses one that is too long by itself", () => {
  const cache = createLruCache<string>({ valueLengthMax: 4, lengthMax: 6 });
  cache.set("a", "first", 4);
  cache.set("a", "second", 1);
  cache.set("b", "long", 5);
  cache.set("c", "three", 3);
  cache.set("d", "two", 2);
  expect(["a", "b", "c", "d"].map((key) => cache.get(key))).toEqual([
    "second",
    undefined,
    "three",
    "two",
  ]);
});
