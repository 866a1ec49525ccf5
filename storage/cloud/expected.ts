import type { Expected, ProviderItem } from "./provider.ts";

/** Returns whether an item matches the caller's expectation, as far as its known fields tell. */
export function isExpected(item: ProviderItem, expected: Expected): boolean {
  return (
    (expected.kind === undefined || expected.kind === item.kind) &&
    (expected.name === undefined || expected.name === item.name) &&
    (expected.parent === undefined || expected.parent === item.parent) &&
    (expected.etag === undefined || item.etag === undefined || expected.etag === item.etag)
  );
}
