import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sealAgainIn } from "../../../../daemon/composition/seal-again.ts";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { readMigrations } from "../../../../storage/engine/migrate.ts";
import {
  addKey,
  assertKeyOfDatabase,
  retireOldKeys,
  openKeyring,
  type OpenKeyringOptions,
} from "../../../../storage/keys/open.ts";
import { type KeyRotation, rotateMasterKey } from "../../../../storage/keys/rotation.ts";
import type { Keytar } from "../../../../storage/keys/system-keyring.ts";
import { sealedColumns } from "../../../../storage/tables/common/sealed.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";
import {
  addSealedRows,
  readSealedRows,
  sealedTexts,
} from "../../../support/storage/sealed-rows.ts";

const HOOKS = 3;
const oldKey = Buffer.alloc(32, 1).toString("hex");
const newKey = Buffer.alloc(32, 2).toString("hex");

let folder: string;
let db: Database;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-rotation-"));
  db = await openTestDatabase();
});
afterEach(async () => {
  await db.close();
  await rm(folder, { recursive: true });
});

/** A keyring of the system that remembers. */
function memoryKeytar(): Keytar & { readonly entries: Map<string, string> } {
  const entries = new Map<string, string>();
  return {
    entries,
    getPassword: async (_service, account) => entries.get(account) ?? null,
    setPassword: async (_service, account, password) => void entries.set(account, password),
    deletePassword: async (_service, account) => entries.delete(account),
  };
}

function options(changes: Partial<OpenKeyringOptions> = {}): OpenKeyringOptions {
  return { directory: folder, source: "file", masterKey: undefined, mayCreate: true, ...changes };
}

/** A start on the home as it is: the keyring opens, the database is its own, every value opens. */
async function open(at: OpenKeyringOptions) {
  const keyring = await openKeyring({ ...at, mayCreate: false });
  await assertKeyOfDatabase(db, keyring.checks, 1);
  expect(await readSealedRows(db, keyring)).toEqual(sealedTexts(HOOKS));
  return keyring;
}

async function fill(at: OpenKeyringOptions): Promise<void> {
  const keyring = await openKeyring(at);
  await assertKeyOfDatabase(db, keyring.checks, 1);
  await addSealedRows(db, keyring, HOOKS);
}

interface Changes {
  readonly db?: Database;
  readonly addKey?: () => ReturnType<typeof addKey>;
  readonly retireOldKeys?: () => Promise<void>;
  readonly skipUnreadable?: boolean;
}

async function rotate(at: OpenKeyringOptions, changes: Changes = {}): Promise<KeyRotation> {
  const keyring = await openKeyring({ ...at, mayCreate: false });
  await assertKeyOfDatabase(db, keyring.checks, 1);
  return rotateMasterKey({
    db,
    keyring,
    addKey: () => addKey(at),
    retireOldKeys: () => retireOldKeys(at),
    sealAgainIn,
    skipUnreadable: false,
    ...changes,
  });
}

const SEALED = sealedTexts(HOOKS).length;

describe.each(["file", "keyring"] as const)("a key in the %s", (source) => {
  let keytar = memoryKeytar();
  beforeEach(() => {
    keytar = memoryKeytar();
  });
  const at = () => options({ source, loadKeytar: async () => keytar });
  const kept = async () =>
    source === "file"
      ? readFile(join(folder, "master.key"), "utf8")
      : [...keytar.entries.values()].join();

  test("is replaced, and everything is sealed with the new one", async () => {
    await fill(at());
    // A deleted hook has no target any more.
    await db.run(
      `INSERT INTO forge_hooks (scope, kind, name, sealed_target, content_type, events, branch_filter, is_active, is_deleted, created_at, updated_at)
       VALUES ('repository', 'gitea', '', '', 'json', '[]', '', 0, 1, 0, 0)`,
    );
    const before = (await kept()).trim();
    const keyringBefore = await openKeyring(at());
    const sealedBefore = keyringBefore.seal("any", "text", "row");
    expect(await rotate(at())).toEqual({
      kind: "rotated",
      source,
      isResumed: false,
      sealedAgain: SEALED,
      leftUnreadable: [],
    });
    const keyring = await open(at());
    expect(keyring.isRotating).toBe(false);
    expect((await kept()).trim()).toMatch(/^[0-9a-f]{64}$/);
    expect(await kept()).not.toContain(before);
    expect(await readFile(join(folder, "master.json"), "utf8")).not.toContain(before);
    // An older copy of the database opens; signatures of the old key are invalid.
    expect(keyring.openText("any", sealedBefore, "row")).toBe("text");
    expect(keyring.checks).toEqual([expect.any(String), ...keyringBefore.checks]);
    expect(keyring.deriveAll("tokens")).toHaveLength(1);
    expect(keyring.derive("tokens")).not.toEqual(keyringBefore.derive("tokens"));
    const rows = await db.all<{ sealed_target: string }>(
      "SELECT sealed_target FROM forge_hooks WHERE is_deleted = 0",
    );
    expect(rows.every((row) => row.sealed_target.startsWith("k2."))).toBe(true);
    expect(await rotate(at())).toMatchObject({ isResumed: false, sealedAgain: SEALED });
    await open(at());
  });

  const crash = () => Promise.reject(new Error("crash"));
  const steps: Readonly<Record<string, () => Changes>> = {
    "before the new key is made": () => ({ addKey: crash }),
    "after the new key was made": () => ({
      addKey: async () => {
        await addKey(at());
        return crash();
      },
    }),
    ...Object.fromEntries(
      [...Array(SEALED).keys()].map((written): [string, () => Changes] => [
        `after ${written} of ${SEALED} values were written`,
        () => ({ db: failingAfter(written, "sealed") }),
      ]),
    ),
    "as the transaction ends": () => ({ db: failingAfter(0, "end") }),
    "after the commit": () => ({ retireOldKeys: crash }),
    "after the record forgot the old key, which lies there still": () => ({
      retireOldKeys: async () => {
        const both = await kept();
        await retireOldKeys(at());
        if (source === "file") await writeFile(join(folder, "master.key"), both);
        else for (const account of keytar.entries.keys()) keytar.entries.set(account, both);
        return crash();
      },
    }),
    "after everything": () => ({
      retireOldKeys: async () => {
        await retireOldKeys(at());
        return crash();
      },
    }),
  };

  test.each(Object.entries(steps))("interrupted %s loses nothing", async (_step, changes) => {
    await fill(at());
    await expect(rotate(at(), changes())).rejects.toThrow("crash");
    const { isRotating } = await open(at());
    expect(await rotate(at())).toMatchObject({ kind: "rotated", isResumed: isRotating });
    expect((await open(at())).isRotating).toBe(false);
    expect((await kept()).trim()).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("a key in the environment", () => {
  test("a key in the environment is not replaced by croft; nothing changes until a new one precedes it", async () => {
    const at = options({ masterKey: oldKey });
    await fill(at);
    expect(await rotate(at)).toEqual({ kind: "key_needed" });
    expect((await open(at)).isRotating).toBe(false);

    const both = options({ masterKey: `${newKey},${oldKey}` });
    expect(await rotate(both)).toMatchObject({
      kind: "rotated",
      isResumed: true,
      sealedAgain: SEALED,
    });
    expect((await open(both)).isRotating).toBe(false);
    await open(options({ masterKey: newKey }));
    // Another machine on the same database, or a folder that is created with each start, numbers its keys from one.
    await rm(join(folder, "master.json"));
    await openKeyring(options({ masterKey: newKey }));
    await open(options({ masterKey: newKey }));
    await expect(openKeyring(options({ masterKey: oldKey }))).rejects.toMatchObject({
      code: "different",
    });
  });
});

describe("values that do not open", () => {
  beforeEach(async () => {
    await fill(options());
    // Moved to another row: as good as damaged.
    await db.run(
      "UPDATE forge_hooks SET sealed_target = (SELECT sealed_target FROM forge_hooks WHERE id = 1) WHERE id = 2",
    );
  });

  test("stop the rotation before anything is changed", async () => {
    const key = await readFile(join(folder, "master.key"), "utf8");
    expect(await rotate(options())).toEqual({ kind: "unreadable", values: ["forge_hooks 2"] });
    expect(await readFile(join(folder, "master.key"), "utf8")).toBe(key);
  });

  test("values that do not open are kept on demand", async () => {
    expect(await rotate(options(), { skipUnreadable: true })).toMatchObject({
      kind: "rotated",
      sealedAgain: SEALED - 1,
      leftUnreadable: ["forge_hooks 2"],
    });
    await db.run("DELETE FROM forge_hooks WHERE id = 2");
    const keyring = await openKeyring(options());
    expect(await readSealedRows(db, keyring)).toHaveLength(SEALED - 1);
  });
});

test("more rows than one batch are all sealed again", async () => {
  const keyring = await openKeyring(options());
  await addSealedRows(db, keyring, 1_203);
  expect(await rotate(options())).toMatchObject({ sealedAgain: sealedTexts(1_203).length });
  expect(await readSealedRows(db, await openKeyring(options()))).toEqual(sealedTexts(1_203));
});

test("every column that a migration calls sealed is known to the rotation", () => {
  const called = readMigrations().flatMap(({ script }) =>
    [...script.matchAll(/CREATE TABLE (\w+) \(([^]*?)\) STRICT;/g)].flatMap(
      ([, table, body = ""]) => [
        ...[...body.matchAll(/^ *-- sealed\b.*\n *(\w+) /gim)].map(
          ([, column]) => `${table}.${column}`,
        ),
        ...[...body.matchAll(/^ *(sealed_\w+) /gm)].map(([, column]) => `${table}.${column}`),
      ],
    ),
  );
  const added = readMigrations().flatMap(({ script }) =>
    [...script.matchAll(/^ALTER TABLE (\w+) ADD COLUMN (sealed_\w+) /gm)].map(
      ([, table, column]) => `${table}.${column}`,
    ),
  );
  const known = Object.values(sealedColumns).map(({ table, column }) => `${table}.${column}`);
  // The queue takes any payload; only the mailer's have sealed values.
  expect(new Set([...called, ...added, "jobs.payload"])).toEqual(new Set(known));
});

/** Returns the database with a transaction that fails after `written` sealed values, or at its end. */
function failingAfter(written: number, at: "sealed" | "end"): Database {
  return {
    ...db,
    transaction: (work) =>
      db.transaction(async (tx) => {
        let count = 0;
        const run: Transaction["run"] = async (sql, ...values) => {
          const isSealed = values.some((value) => /k2\./.test(String(value)));
          if (at === "sealed" && isSealed && count++ === written) throw new Error("crash");
          return tx.run(sql, ...values);
        };
        const result = await work({ ...tx, run });
        if (at === "end") throw new Error("crash");
        return result;
      }),
  };
}
