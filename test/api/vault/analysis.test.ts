import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";
import { docx } from "../../support/zip.ts";

let daemon: TestDaemon;
let person: VaultPerson;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  person = createPerson(daemon, "mira", "198.51.100.1");
  await person.register();
  await person.signIn();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const DOCX = docx(
  "<w:document xmlns:w='w'><w:p><w:t>The hotel in Lisbon was full of résumés</w:t></w:p></w:document>",
);

async function upload(content: string | Uint8Array<ArrayBuffer>, name: string) {
  const body = new FormData();
  body.set("file", new File([content], name));
  const answer = await person.request("/api/documents/upload", { method: "POST", body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.json.id as string;
}

async function processed(id: string) {
  return vi.waitUntil(
    async () => {
      const { json } = await person.request(`/api/documents/${id}`);
      return ["ready", "classification_failed"].includes(json.status) ? json : undefined;
    },
    { timeout: 60_000, interval: 50 },
  );
}

test("a document's text is extracted, classified and found", async () => {
  await person.request("/api/topics", {
    json: { name: "Travel", description: "hotel, flight, train" },
  });
  const id = await upload(DOCX, "trip.docx");
  expect(await processed(id)).toMatchObject({
    status: "ready",
    status_reason: null,
    extracted_text: "The hotel in Lisbon was full of résumés",
    topics: ["Travel"],
    classification: { topic: "Travel", provider: "builtin", words: ["hotel"] },
  });
  const found = await person.request("/api/search?q=RESUMES");
  expect(found.json).toMatchObject({ total: 1, items: [{ kind: "document", document: { id } }] });
  const { text, marks } = found.json.items[0].snippet;
  expect(marks.map(([start, end]: [number, number]) => text.slice(start, end))).toEqual([
    "résumés",
  ]);
  const listed = await person.request("/api/documents?q=lisbon");
  expect(listed.json.items[0]).toMatchObject({ id, snippet: expect.stringContaining("Lisbon") });
  for (const query of ["topic=travel", "kind=document"])
    expect((await person.request(`/api/search?q=lisbon&${query}`)).json.total).toBe(1);
  for (const query of ["topic=other", "kind=item", "to=2020-01-01T00:00:00.000Z"])
    expect((await person.request(`/api/search?q=lisbon&${query}`)).json.total).toBe(0);
});

test("a hostile file fails its own processing and nothing else", async () => {
  const bomb = docx(
    `<w:document xmlns:w='w'><w:t>${"0".repeat(32 * 1024 * 1024)}</w:t></w:document>`,
  );
  const id = await upload(bomb, "bomb.docx");
  expect(await processed(id)).toMatchObject({
    status: "classification_failed",
    status_reason: "too_complex",
    extracted_text: null,
  });
  expect(await person.request("/api/auth/me")).toMatchObject({ status: 200 });
});

test("a file without text is ready, with the reason", async () => {
  const reasonOf = async (hex: string, name: string) =>
    (await processed(await upload(Buffer.from(hex, "hex"), name))) as unknown;
  const program = "7f454c4602010100000000000000000003003e00";
  const picture = "89504e470d0a1a0a0000000d4948445200";
  expect(await reasonOf(program, "a.bin")).toMatchObject({
    status: "ready",
    status_reason: "unsupported_format",
  });
  expect(await reasonOf(picture, "a.png")).toMatchObject({
    status: "ready",
    status_reason: "ocr_off",
  });
  const names = Buffer.from("Root Entry\0WordDocument\0", "utf16le").toString("hex");
  const word = `d0cf11e0a1b11ae1${"00".repeat(22)}0900${"00".repeat(480)}${names}`;
  expect(await reasonOf(word, "a.doc")).toMatchObject({
    status: "ready",
    status_reason: "legacy_format",
  });
});

test("a document with incomplete text is ready, is found, and shows the reason for the missing text", async () => {
  const id = await upload(Buffer.from(`beginning ${"word ".repeat(250_000)}`), "long.txt");
  expect(await processed(id)).toMatchObject({ status: "ready", status_reason: "too_large" });
  const { json } = await person.request("/api/search?q=beginning");
  expect(json).toMatchObject({ total: 1, items: [{ document: { id } }] });
});

test("a document can be classified again", async () => {
  const id = await upload("nothing of note", "a.txt");
  await processed(id);
  await person.request("/api/topics", { json: { name: "Note" } });
  expect(await person.request(`/api/documents/${id}/classify`, { method: "POST" })).toMatchObject({
    status: 202,
    json: { document_id: id, status: "processing" },
  });
  await vi.waitUntil(
    async () =>
      (await person.request(`/api/documents/${id}`)).json.classification?.topic === "Note",
    { timeout: 60_000, interval: 50 },
  );
});

test("an item of connected storage is analysed and found", async () => {
  const root = join(daemon.home, "files", "mira", "papers");
  await mkdir(root, { recursive: true });
  await writeFile(join(root, "letter.txt"), "A letter from the hotel in Porto");
  const connected = await person.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: "Papers", settings: { root: "papers" } },
  });
  expect(connected).toMatchObject({ status: 201 });
  const base = `/api/cloud/connections/${connected.json.id}/items`;
  const listing = await person.request(base);
  const item = listing.json.items[0].provider_item_id as string;
  expect(
    await person.request(`${base}/${encodeURIComponent(item)}/analyze`, { method: "POST" }),
  ).toMatchObject({ status: 202, json: { analysis_status: "pending" } });
  const detail = await vi.waitUntil(
    async () => {
      const { json } = await person.request(`${base}/${encodeURIComponent(item)}/detail`);
      return json.analysis_status === "ready" ? json : undefined;
    },
    { timeout: 60_000, interval: 50 },
  );
  expect(detail).toMatchObject({
    extracted_text: "A letter from the hotel in Porto",
    topics: ["Travel"],
  });
  expect((await person.request("/api/search?q=porto&topic=travel")).json).toMatchObject({
    total: 1,
    items: [{ kind: "item", item: { name: "letter.txt", connection_id: connected.json.id } }],
  });
  const count = async (filter: string) =>
    (await person.request(`/api/search?q=porto&${filter}`)).json.total;
  const elsewhere = "01970000-0000-7000-8000-000000000000";
  expect(await count(`connection_id=${connected.json.id}`)).toBe(1);
  expect(await count(`connection_id=${elsewhere}`)).toBe(0);
  expect(await count("content_type=text/plain")).toBe(1);
  expect(await count("content_type=application/pdf")).toBe(0);
  expect(await count("from=2000-01-01T00:00:00.000Z")).toBe(1);
  expect(await count("from=2200-01-01T00:00:00.000Z")).toBe(0);
});

test("an item with incomplete text is ready, and shows the reason until the text is complete", async () => {
  const root = join(daemon.home, "files", "mira", "books");
  await mkdir(root, { recursive: true });
  const file = join(root, "long.txt");
  await writeFile(file, `opening ${"word ".repeat(250_000)}`);
  const connected = await person.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: "Books", settings: { root: "books" } },
  });
  const base = `/api/cloud/connections/${connected.json.id}/items`;
  const [item] = (await person.request(base)).json.items;
  const path = `${base}/${encodeURIComponent(item.provider_item_id)}`;
  const analyze = async (text: string) => {
    await person.request(`${path}/analyze`, { method: "POST" });
    return vi.waitUntil(
      async () => {
        const { json } = await person.request(`${path}/detail`);
        const isDone = json.analysis_status === "ready" && json.extracted_text.includes(text);
        return isDone ? json : undefined;
      },
      { timeout: 60_000, interval: 50 },
    );
  };
  expect(await analyze("opening")).toMatchObject({ unsupported_analysis_reason: "too_large" });
  expect((await person.request("/api/search?q=opening&kind=item")).json.total).toBe(1);
  await writeFile(file, "a short text");
  await person.request(`${base}?refresh=true`);
  expect(await analyze("short")).toMatchObject({ unsupported_analysis_reason: null });
});
