import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fakeDaemon } from "../../support/fake-daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";
import { signIn } from "../../support/signed-in.ts";

const ID = "01a1fdff-ed3d-7ce1-8986-d032f4367fd1";
const document = {
  id: ID,
  filename: "bill.pdf",
  content_type: "application/pdf",
  size_bytes: 5,
  sha256: "0".repeat(64),
  status: "ready",
  status_reason: null,
  storage_backend: "internal",
  semantic_index_status: "none",
  topics: [],
  classification: null,
  created_at: "2026-11-21T12:00:00.000Z",
  updated_at: "2026-11-21T12:00:00.000Z",
};
const trashed = {
  ...document,
  deleted_at: "2026-11-21T12:00:00.000Z",
  expires_at: "2026-12-21T12:00:00.000Z",
};
const page = (items: readonly unknown[]) => ({
  body: { items, total: items.length, page: 1, per_page: 100 },
});

test("document delete --permanent asks the daemon to skip the trash", async () => {
  expect(await optionsOf("vault document delete", [ID, "--permanent"])).toMatchObject({
    ids: [ID],
    permanent: true,
  });
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    [`GET /api/documents/${ID}`]: { body: document },
    [`DELETE /api/documents/${ID}`]: { body: { success: true } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const line = ["vault", "document", "delete", ID, "--permanent", "--yes"];
  expect(await runCli(line, { home: home.path })).toMatchObject({ code: 0 });
  expect(daemon.requests.at(-1)?.path).toBe(`/api/documents/${ID}?permanent=true`);
});

test("document trash lists, restores by name, deletes and empties", async () => {
  await using home = await temporaryHome();
  await using daemon = await fakeDaemon({
    "GET /api/documents/trash": page([trashed]),
    [`POST /api/documents/${ID}/restore`]: { body: document },
    [`DELETE /api/documents/trash/${ID}`]: { status: 204 },
    "DELETE /api/documents/trash": { body: { removed: 1 } },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const run = (...words: string[]) =>
    runCli(["vault", "document", "trash", ...words], { home: home.path });
  expect((await run("list", "--json=filename,expires_at")).json()).toEqual([
    { filename: "bill.pdf", expires_at: trashed.expires_at },
  ]);
  expect((await run("restore", "bill.pdf", "--json")).json()).toMatchObject([
    { item: "bill.pdf", id: ID, error: null },
  ]);
  expect(await run("restore", "other.pdf")).toMatchObject({ code: 6 });
  expect(await run("delete", "bill.pdf")).toMatchObject({ code: 2 });
  expect(await run("delete", "bill.pdf", "--yes")).toMatchObject({ code: 0 });
  expect((await run("empty", "--yes", "--json")).json()).toEqual({ removed: 1 });
});

test("document replace sends the file with its precondition, versions lists, restore returns", async () => {
  await using home = await temporaryHome();
  const version = {
    number: 1,
    is_current: false,
    content_type: "application/pdf",
    size_bytes: 5,
    sha256: "0".repeat(64),
    created_at: "2026-11-21T12:00:00.000Z",
  };
  await using daemon = await fakeDaemon({
    [`PUT /api/documents/${ID}/content`]: [
      { body: document },
      { status: 412, body: { detail: "The content has changed." } },
    ],
    [`GET /api/documents/${ID}`]: { body: document },
    [`GET /api/documents/${ID}/versions`]: page([version]),
    [`POST /api/documents/${ID}/versions/1/restore`]: { body: document },
    [`POST /api/documents/${ID}/versions/9/restore`]: { status: 404, body: { detail: "no" } },
    [`GET /api/documents/${ID}/versions/1/content`]: {
      body: Buffer.from("older"),
      headers: { "Content-Type": "application/pdf" },
    },
  });
  await signIn(home.path, { url: daemon.url, vault: {} });
  const file = join(home.path, "new.pdf");
  await writeFile(file, "newer");
  const run = (...words: string[]) => runCli(["vault", "document", ...words], { home: home.path });
  expect(await run("replace", ID, file)).toMatchObject({ code: 0 });
  const [sent] = daemon.requests;
  expect(sent?.body.toString()).toBe("newer");
  expect(sent?.headers).toMatchObject({ "if-match": "*", "content-length": "5" });
  const stale = await run("replace", ID, file, "--if-match", "abc");
  expect(stale.code).not.toBe(0);
  expect(daemon.requests.at(-1)?.headers["if-match"]).toBe('"abc"');
  expect((await run("versions", ID, "--json=number")).json()).toEqual([{ number: 1 }]);
  expect(await run("restore", ID, "1")).toMatchObject({ code: 0 });
  const missing = await run("restore", ID, "9");
  expect(missing).toMatchObject({ code: 6 });
  expect(missing.err).toContain("croft vault document versions");
  expect(await run("download", ID, "--version-number", "1", "-o", "-")).toMatchObject({
    code: 0,
    out: "older",
  });
});
