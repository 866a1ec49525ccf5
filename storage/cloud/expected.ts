import type { Expected, ProviderItem } from "./provider.ts";

/** Whether an item is what the caller believes it to be, as far as that can be known. */
export function isExpected(item: ProviderItem, expected: Expected): boolean {
  return (
    (expected.kind === undefined || expected.kind === item.kind) &&
    (expected.name === undefined || expected.name === item.name) &&
    (expected.parent === undefined || expected.parent === item.parent) &&
    (expected.etag === undefined || item.etag === undefined || expected.etag === item.etag)
  );
}
