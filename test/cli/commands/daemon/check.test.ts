import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startDaemon } from "../../../../daemon/main.ts";
import { objectColumns } from "../../../../storage/tables/common/object-references.ts";
import { fillServedHome, testInput } from "../../../support/daemon.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

let home: Awaited<ReturnType<typeof temporaryHome>>;

beforeEach(async () => {
  home = await temporaryHome();
  await fillServedHome(home.path);
});
afterEach(() => home[Symbol.asyncDispose]());

const check = (...words: readonly string[]) =>
  runCli(["daemon", "check", ...words, "--json"], {
    home: home.path,
    env: { CROFT_KEY_SOURCE: "file" },
  });

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const pathOf = (folder: string, key: string) =>
  join(home.path, folder, key.slice(0, 2), key.slice(2, 4), key);

async function put(path: string, content: string): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, content);
}

/** Changes the rows of the stopped home. */
function withRows(work: (connection: Sqlite.Database) => void): void {
  const connection = new Sqlite(join(home.path, "croft.db"));
  connection.pragma("foreign_keys = OFF");
  work(connection);
  connection.close();
}

/** A document row that names an object with this content. */
function addDocument(content: string): void {
  withRows((connection) => {
    const user = connection.prepare("SELECT id FROM vault_users").pluck().get();
    connection
      .prepare(
        `INSERT INTO vault_documents (id, user_id, filename, name_key, content_type, size_bytes, sha256, status,
           storage_backend, semantic_index_status, created_at, updated_at)
         VALUES (?, ?, 'a', 'a', 'text/plain', ?, ?, 'ready', 'internal', 'none', 0, 0)`,
      )
      .run(randomUUID(), user, Buffer.byteLength(content), sha256(content));
  });
}

test("flags become options", async () => {
  expect(await optionsOf("daemon check", [])).toEqual({});
  expect(await optionsOf("daemon check", ["--repair"])).toEqual({ repair: true });
});

test("finds no fault in an intact home while a daemon serves it", async () => {
  await put(pathOf("packages", sha256("whole")), "whole");
  addDocument("whole");
  const running = await startDaemon(testInput(home.path, {}, []));
  try {
    const ran = await check();
    expect({ code: ran.code, found: ran.json() }).toEqual({ code: 0, found: [] });
    expect(ran.err).toContain("1 objects");
    expect((await check("--repair")).code).toBe(7);
  } finally {
    await running.stop();
  }
});

test("reports missing and damaged objects; repair moves the damaged ones to quarantine", async () => {
  addDocument("gone");
  addDocument("right");
  await put(pathOf("packages", sha256("right")), "wrong");
  const found = await check("--jq", "map([.name, .problem, .repaired])");
  expect(found.code).toBe(1);
  const expected = [
    [sha256("gone"), "is missing", false],
    [sha256("right"), "is damaged", false],
  ].toSorted();
  expect(JSON.parse(found.out).toSorted()).toEqual(expected);

  const repaired = await check("--repair");
  expect(repaired.code).toBe(1);
  expect(repaired.out).toContain("quarantine");
  const quarantined = await readdir(join(home.path, "packages", "quarantine"));
  expect(quarantined).toEqual([expect.stringContaining(sha256("right"))]);
});

test("reports a repository that git finds damaged, that has no folder or no branches", async () => {
  const path = join(home.path, "repositories", "keeper", "notes.git");
  withRows((connection) => {
    const columns = `owner_id, name, lower_name, description, is_private, is_template, is_empty, branch_count,
      default_branch, object_format, trust_model, licenses, size_kib, path, needs_move, created_at, updated_at`;
    for (const name of ["notes", "absent", "lost"])
      connection
        .prepare(
          `INSERT INTO forge_repositories (${columns})
           SELECT id, '${name}', '${name}', '', 0, 0, 0, 1, 'main', 'sha1', 'default', '[]', 0, 'keeper/${name}.git', 0, 0, 0
           FROM forge_users LIMIT 1`,
        )
        .run();
  });
  await put(join(path, "HEAD"), "ref: refs/heads/main\n");
  await put(join(path, "refs", "heads", "main"), `${"1".repeat(40)}\n`);
  await mkdir(join(path, "objects"), { recursive: true });
  const lost = join(home.path, "repositories", "keeper", "lost.git");
  await put(join(lost, "HEAD"), "ref: refs/heads/main\n");
  for (const folder of ["objects", "refs"]) await mkdir(join(lost, folder));
  const found = await check("--jq", "map([.part, .name, .problem])");
  expect(found.code).toBe(1);
  expect(JSON.parse(found.out)).toEqual([
    ["repository", "keeper/notes.git", expect.stringContaining("git found damage")],
    ["repository", "keeper/absent.git", "has no folder"],
    ["repository", "keeper/lost.git", "has lost its branches"],
  ]);
});

test("deletes a damaged cache file with --repair; one that is missing is no problem", async () => {
  const running = await startDaemon(testInput(home.path, {}, []));
  await running.stop();
  const store = "the store";
  await writeFile(join(home.path, "cache", "store-id"), store);
  withRows((connection) => {
    const insert = connection.prepare(
      `INSERT INTO vault_cache_entries (store, cache_key, user_id, connection_id, size, hash, last_used_at)
       VALUES (?, ?, 'u', 'c', 5, ?, 0)`,
    );
    for (const text of ["first", "other"]) insert.run(store, sha256(text), sha256(text));
    connection.prepare("DELETE FROM vault_cache_entries WHERE store <> ?").run(store);
  });
  await put(pathOf("cache", sha256("first")), "FIRST");
  const found = await check(
    "--jq",
    'map([.part, .name, .repaired]) | .[] | select(.[0] == "cache")',
  );
  expect(JSON.parse(found.out)).toEqual(["cache", sha256("first"), false]);
  await check("--repair");
  expect((await check()).out).not.toContain(`"cache"`);
});

test("reports faults that SQLite finds in the database", async () => {
  withRows((connection) => {
    connection
      .prepare(
        `INSERT INTO vault_cache_entries (store, cache_key, user_id, connection_id, size, hash, last_used_at)
         VALUES ('s', 'k', 'absent', 'absent', 1, 'h', 0)`,
      )
      .run();
  });
  const found = await check("--jq", ".[0].part");
  expect({ code: found.code, out: found.out.trim() }).toEqual({ code: 1, out: "database" });
});

test("a home that was never started is not found", async () => {
  await rm(join(home.path, "croft.db"));
  expect((await check()).code).toBe(6);
});

test("every column that names objects is checked", () => {
  const connection = new Sqlite(join(home.path, "croft.db"), { readonly: true });
  const columns = connection
    .prepare(
      `SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
       WHERE m.type = 'table' AND c.name LIKE '%sha256'`,
    )
    .pluck()
    .all();
  connection.close();
  // The declared hash of an upload names no object yet; a result names bytes of connected storage, a row of the inbox a file,
  // and a thumbnail the content that it shows.
  const others = [
    "vault_document_thumbnails.content_sha256",
    "vault_document_uploads.promised_sha256",
    "vault_inbox_files.sha256",
    "vault_upload_results.sha256",
  ];
  const checked = objectColumns.map(({ table, hash }) => `${table}.${hash}`);
  expect([...checked, ...others].toSorted()).toEqual(columns.toSorted());
});

test("reports objects that nothing has referred to for long, and repair deletes them", async () => {
  addDocument("used");
  const [used, old, young] = ["used", "old", "young"].map((text) => ({ text, key: sha256(text) }));
  const longAgo = new Date(Date.now() - 5 * 86_400_000);
  for (const { text, key } of [used!, old!, young!]) await put(pathOf("packages", key), text);
  for (const { key } of [used!, old!]) await utimes(pathOf("packages", key), longAgo, longAgo);
  const ofObjects = ["--jq", 'map(select(.part == "object") | [.name, .problem, .repaired])'];
  expect((await check(...ofObjects)).json()).toEqual([
    [old!.key, "is an orphan: nothing has referred to it for two days", false],
  ]);
  expect((await check("--repair", ...ofObjects)).json()).toEqual([
    [old!.key, "was an orphan; it was deleted", true],
  ]);
  expect((await check()).json()).toEqual([]);
});

test("reports files of no upload and uploads without a file, and repair removes both", async () => {
  const dayMs = 86_400_000;
  const folder = join(home.path, "uploads");
  const addUpload = (id: string, begunAgoMs: number) =>
    withRows((connection) => {
      connection
        .prepare(
          `INSERT INTO vault_uploads (id, connection_id, user_id, parent_ref, name, size, fingerprint, created_at, expires_at)
           SELECT ?, 'c', id, '', 'large.bin', 9, 'f', ?, ? FROM vault_users LIMIT 1`,
        )
        .run(id, Date.now() - begunAgoMs, Date.now() + dayMs);
    });
  addUpload("whole", dayMs);
  addUpload("lost", dayMs);
  addUpload("beginning", 0);
  for (const name of ["whole", "left", "recent"]) await put(join(folder, name), "bytes");
  const old = new Date(Date.now() - 3 * dayMs);
  await utimes(join(folder, "left"), old, old);
  const ofUploads = ["--jq", 'map(select(.part == "upload") | [.name, .problem, .repaired])'];
  expect(JSON.parse((await check(...ofUploads)).out)).toEqual([
    ["lost", "has lost its bytes", false],
    ["left", "belongs to no upload", false],
  ]);
  expect(JSON.parse((await check("--repair", ...ofUploads)).out)).toEqual([
    ["lost", "had lost its bytes; it was ended", true],
    ["left", "belonged to no upload; it was deleted", true],
  ]);
  expect((await readdir(folder)).toSorted()).toEqual(["recent", "whole"]);
  expect(JSON.parse((await check(...ofUploads)).out)).toEqual([]);
});

test("gc deletes the blobs of container images that no manifest names, and no others", async () => {
  withRows((connection) => {
    const owner = Number(connection.prepare("SELECT id FROM forge_users").pluck().get());
    const addBlob = (image: string, content: string) =>
      connection
        .prepare(
          `INSERT INTO forge_container_blobs (owner_id, image, digest, sha256, size, created_at, used_at)
           VALUES (?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(owner, image, `sha256:${content}`, sha256(content), content.length, 0, Date.now());
    for (const content of ["named", "unnamed", "shared"]) addBlob("image", content);
    // Of two images, one of which has a manifest that names it.
    addBlob("other", "shared");
    connection.exec(`
      INSERT INTO forge_packages (owner_id, type, name, lower_name, revision, created_at, updated_at)
        VALUES (${owner}, 'container', 'image', 'image', 0, 0, 0);
      INSERT INTO forge_container_manifests (package_id, digest, media_type, artifact_type, size, content, annotations, summary, created_at)
        SELECT id, 'sha256:m', '', '', 1, '{}', '{}', '{}', 0 FROM forge_packages;
      INSERT INTO forge_container_references (manifest_id, digest) SELECT id, 'sha256:named' FROM forge_container_manifests;
      INSERT INTO forge_container_references (manifest_id, digest) SELECT id, 'sha256:shared' FROM forge_container_manifests;`);
  });
  for (const content of ["named", "unnamed", "shared"])
    await put(pathOf("packages", sha256(content)), content);
  const gc = (...words: readonly string[]) =>
    runCli(["daemon", "gc", ...words, "--json"], {
      home: home.path,
      env: { CROFT_KEY_SOURCE: "file" },
    });
  expect((await gc("--dry-run")).json()).toMatchObject({ gc: { objects: 1, bytes: 7 } });
  expect((await gc()).json()).toEqual({ objects: 1, bytes: 7 });
  expect((await gc()).json()).toEqual({ objects: 0, bytes: 0 });
  const rows: unknown[] = [];
  withRows((connection) => {
    const left = "SELECT image, digest FROM forge_container_blobs ORDER BY image, digest";
    rows.push(...connection.prepare(left).raw().all());
  });
  expect(rows).toEqual([
    ["image", "sha256:named"],
    ["image", "sha256:shared"],
  ]);
  expect((await check()).json()).toEqual([]);
});

test("gc deletes objects without references at once, but not while a daemon serves the home", async () => {
  addDocument("kept");
  for (const content of ["kept", "deleted"])
    await put(pathOf("packages", sha256(content)), content);
  const gc = (...words: readonly string[]) =>
    runCli(["daemon", "gc", ...words, "--json"], {
      home: home.path,
      env: { CROFT_KEY_SOURCE: "file" },
    });
  const running = await startDaemon(testInput(home.path, {}, []));
  try {
    expect((await gc()).code).toBe(7);
  } finally {
    await running.stop();
  }
  expect((await gc("--dry-run")).json()).toMatchObject({ gc: { objects: 1, bytes: 7 } });
  expect((await gc()).json()).toEqual({ objects: 1, bytes: 7 });
  expect((await gc()).json()).toEqual({ objects: 0, bytes: 0 });
  const [, ...rest] = await readdir(join(home.path, "packages"), { recursive: true });
  expect(rest.filter((path) => path.endsWith(sha256("deleted")))).toEqual([]);
  expect(rest.filter((path) => path.endsWith(sha256("kept")))).toHaveLength(1);
});
