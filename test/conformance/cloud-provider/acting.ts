import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect } from "vitest";
import type { ReadFailure } from "../../../storage/cloud/outcomes.ts";
import type { ByteRange, CloudProvider, Expected } from "../../../storage/cloud/provider.ts";
import type { ItemOutcome, ProviderItem } from "../../../storage/cloud/item.ts";

/** A signal that is never aborted. */
export const calm = new AbortController().signal;

/** Names that break careless adapters; each is legal by the common rules. */
export const HOSTILE_NAMES: readonly string[] = [
  "two words.txt",
  "100 %.txt",
  "%41.txt",
  "%2F.txt",
  "a+b.txt",
  "a#b.txt",
  "a?b.txt",
  "a&b=c.txt",
  "quote's.txt",
  'double"quote.txt',
  "back\\slash.txt",
  ".hidden",
  "open",
  "upload",
  "rename",
  "smile 😀.txt",
  "עברית.txt",
  "e\u0301 decomposed.txt",
  "[brackets]{braces}<angle>.txt",
  "semi;colon:and,comma.txt",
  `${"x".repeat(251)}.txt`,
];

/** The item of an outcome that must be a success. */
export function done(outcome: ItemOutcome | ReadFailure): ProviderItem {
  if (outcome.kind !== "ok") throw new Error(`expected success, got ${JSON.stringify(outcome)}`);
  return outcome.item;
}

export async function mkdir(
  provider: CloudProvider,
  parent: string,
  name: string,
): Promise<ProviderItem> {
  return done(await provider.createFolder({ parent, name, signal: calm }));
}

export function tryUpload(
  provider: CloudProvider,
  parent: string,
  name: string,
  bytes: Uint8Array | string,
): Promise<ItemOutcome> {
  const content = Buffer.from(bytes);
  return provider.upload({
    parent,
    name,
    content: Readable.from(inChunks(content), { objectMode: false }),
    size: content.length,
    contentType: undefined,
    signal: calm,
  });
}

export async function put(
  provider: CloudProvider,
  parent: string,
  name: string,
  bytes: Uint8Array | string,
): Promise<ProviderItem> {
  return done(await tryUpload(provider, parent, name, bytes));
}

export async function list(
  provider: CloudProvider,
  folder: string,
): Promise<readonly ProviderItem[]> {
  const outcome = await provider.list({ folder, signal: calm });
  if (outcome.kind !== "ok") throw new Error(`expected a listing, got ${JSON.stringify(outcome)}`);
  return outcome.items;
}

export async function names(provider: CloudProvider, folder: string): Promise<string[]> {
  return (await list(provider, folder)).map((item) => item.name).sort();
}

export async function stat(provider: CloudProvider, id: string): Promise<ProviderItem> {
  return done(await provider.stat({ id, signal: calm }));
}

export async function get(
  provider: CloudProvider,
  id: string,
  options: { readonly range?: ByteRange; readonly version?: string | undefined } = {},
): Promise<Buffer> {
  const outcome = await provider.read({ id, ...options, signal: calm });
  if (outcome.kind !== "ok") throw new Error(`expected bytes, got ${JSON.stringify(outcome)}`);
  const bytes = await buffer(outcome.stream);
  if (outcome.length !== undefined) expect(bytes.length).toBe(outcome.length);
  return bytes;
}

export function rename(
  provider: CloudProvider,
  item: { readonly id: string } & Partial<ProviderItem>,
  name: string,
  expected: Expected = toExpected(item),
): Promise<ItemOutcome> {
  return provider.rename({ id: item.id, name, expected, signal: calm });
}

export function move(
  provider: CloudProvider,
  item: { readonly id: string } & Partial<ProviderItem>,
  parent: string,
  expected: Expected = toExpected(item),
): Promise<ItemOutcome> {
  return provider.move({ id: item.id, parent, expected, signal: calm });
}

export function remove(
  provider: CloudProvider,
  item: { readonly id: string } & Partial<ProviderItem>,
  options: { readonly permanently?: boolean; readonly expected?: Expected } = {},
) {
  const { permanently = false, expected = toExpected(item) } = options;
  return provider.delete({ id: item.id, expected, permanently, signal: calm });
}

/** The expectation of a caller who has just seen the item. */
export function toExpected(item: Partial<ProviderItem>): Expected {
  return { etag: item.etag, kind: item.kind, name: item.name, parent: item.parent };
}

/** Returns the whole storage: paths with the contents of files; folders end in a slash. */
export async function tree(
  provider: CloudProvider,
  folder = "",
  path = "",
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const item of await list(provider, folder)) {
    const at = path + item.name;
    if (item.kind === "folder") {
      found[`${at}/`] = "";
      Object.assign(found, await tree(provider, item.id, `${at}/`));
    } else found[at] = (await get(provider, item.id)).toString("latin1").slice(0, 100);
  }
  return found;
}

/** Bytes that differ everywhere, so that a shifted or repeated part shows. */
export function pattern(length: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let state = (seed * 2654435761) >>> 0;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

/** Compares bytes without printing them. */
export function same(actual: Uint8Array, expected: Uint8Array): void {
  expect([actual.length, Buffer.compare(actual, expected)]).toEqual([expected.length, 0]);
}

export function* inChunks(bytes: Buffer, size = 64 * 1024): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
