import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseQuery, toSnippet } from "../../../../../daemon/vault/documents/query.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import {
  deleteDocument,
  insertDocument,
  listDocuments,
} from "../../../../../storage/tables/vault/documents/documents.ts";
import { listPassages, searchEntries } from "../../../../../storage/tables/vault/search.ts";
import {
  putSearchEntry,
  renameSearchEntry,
} from "../../../../../storage/tables/vault/search-entries.ts";
import { insertVaultUser } from "../../../../../storage/tables/vault/users.ts";
import { cases } from "../../../../support/property.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import {
  type AccountId,
  toAccountId,
  toDocumentId,
} from "../../../../../storage/tables/vault/ids.ts";

const mira = toAccountId("mira");
const noor = toAccountId("noor");

describe.each(["sqlite", "postgres"] as const)("search on %s", (engine) => {
  let db: Database;

  beforeAll(async () => {
    db = await openTestDatabase({ clock: () => 1_000, engine } as never);
    for (const id of [mira, noor])
      await db.transaction((tx) =>
        insertVaultUser(tx, {
          id,
          handle: id,
          email: `${id}@example.org`,
          passwordHash: "",
          role: "user",
          passwordMustChange: false,
        }),
      );
    await add("tax", mira, "Steuer 2025.pdf", "The tax office sent a résumé of the year 2025.");
    await add("tea", mira, "Recipes.txt", "Brew tea for five minutes. A green tea needs three.");
    await add("bill", mira, "tea bill.pdf", "Twelve euro, paid by card.");
    await add("foreign", noor, "tea.txt", "tea tea tea tea");
    await add("odd", mira, "odd.txt", "a AND b OR c NOT d NEAR(e) col:f ^g 12e5 x@y.example");
  });
  afterAll(() => db.close());

  test("a long text of many distinct words is stored, and found by the words of its beginning", async () => {
    const syllables = (seed: number) =>
      String.fromCodePoint(...[7, 131, 1_999, 4_001].map((n) => 0xac00 + ((seed * n) % 11_172)));
    const body = Array.from({ length: 58_000 }, (_, index) => syllables(index + 1)).join(" ");
    await add("korean", noor, "긴 글.txt", body);
    const { matches } = await searchEntries(
      db,
      parseQuery(syllables(5)),
      { userId: noor },
      { limit: 10, offset: 0 },
    );
    expect(matches.map(({ documentId }) => documentId)).toContain("korean");
    await db.transaction((tx) => deleteDocument(tx, toDocumentId("korean")));
  });

  async function add(id: string, userId: AccountId, title: string, body: string) {
    const documentId = toDocumentId(id);
    await db.transaction(async (tx) => {
      await insertDocument(tx, {
        id: documentId,
        userId,
        filename: title,
        contentType: "text/plain",
        sizeBytes: 1,
        sha256: "0".repeat(64),
        storageBackend: "internal",
        connectionId: undefined,
        providerItemId: undefined,
      });
      await putSearchEntry(tx, {
        userId,
        source: { documentId },
        title,
        body,
        contentType: "text/plain",
        connectionId: undefined,
      });
    });
  }

  const find = async (query: string): Promise<(string | undefined)[]> => {
    const page = { limit: 10, offset: 0 };
    const { matches, total } = await searchEntries(db, parseQuery(query), { userId: mira }, page);
    expect(total).toBe(matches.length);
    return matches.map(({ documentId }) => documentId);
  };

  test("finds words of title and body, and ranks the title higher", async () => {
    expect(await find("tea")).toEqual(["bill", "tea"]);
    expect(await find("tea minutes")).toEqual(["tea"]);
    expect(await find("coffee")).toEqual([]);
  });

  test("counts the same on every page: the first, a full one, a short one and an empty one", async () => {
    const total = async (limit: number, offset: number) => {
      const page = { limit, offset };
      const found = await searchEntries(db, parseQuery("tea"), { userId: mira }, page);
      const order = { sort: "name" as const, descending: false };
      const listed = await listDocuments(
        db,
        { userId: mira, terms: parseQuery("tea") },
        { ...order, ...page },
      );
      expect([listed.total, listed.documents.length]).toEqual([found.total, found.matches.length]);
      return [found.total, found.matches.length];
    };
    expect(await total(10, 0)).toEqual([2, 2]);
    expect(await total(2, 0)).toEqual([2, 2]);
    expect(await total(1, 0)).toEqual([2, 1]);
    expect(await total(10, 1)).toEqual([2, 1]);
    expect(await total(1, 1)).toEqual([2, 1]);
    expect(await total(10, 2)).toEqual([2, 0]);
  });

  test("counts all matches on a page past the end", async () => {
    const found = await searchEntries(
      db,
      parseQuery("tea"),
      { userId: mira },
      { limit: 10, offset: 20 },
    );
    expect(found).toEqual({ matches: [], total: 2 });
  });

  test("folds case and accents", async () => {
    expect(await find("RESUME")).toEqual(["tax"]);
    expect(await find("Résumé")).toEqual(["tax"]);
  });

  test.each([
    ["한국어 문서", ["한국어", "문서", "한*", '"한국어 문서"']],
    ["データベース ガイド", ["データベース", "ガイド", "デー*"]],
    ["हिन्दी दस्तावेज़", ["हिन्दी", "दस्तावेज़"]],
    ["Российский ёж", ["российский", "ЁЖ", "российск*"]],
    ["Αθήνα οδός", ["Αθήνα", "ΟΔΌΣ"]],
    ["ﬁnal aﬀair ＴＥＳＴ", ["ﬁnal", "aﬀair", "ＴＥＳＴ"]],
    ["مُحَمَّد", ["مُحَمَّد"]],
    ["เอกสารที่นี่", ["เอกสารที่นี่"]],
    ["tiếng Việt smånd", ["tieng", "VIỆT", "smand"]],
  ])("finds words of %s as they are written", async (body, queries) => {
    await add("written", mira, "written.txt", body);
    for (const query of queries) {
      expect(await find(query), query).toEqual(["written"]);
      const passages = await listPassages(db, parseQuery(query), [toDocumentId("written")]);
      expect(toSnippet(passages.get(toDocumentId("written")) ?? "").marks, query).not.toEqual([]);
    }
    await db.transaction((tx) => deleteDocument(tx, toDocumentId("written")));
  });

  test("finds the beginning of a word with an asterisk only", async () => {
    expect(await find("minut*")).toEqual(["tea"]);
    expect(await find("minut")).toEqual([]);
  });

  test("finds phrases in their order", async () => {
    expect(await find('"green tea"')).toEqual(["tea"]);
    expect(await find('"tea green"')).toEqual([]);
    expect(await find('steuer "tax office"')).toEqual(["tax"]);
  });

  test("takes operators and syntax of both engines as words", async () => {
    for (const query of ["a AND b", "NOT d", "NEAR(e)", "col:f", "^g", "12e5", "x@y.example"])
      expect(await find(query), query).toEqual(["odd"]);
  });

  test.each([
    '"',
    '""',
    "*",
    "'",
    "\\",
    "(",
    ")",
    "a:*:b",
    "-",
    "--",
    "!",
    "&",
    "|",
    "<->",
    "\u0000",
    "%",
    "é\u0301",
    "😀",
    "{a b}:c",
    '"a" * "',
    "NEAR",
    "AND",
    "x".repeat(1000),
  ])("answers %j without an error", async (query) => {
    await expect(find(query)).resolves.toBeInstanceOf(Array);
  });

  test("answers any string without an error", async () => {
    const syntax = fc.constantFrom(..."\"'*:()-!&|<>^{}\\ ", " AND ", " NEAR(", "tea", "'tea':A");
    const query = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(fc.oneof(syntax, fc.string({ maxLength: 3 }))).map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        await expect(find(text)).resolves.toBeInstanceOf(Array);
      }),
      cases(300),
    );
  });

  test("marks the matches of one letter and of several in a passage", async () => {
    for (const [query, marked] of [
      ["b*", "bill"],
      ["bil*", "bill"],
    ] as const) {
      const page = { limit: 10, offset: 0 };
      const { matches } = await searchEntries(db, parseQuery(query), { userId: mira }, page);
      const bill = matches.find(({ documentId }) => documentId === "bill");
      const { text, marks } = toSnippet(bill?.passage ?? "");
      expect(marks.map(([start, end]) => text.slice(start, end))).toContain(marked);
    }
  });

  test("marks the matches in a passage", async () => {
    const { matches } = await searchEntries(
      db,
      parseQuery("office"),
      { userId: mira },
      { limit: 1, offset: 0 },
    );
    const snippet = toSnippet(matches[0]?.passage ?? "");
    expect(snippet.marks.map(([start, end]) => snippet.text.slice(start, end))).toEqual(["office"]);
  });

  test("marks words with accents and phrases", async () => {
    const marked = async (query: string) => {
      const page = { limit: 1, offset: 0 };
      const found = await searchEntries(db, parseQuery(query), { userId: mira }, page);
      const { text, marks } = toSnippet(found.matches[0]?.passage ?? "");
      return marks.map(([start, end]) => text.slice(start, end));
    };
    expect(await marked("resume")).toEqual(["résumé"]);
    expect(await marked('"green tea"')).toEqual(["green tea"]);
  });

  test("cuts the passage of one letter around its first match, wherever it is in the text", async () => {
    const before = Array.from({ length: 900 }, (_, index) => `m${index}`).join(" ");
    await add("long", mira, "manual.txt", `${before} the zebra, zoo ${before}`);
    const page = { limit: 10, offset: 0 };
    const { matches } = await searchEntries(db, parseQuery("z*"), { userId: mira }, page);
    const passages = await listPassages(db, parseQuery("z*"), ["long", "tea"].map(toDocumentId));
    for (const passage of [matches[0]?.passage, passages.get("long")]) {
      const { text, marks } = toSnippet(passage ?? "");
      expect(text).toMatch(/^…m\d+ .* the zebra, zoo m0 .*…$/);
      expect(text.split(" ").length).toBeLessThan(30);
      expect(marks.map(([start, end]) => text.slice(start, end))).toEqual(["zebra", "zoo"]);
    }
    await db.transaction((tx) => deleteDocument(tx, toDocumentId("long")));
  });

  test("follows renamed and deleted documents", async () => {
    await add("gone", mira, "walrus.txt", "text of the walrus");
    await db.transaction((tx) => renameSearchEntry(tx, toDocumentId("gone"), "manatee.txt"));
    expect(await find("manatee")).toEqual(["gone"]);
    expect(await find("manatee walrus")).toEqual(["gone"]);
    await db.transaction((tx) => deleteDocument(tx, toDocumentId("gone")));
    expect(await find("walrus")).toEqual([]);
  });
});
