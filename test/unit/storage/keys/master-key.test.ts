import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  addMasterKey,
  exportMasterKeys,
  retireOldMasterKeys,
  type MasterKeyOptions,
  openMasterKeys,
} from "../../../../storage/keys/master-key.ts";
import { assertKeyOfDatabase, openKeyring } from "../../../../storage/keys/open.ts";
import {
  createSystemKeyring,
  type Keytar,
  probeSecretStore,
  type SecretStore,
} from "../../../../storage/keys/system-keyring.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-keys-"));
});
afterEach(() => rm(folder, { recursive: true }));

function memoryStore(): SecretStore & { entries: Map<string, string> } {
  const entries = new Map<string, string>();
  return {
    entries,
    get: async (account) => entries.get(account),
    set: async (account, secret) => void entries.set(account, secret),
    remove: async (account) => void entries.delete(account),
  };
}

const broken: SecretStore = {
  get: () => Promise.reject(new Error("locked")),
  set: () => Promise.reject(new Error("locked")),
  remove: () => Promise.reject(new Error("locked")),
};

const options = (changes: Partial<MasterKeyOptions> = {}): MasterKeyOptions => ({
  folder,
  fromEnvironment: undefined,
  source: "auto",
  keyring: broken,
  randomBytes,
  ...changes,
});
const hex = (byte: number) => Buffer.alloc(32, byte).toString("hex");
const keyFile = () => join(folder, "master.key");

describe("the first start", () => {
  test("falls back to a private file when the keyring does not work", async () => {
    const opened = await openMasterKeys(options(), true);
    expect(opened.source).toBe("file");
    expect(opened.masters).toMatchObject([{ version: 1 }]);
    for (const name of await readdir(folder)) {
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    }
    expect(await openMasterKeys(options(), false)).toEqual(opened);
  });

  test("takes a keyring that works, leaves no file and no probe behind", async () => {
    const keyring = memoryStore();
    const opened = await openMasterKeys(options({ keyring }), true);
    expect(opened.source).toBe("keyring");
    expect(await readdir(folder)).toEqual(["master.json"]);
    expect([...keyring.entries.keys()]).toEqual([expect.stringMatching(/^master-key:/)]);
    expect(await openMasterKeys(options({ keyring }), false)).toEqual(opened);
  });

  test("the first start does not touch the keyring when the file is chosen", async () => {
    const keyring = memoryStore();
    expect((await openMasterKeys(options({ keyring, source: "file" }), true)).source).toBe("file");
    expect(keyring.entries.size).toBe(0);
  });

  test("refuses when the keyring is chosen and does not work", async () => {
    await expect(openMasterKeys(options({ source: "keyring" }), true)).rejects.toMatchObject({
      code: "unavailable",
    });
    expect(await readdir(folder)).toEqual([]);
  });

  test("uses the environment's key and stores no key", async () => {
    const opened = await openMasterKeys(options({ fromEnvironment: hex(7) }), true);
    expect(opened).toEqual({
      source: "environment",
      masters: [{ version: 1, bytes: Buffer.alloc(32, 7) }],
      retired: [],
    });
    expect(await readdir(folder)).toEqual(["master.json"]);
    expect(await readFile(join(folder, "master.json"), "utf8")).not.toContain(hex(7));
    const base64 = Buffer.alloc(32, 7).toString("base64");
    expect(await openMasterKeys(options({ fromEnvironment: base64 }), false)).toEqual(opened);
  });

  test("a first start that was interrupted after writing the key continues with that key", async () => {
    await writeFile(keyFile(), `${hex(5)}\n`, { mode: 0o600 });
    const opened = await openMasterKeys(options({ keyring: memoryStore() }), true);
    expect(opened).toEqual({
      source: "file",
      masters: [{ version: 1, bytes: Buffer.alloc(32, 5) }],
      retired: [],
    });
  });

  test.each([
    "short",
    hex(1).slice(1),
    `${hex(1)},x`,
    "a passphrase is not a key at all and is refused",
  ])("refuses %j as a key without repeating it", async (fromEnvironment) => {
    const opening = openMasterKeys(options({ fromEnvironment }), true);
    await expect(opening).rejects.toMatchObject({ code: "invalid" });
    await expect(opening).rejects.not.toThrow(fromEnvironment);
  });
});

describe("a later start never makes a new key", () => {
  test("when the file is missing", async () => {
    await openMasterKeys(options(), true);
    await rm(keyFile());
    await expect(openMasterKeys(options(), true)).rejects.toMatchObject({ code: "missing" });
    expect(await readdir(folder)).toEqual(["master.json"]);
  });

  test("when the whole folder is missing but a database exists", async () => {
    await expect(openMasterKeys(options(), false)).rejects.toMatchObject({ code: "missing" });
  });

  test("when another key is in its place", async () => {
    await openMasterKeys(options(), true);
    await writeFile(keyFile(), `${hex(3)}\n`);
    await expect(openMasterKeys(options(), true)).rejects.toMatchObject({ code: "different" });
    await expect(openMasterKeys(options({ fromEnvironment: hex(4) }), true)).rejects.toMatchObject({
      code: "different",
    });
  });

  test("when the keyring holds it and does not answer, or has lost it", async () => {
    const keyring = memoryStore();
    await openMasterKeys(options({ keyring }), true);
    await expect(openMasterKeys(options(), true)).rejects.toMatchObject({ code: "unavailable" });
    keyring.entries.clear();
    await expect(openMasterKeys(options({ keyring }), true)).rejects.toMatchObject({
      code: "missing",
    });
  });

  test("when the environment had it and does not any more", async () => {
    await openMasterKeys(options({ fromEnvironment: hex(7) }), true);
    await expect(openMasterKeys(options(), true)).rejects.toMatchObject({
      code: "missing",
      message: expect.stringContaining("CROFT_MASTER_KEY") as string,
    });
  });

  test("when the record is damaged", async () => {
    await openMasterKeys(options(), true);
    await writeFile(join(folder, "master.json"), "{}");
    await expect(openMasterKeys(options(), true)).rejects.toMatchObject({ code: "invalid" });
  });

  test("when others may read the file", async () => {
    await openMasterKeys(options(), true);
    await chmod(keyFile(), 0o644);
    await expect(openMasterKeys(options(), true)).rejects.toMatchObject({ code: "exposed" });
  });
});

describe("rotation", () => {
  test.each(["file", "keyring"] as const)(
    "in the %s adds a key, keeps the old one, then drops it",
    async (source) => {
      const at = options({ source, keyring: memoryStore() });
      const { masters: before } = await openMasterKeys(at, true);
      const { masters: both } = await addMasterKey(at);
      expect(both.map((master) => master.version)).toEqual([2, 1]);
      expect(both[1]).toEqual(before[0]);
      expect((await openMasterKeys(at, false)).masters).toEqual(both);
      await retireOldMasterKeys(at);
      expect(await openMasterKeys(at, false)).toMatchObject({
        masters: [both[0]],
        retired: [both[1]],
      });
      expect((await addMasterKey(at)).masters.map((master) => master.version)).toEqual([3, 2]);
      await retireOldMasterKeys(at);
      expect((await openMasterKeys(at, false)).retired).toEqual([both[0], both[1]]);
    },
  );

  test("cut off between key and record is finished by the next start", async () => {
    await openMasterKeys(options({ source: "file" }), true);
    const old = await readFile(keyFile(), "utf8");
    await writeFile(keyFile(), `${hex(8)}\n${old}`);
    const { masters } = await openMasterKeys(options(), false);
    expect(masters.map((master) => master.version)).toEqual([2, 1]);
    await writeFile(keyFile(), old);
    await expect(openMasterKeys(options(), false)).rejects.toMatchObject({ code: "different" });
  });

  test("rotation in the environment is a new key before the old one", async () => {
    await openMasterKeys(options({ fromEnvironment: hex(1) }), true);
    await expect(addMasterKey(options({ fromEnvironment: hex(1) }))).rejects.toMatchObject({
      code: "unavailable",
    });
    const both = options({ fromEnvironment: `${hex(2)},${hex(1)}` });
    const { masters } = await openMasterKeys(both, false);
    expect(masters.map((master) => master.version)).toEqual([2, 1]);
    await retireOldMasterKeys(both);
    expect((await openMasterKeys(both, false)).masters.map((master) => master.version)).toEqual([
      2,
    ]);
    await expect(openMasterKeys(options({ fromEnvironment: hex(1) }), false)).rejects.toMatchObject(
      { code: "different" },
    );
  });
});

describe("the system's keyring", () => {
  const keytar = (changes: Partial<Keytar>): Keytar => ({
    getPassword: async () => null,
    setPassword: async () => undefined,
    deletePassword: async () => true,
    ...changes,
  });

  test("times out a key command that hangs", async () => {
    const { promise: never } = Promise.withResolvers<never>();
    const hanging = createSystemKeyring({
      load: async () => keytar({ setPassword: () => never }),
      timeoutMs: 5,
    });
    expect(await probeSecretStore(hanging, "x")).toBe(false);
    const loading = createSystemKeyring({ load: () => never, timeoutMs: 5 });
    expect(await probeSecretStore(loading, "x")).toBe(false);
  });

  test("the system's keyring that forgets or cannot be loaded fails the probe", async () => {
    expect(await probeSecretStore(createSystemKeyring({ load: async () => keytar({}) }), "x")).toBe(
      false,
    );
    const unloadable = createSystemKeyring({
      load: () => Promise.reject(new Error("no libsecret")),
    });
    expect(await probeSecretStore(unloadable, "x")).toBe(false);
    expect(await probeSecretStore(memoryStore(), "x")).toBe(true);
  });

  test("the system's keyring is not loaded when the file is chosen", async () => {
    const at = {
      directory: folder,
      source: "file",
      masterKey: undefined,
      mayCreate: true,
    } as const;
    const loadKeytar = () => Promise.reject(new Error("loaded"));
    const keyring = await openKeyring({ ...at, loadKeytar });
    expect(keyring.source).toBe("file");
    const sealed = keyring.seal("totp", "secret", "row");
    expect((await openKeyring({ ...at, mayCreate: false })).openText("totp", sealed, "row")).toBe(
      "secret",
    );
  });
});

describe("a database", () => {
  test("a database is marked with the key that it is first opened with, and refuses another", async () => {
    const db = await openTestDatabase();
    await assertKeyOfDatabase(db, ["first"], 1);
    await assertKeyOfDatabase(db, ["second", "first"], 2);
    await assertKeyOfDatabase(db, ["second"], 3);
    await expect(assertKeyOfDatabase(db, ["first"], 4)).rejects.toMatchObject({
      code: "different",
    });
    await db.close();
  });
});

describe("an export for a backup", () => {
  test("opens with the same keys in a folder of another machine, without the keyring", async () => {
    const keyring = memoryStore();
    await openMasterKeys(options({ keyring }), true);
    const here = await addMasterKey(options({ keyring }));
    expect(here.source).toBe("keyring");
    const there = await mkdtemp(join(tmpdir(), "croft-keys-"));
    try {
      for (const [name, bytes] of await exportMasterKeys(options({ keyring })))
        await writeFile(join(there, name), bytes, { mode: 0o600 });
      const opened = await openMasterKeys(options({ folder: there }), false);
      expect(opened).toMatchObject({ source: "file", masters: here.masters });
    } finally {
      await rm(there, { recursive: true });
    }
  });

  test("fails while the keyring is locked", async () => {
    const keyring = memoryStore();
    await openMasterKeys(options({ keyring }), true);
    keyring.entries.clear();
    await expect(exportMasterKeys(options({ keyring }))).rejects.toThrow(
      /keyring is locked, or does not have the master key; unlock it by signing in/,
    );
  });
});
