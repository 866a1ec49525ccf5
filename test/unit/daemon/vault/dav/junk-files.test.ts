import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { createJunkFiles } from "../../../../../daemon/vault/dav/junk-files.ts";
import { toAccountId } from "../../../../../storage/tables/vault/ids.ts";
import { insertVaultUser } from "../../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

test("the files of Finder are bounded for each account and in all, and the oldest are deleted first", async () => {
  const clock = { now: 1_000 };
  const db = await openTestDatabase({ clock: () => clock.now });
  onTestFinished(() => db.close());
  const junk = createJunkFiles({ db, clock: () => clock.now });
  const addUser = async (handle: string) => {
    const id = toAccountId(handle);
    await db.transaction((tx) =>
      insertVaultUser(tx, {
        ...{ id, handle, email: `${handle}@example.org`, passwordHash: "", role: "user" },
        passwordMustChange: false,
      }),
    );
    return id;
  };
  const mira = await addUser("mira");
  const store = (user: typeof mira, place: string, bytes: number) => {
    clock.now += 1;
    const content = Readable.from([Buffer.alloc(bytes, place)]);
    return junk.store(user, place, { content, size: undefined });
  };
  // A path may be longer than a key of an index.
  const long = `documents/${"folder/".repeat(1_000)}._long`;
  await store(mira, long, 5);
  const found = await junk.find(mira, long);
  expect(found).toMatchObject({ name: "._long", size: 5, modifiedAt: 1_001 });
  const opened = found?.kind === "file" ? await found.open() : undefined;
  expect(opened).toMatchObject({ status: 200 });
  expect((await store(mira, "documents/._large", 64 * 1024 + 1)).size).toBe(0);
  const MIB = 1024 * 1024;
  await expect(store(mira, "documents/._huge", 16 * MIB + 1)).rejects.toMatchObject({
    code: "too_large",
  });
  const unread = { content: Readable.from([]), size: 16 * MIB + 1 };
  await expect(junk.store(mira, "documents/._huge", unread)).rejects.toMatchObject({
    code: "too_large",
  });
  for (let count = 0; count < 19; count += 1) await store(mira, `documents/._${count}`, 60_000);
  const isKept = async (user: typeof mira, place: string) =>
    (await junk.find(user, place)) !== undefined;
  expect(await isKept(mira, long)).toBe(false);
  expect(await isKept(mira, "documents/._0")).toBe(false);
  expect(await isKept(mira, "documents/._1")).toBe(true);
  const others = await Promise.all(Array.from({ length: 17 }, (_, at) => addUser(`user${at}`)));
  for (const other of others)
    for (let count = 0; count < 16; count += 1)
      await store(other, `documents/._${count}`, 64 * 1024 - 512);
  expect(await isKept(mira, "documents/._18")).toBe(false);
  const [first = mira, second = mira] = others;
  expect(await isKept(first, "documents/._0")).toBe(false);
  expect(await isKept(second, "documents/._0")).toBe(true);
});
