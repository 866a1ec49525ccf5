import type { AnyEndpoint } from "../../daemon/contract/endpoint.ts";
import { CliError, usageError } from "../errors.ts";
import type { Page, PageSource } from "../output/pages.ts";
import type { Answer, CallInput, CallOptions, Client, SuccessOf } from "./client.ts";
import type { Operation } from "./operations.ts";

/** The body of the 200 answer of `E`. */
type BodyOf200<E extends AnyEndpoint> = Extract<SuccessOf<E>, { status: 200 }>["body"];
type ItemOf<T> = T extends readonly (infer I)[] ? I : never;
/** An item of the list that `E` answers. */
export type ListItemOf<E extends AnyEndpoint> = ItemOf<BodyOf200<E>>;
type DataOf<T> = T extends { readonly data: readonly (infer I)[] } ? I : never;
type ItemsField<T> = T extends { readonly items: readonly (infer I)[] } ? I : never;

/** The forge's default and largest page size. */
const forgePageSize = 30;
const forgeLargestPage = 50;
const vaultLargestPage = 100;

/** A forge list: an array, with the number of all items in `X-Total-Count`. */
export function forgePages<E extends AnyEndpoint>(
  client: Client,
  operation: Operation<E>,
  input: CallInput<E>,
  options: CallOptions = {},
): PageSource<ListItemOf<E>> {
  type Item = ListItemOf<E>;
  return toForgePages(client, operation, input, options, (body) => body as readonly Item[]);
}

/** A forge search: `{ok, data}`, with the number of all items in `X-Total-Count`. */
export function forgeSearchPages<E extends AnyEndpoint>(
  client: Client,
  operation: Operation<E>,
  input: CallInput<E>,
): PageSource<DataOf<BodyOf200<E>>> {
  type Item = DataOf<BodyOf200<E>>;
  const toItems = (body: unknown) => (body as { readonly data: readonly Item[] }).data;
  return toForgePages(client, operation, input, {}, toItems);
}

/** A forge list in a field of an object, with the number of all items in `total_count`. */
export function forgeFieldPages<E extends AnyEndpoint, F extends keyof BodyOf200<E> & string>(
  client: Client,
  operation: Operation<E>,
  input: CallInput<E>,
  field: F,
): PageSource<ItemOf<BodyOf200<E>[F]>> {
  type Item = ItemOf<BodyOf200<E>[F]>;
  const toItems = (body: unknown) => (body as Record<F, readonly Item[]>)[field];
  return toForgePages(client, operation, input, {}, toItems);
}

function toForgePages<E extends AnyEndpoint, Item>(
  client: Client,
  operation: Operation<E>,
  input: CallInput<E>,
  options: CallOptions,
  toItems: (body: unknown) => readonly Item[],
): PageSource<Item> {
  const read = async (page: number, limit: number | undefined): Promise<Page<Item>> => {
    const query = { ...input.query, page, limit };
    const answer = await client.call(
      operation,
      { ...input, query } as unknown as CallInput<E>,
      options,
    );
    const { body } = answer as { readonly body: unknown };
    const items = assertList(toItems(body));
    const total =
      totalOf(answer) ?? (body as { readonly total_count?: number }).total_count ?? null;
    const size = Math.min(limit ?? forgePageSize, forgeLargestPage);
    const readCount = (page - 1) * size + items.length;
    return {
      items,
      page,
      limit: size,
      total,
      hasMore: items.length > 0 && readCount < (total ?? 0),
    };
  };
  return steady(read, forgeLargestPage);
}

/** A vault list: `{items, total, page, per_page}`. */
export function vaultPages<E extends AnyEndpoint>(
  client: Client,
  operation: Operation<E>,
  input: CallInput<E>,
): PageSource<ItemsField<BodyOf200<E>>> {
  type Item = ItemsField<BodyOf200<E>>;
  const read = async (page: number, limit: number | undefined): Promise<Page<Item>> => {
    // The daemon refuses it too, but its message uses another name.
    if (limit !== undefined && limit > vaultLargestPage)
      throw usageError(`--limit takes at most ${vaultLargestPage} here`, "--all lists everything");
    const query = { ...input.query, page, per_page: limit };
    const answer = await client.call(operation, { ...input, query } as unknown as CallInput<E>);
    const { items, total, per_page: size } = (answer as { readonly body: VaultPage<Item> }).body;
    assertList(items);
    return { items, page, limit: size, total, hasMore: page * size < total };
  };
  return steady(read, vaultLargestPage);
}

/** Readings of a list that changes all the time; after so many, the last one counts. */
const RESCANS_MAX = 3;

/**
 * Reads pages by their number. When all are read and rows disappear meanwhile, the rows behind them move to pages that have
 * been read already: the list is then read again, and the rows that were missed come last. No row comes twice.
 */
function steady<Item>(
  read: (page: number, limit: number | undefined) => Promise<Page<Item>>,
  largestPage: number,
): PageSource<Item> {
  const seen = new Set<unknown>();
  let isAll = false;
  let total: number | null = null;
  let hasMoved = false;
  const take = (page: Page<Item>): Page<Item> => {
    hasMoved ||= total !== null && page.total !== null && page.total < total;
    total = page.total;
    const items = page.items.filter((item) => {
      const id = (item as { readonly id?: unknown }).id;
      if (id === undefined) return true;
      return seen.has(id) ? false : seen.add(id);
    });
    return { ...page, items };
  };
  const completed = async (last: Page<Item>): Promise<Page<Item>> => {
    const missed: Item[] = [...last.items];
    for (let scan = 0; hasMoved && scan < RESCANS_MAX; scan += 1) {
      hasMoved = false;
      for (let number = 1; ; number += 1) {
        const page = take(await read(number, last.limit ?? undefined));
        missed.push(...page.items);
        if (!page.hasMore) break;
      }
    }
    return { ...last, items: missed, total };
  };
  const finish = (page: Page<Item>) => (page.hasMore ? page : completed(page));
  return {
    async first({ page, limit, all }) {
      isAll = all && page === undefined;
      const first = await read(page ?? 1, limit ?? (all ? largestPage : undefined));
      return isAll ? finish(take(first)) : first;
    },
    async next(last) {
      const page = await read((last.page ?? 1) + 1, last.limit ?? undefined);
      return isAll ? finish(take(page)) : page;
    },
  };
}

/** Servers other than croft may respond with anything. @throws CliError `unexpected_answer` */
function assertList<T extends readonly unknown[]>(items: T): T {
  if (Array.isArray(items)) return items;
  throw new CliError("unexpected_answer", "the server does not speak croft's API", {
    hint: 'see that the address is right: "croft config get url" and "croft profile list" show it',
  });
}

interface VaultPage<T> {
  readonly items: readonly T[];
  readonly total: number;
  readonly page: number;
  readonly per_page: number;
}

function totalOf<E extends AnyEndpoint>(answer: Answer<E>): number | null {
  const header = answer.headers["x-total-count"];
  return typeof header === "string" && /^\d+$/.test(header) ? Number(header) : null;
}
