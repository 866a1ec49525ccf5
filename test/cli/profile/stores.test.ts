import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFileStore, createKeyringStore, probeStore } from "../../../cli/profile/stores.ts";
import type { KeyringLibrary } from "../../../cli/system.ts";
import { temporaryHome } from "../support/run-cli.ts";

/** A working keyring, except for the replaced functions. */
function keyring(replaced: Partial<KeyringLibrary> = {}, load?: () => Promise<KeyringLibrary>) {
  const entries = new Map<string, string>();
  const library: KeyringLibrary = {
    getPassword: async (_service, account) => entries.get(account) ?? null,
    setPassword: async (_service, account, password) => {
      entries.set(account, password);
    },
    deletePassword: async (_service, account) => entries.delete(account),
    ...replaced,
  };
  let stuck = 0;
  const store = createKeyringStore({
    load: load ?? (async () => library),
    // Three seconds pass at once.
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        setTimeout(resolve, 20);
        signal?.addEventListener("abort", () => reject(new Error("aborted")));
      }),
    onStuck: () => {
      stuck += 1;
    },
  });
  return { store, entries, stuck: () => stuck };
}

describe("a keyring that", () => {
  test("works passes the probe and keeps no trace of it", async () => {
    const { store, entries, stuck } = keyring();
    await probeStore(store, "s3cret");
    expect(entries.size).toBe(0);
    expect(stuck()).toBe(0);
  });

  test.each<[string, ReturnType<typeof keyring>, string]>([
    [
      "is absent",
      keyring({}, () => Promise.reject(new Error("Failed to load keytar native addon"))),
      "its library cannot be loaded; on Linux it needs libsecret",
    ],
    [
      "has no service behind it",
      keyring({
        setPassword: () =>
          Promise.reject(new Error("Cannot autolaunch D-Bus without X11 $DISPLAY")),
      }),
      "Cannot autolaunch D-Bus",
    ],
    [
      "hangs",
      keyring({ setPassword: () => new Promise(() => undefined) }),
      "did not answer within 3 seconds",
    ],
    [
      "hangs while it is loaded",
      keyring({}, () => new Promise(() => undefined)),
      "did not answer within 3 seconds",
    ],
    ["forgets", keyring({ setPassword: async () => undefined }), "did not return"],
    ["lies", keyring({ getPassword: async () => "something else" }), "did not return"],
    ["cannot delete", keyring({ deletePassword: async () => false }), "keeps what was deleted"],
  ])("%s fails the probe with the reason", async (_what, { store }, reason) => {
    await expect(probeStore(store, "s3cret")).rejects.toMatchObject({
      code: "credential_store_unavailable",
      message: expect.stringContaining(reason) as string,
    });
  });

  test("hangs marks the process, which must not wait for it at its end", async () => {
    const { store, stuck } = keyring({ getPassword: () => new Promise(() => undefined) });
    await expect(store.get("x")).rejects.toMatchObject({ code: "credential_store_unavailable" });
    expect(stuck()).toBe(1);
  });

  test("takes short entries only is not given a long one", async () => {
    const { store, entries } = keyring();
    await expect(store.set("x", "é".repeat(1300))).rejects.toMatchObject({
      code: "credential_store_unavailable",
    });
    expect(entries.size).toBe(0);
  });
});

describe("a file store", () => {
  test("keeps each entry in a file that only its owner may read", async () => {
    await using home = await temporaryHome();
    const folder = join(home.path, "credentials");
    const store = createFileStore(folder);
    await probeStore(store, "s3cret");
    await store.set("id.forge", "{}");
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, "id.forge.json"))).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(["id.forge.json"]);
    expect(await store.delete("id.forge")).toBe(true);
    expect(await store.delete("id.forge")).toBe(false);
    expect(await store.get("id.forge")).toBeUndefined();
  });

  test("cannot be made to write elsewhere by the name of an entry", async () => {
    await using home = await temporaryHome();
    await createFileStore(join(home.path, "credentials")).set("../../evil", "x");
    expect(await readdir(home.path)).toEqual(["credentials"]);
  });

  test("shows readers the old entry or the new one, never half of it", async () => {
    await using home = await temporaryHome();
    const store = createFileStore(home.path);
    const value = (letter: string) => letter.repeat(20_000);
    await store.set("x", value("a"));
    let isDone = false;
    const writing = (async () => {
      for (let round = 0; round < 40; round++)
        await store.set("x", value(round % 2 === 0 ? "b" : "a"));
      isDone = true;
    })();
    while (!isDone) {
      // Reading is synchronous: without this the writer would never have its turn.
      await new Promise((resolve) => setImmediate(resolve));
      const read = await store.get("x");
      expect([value("a"), value("b")].includes(read ?? "")).toBe(true);
    }
    await writing;
  });
});
