import { expect, test } from "vitest";
import type { Client } from "../../../cli/client/client.ts";
import { vault } from "../../../cli/client/operations.ts";
import { vaultPages } from "../../../cli/client/paging.ts";
import { readPages } from "../../../cli/output/pages.ts";

/** A list of the vault; `afterPage` runs when a page has been read. */
function listOf(rows: { id: number }[], afterPage: (page: number) => void): Client {
  const call = async (_: unknown, input: { query: { page: number; per_page: number } }) => {
    const { page, per_page: size } = input.query;
    const items = rows.slice((page - 1) * size, page * size);
    const body = { items, total: rows.length, page, per_page: size };
    afterPage(page);
    return { body, headers: {} };
  };
  return { call } as unknown as Client;
}

async function readAll(client: Client): Promise<number[]> {
  const found: number[] = [];
  const flags = { page: undefined, limit: 100, all: true };
  const source = vaultPages(client, vault.listDocuments, {});
  for await (const { items } of readPages(source, flags))
    found.push(...(items as unknown as { id: number }[]).map(({ id }) => id));
  return found;
}

const numbers = () => Array.from({ length: 350 }, (_, id) => ({ id }));

test("a list that is read whole has every row, although others are deleted meanwhile", async () => {
  const rows = numbers();
  let isDeleted = false;
  const client = listOf(rows, (page) => {
    if (page === 2 && !isDeleted) rows.splice(0, 30);
    if (page === 2) isDeleted = true;
  });
  const found = await readAll(client);
  expect(found.filter((id) => id >= 30).toSorted((a, b) => a - b)).toEqual(
    numbers()
      .slice(30)
      .map(({ id }) => id),
  );
  expect(new Set(found).size).toBe(found.length);
});

test("a list that is read whole has no row twice, although others are added in front meanwhile", async () => {
  const rows = numbers();
  let added = 1_000;
  const client = listOf(rows, (page) => {
    if (page <= 3) rows.unshift({ id: added++ });
  });
  const found = await readAll(client);
  expect(new Set(found).size).toBe(found.length);
  expect(found.filter((id) => id < 1_000)).toHaveLength(350);
});
