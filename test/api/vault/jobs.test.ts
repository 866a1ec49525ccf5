import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { withDatabaseFile } from "../../support/skip.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let admin: VaultPerson;
let person: VaultPerson;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  admin = createPerson(daemon, "keeper", "198.51.100.250");
  const answer = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
    headers: { "User-Agent": "croft-test" },
  });
  admin.accessToken = answer.json.access_token;
  person = createPerson(daemon, "mira", "198.51.100.1");
  await person.register();
  await person.signIn();
});
afterAll(() => daemon[Symbol.asyncDispose]());

const JOBS = "/api/admin/jobs";

async function upload(name: string): Promise<string> {
  const body = new FormData();
  body.set("file", new File([`text of ${name}`], name));
  const { id } = (await person.request("/api/documents/upload", { method: "POST", body })).json;
  await vi.waitUntil(
    async () => (await person.request(`/api/documents/${id}`)).json.status === "ready",
    { timeout: 60_000, interval: 50 },
  );
  return id;
}

/** A job as a failure, or the queue's backlog, would leave it. */
function insert(job: {
  readonly key: string;
  readonly state: "waiting" | "dead";
  readonly kind?: string;
  readonly error?: string;
}): number {
  const db = new Sqlite(join(daemon.home, "croft.db"));
  const { kind = "vault.documents.process", key, state, error = null } = job;
  const { lastInsertRowid } = db
    .prepare(
      `INSERT INTO jobs (kind, payload, key, state, run_at, attempts, last_error, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, 4, ?, 0, ?)`,
    )
    .run(
      kind,
      JSON.stringify({ document_id: key, secret: "sesame" }),
      key,
      state,
      Date.now() + 3_600_000,
      error,
      Date.now(),
    );
  db.close();
  return Number(lastInsertRowid);
}

const statusOf = async (id: string) => (await person.request(`/api/documents/${id}`)).json.status;

describe("GET /api/admin/jobs", () => {
  withDatabaseFile("shows what failed and why, without payloads and credentials", async () => {
    const key = await upload("a.txt");
    const error = "Error: no answer of https://user:geheim@example.org";
    const id = insert({ key, state: "dead", error });
    const listed = await admin.request(`${JOBS}?state=dead&kind=vault.documents.process`);
    expect(listed.json).toMatchObject({
      total: 1,
      items: [
        {
          id,
          state: "dead",
          description: "extract the text of a document and classify it",
          document_id: key,
          item_id: null,
          attempts: 4,
          last_error: "Error: no answer of https://[redacted]@example.org",
        },
      ],
    });
    expect(listed.text).not.toContain("sesame");
    const viewed = await admin.request(`${JOBS}/${id}`);
    expect(viewed.json).toEqual(listed.json.items[0]);
    expect((await admin.request(`${JOBS}?kind=no.such`)).json).toMatchObject({ total: 0 });
  });

  test("refuses other states and ids that are not numbers", async () => {
    expect(await admin.request(`${JOBS}?state=lost`)).toMatchObject({ status: 422 });
    expect(await admin.request(`${JOBS}/abc`)).toMatchObject({ status: 422 });
    expect(await admin.request(`${JOBS}/999999`)).toMatchObject({ status: 404 });
  });
});

describe("POST /api/admin/jobs/{id}/retry", () => {
  withDatabaseFile("runs a dead job, which is gone when it is done", async () => {
    const key = await upload("b.txt");
    const id = insert({ key, state: "dead" });
    const answer = await admin.request(`${JOBS}/${id}/retry`, { method: "POST" });
    expect(answer).toMatchObject({ status: 200, json: { id } });
    await vi.waitUntil(async () => (await admin.request(`${JOBS}/${id}`)).status === 404, {
      timeout: 60_000,
      interval: 50,
    });
    expect(await statusOf(key)).toBe("ready");
    const audit = await admin.request("/api/admin/audit?event_type=admin");
    expect(audit.json.items[0]).toMatchObject({
      event_type: "admin.job_retried",
      resource_id: String(id),
      metadata: { kind: "vault.documents.process" },
    });
  });

  withDatabaseFile(
    "POST /api/admin/jobs/{id}/retry is a conflict when another job of the same document waits",
    async () => {
      const key = await upload("c.txt");
      const dead = insert({ key, state: "dead" });
      insert({ key, state: "waiting" });
      const answer = await admin.request(`${JOBS}/${dead}/retry`, { method: "POST" });
      expect(answer).toMatchObject({ status: 409 });
    },
  );
});

describe("POST /api/admin/jobs/{id}/cancel", () => {
  withDatabaseFile(
    "deletes a waiting job, and its document does not stay in processing",
    async () => {
      const key = await upload("d.txt");
      const id = insert({ key, state: "waiting" });
      const db = new Sqlite(join(daemon.home, "croft.db"));
      db.prepare("UPDATE vault_documents SET status = 'processing' WHERE id = ?").run(key);
      db.close();
      const cancel = () => admin.request(`${JOBS}/${id}/cancel`, { method: "POST" });
      expect(await cancel()).toMatchObject({ status: 204 });
      expect(await statusOf(key)).toBe("classification_failed");
      expect(await cancel()).toMatchObject({ status: 404 });
    },
  );
});

test("a scheduled task is named by its job and is not cancelled", async () => {
  const kind = "schedule.cron.export_audit";
  const listed = await admin.request(`${JOBS}?state=waiting&kind=${kind}`);
  expect(listed.json).toMatchObject({
    total: 1,
    items: [{ description: "export_audit (scheduled task)" }],
  });
  const { id } = listed.json.items[0];
  const answer = await admin.request(`${JOBS}/${id}/cancel`, { method: "POST" });
  expect(answer).toMatchObject({ status: 409 });
  expect(await admin.request(`${JOBS}/${id}`)).toMatchObject({ status: 200 });
});

withDatabaseFile(
  "jobs of a deleted document and of a deleted user's documents go with them",
  async () => {
    const key = await upload("e.txt");
    const ids = [insert({ key, state: "dead" }), insert({ key, state: "waiting" })];
    expect(await person.request(`/api/documents/${key}`, { method: "DELETE" })).toMatchObject({
      status: 200,
    });
    for (const id of ids)
      expect(await admin.request(`${JOBS}/${id}`)).toMatchObject({ status: 404 });
    const other = insert({ key: await upload("f.txt"), state: "dead" });
    const me = await person.request("/api/auth/me");
    await admin.request(`/api/admin/users/${me.json.id}`, { method: "DELETE" });
    expect(await admin.request(`${JOBS}/${other}`)).toMatchObject({ status: 404 });
  },
);
