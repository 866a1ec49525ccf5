import { afterEach, beforeEach, expect, test } from "vitest";
import type { GrantedRepository } from "../../../../daemon/forge/opened.ts";
import { createReleases } from "../../../../daemon/forge/releases/releases.service.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { type ForgeUser, insertUser } from "../../../../storage/tables/forge/accounts/users.ts";
import {
  countRecordedPush,
  countRecordedPushes,
} from "../../../../storage/tables/forge/repositories/pushes.ts";
import {
  type ForgeRepository,
  insertRepository,
} from "../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../support/forge/forge-rows.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

let db: Database;
let mira: ForgeUser;
let repository: ForgeRepository;
/** The tags that git has. */
let tags: Set<string>;

beforeEach(async () => {
  db = await openTestDatabase();
  tags = new Set();
  await db.transaction(async (tx) => {
    mira = await insertUser(tx, newUserRow("mira"));
    repository = await insertRepository(tx, newRepositoryRow(mira, "kiln", { isEmpty: false }));
  });
});
afterEach(() => db.close());

const countPush = () =>
  db.transaction(async (tx) => {
    const seen = (await countRecordedPushes(tx, repository.id)) ?? 0;
    await countRecordedPush(tx, repository.id, seen);
  });

/** Releases whose transactions begin when `between` has run. */
function openReleases(between: () => Promise<void>) {
  const late = new Proxy(db, {
    get: (target, name) =>
      name === "transaction"
        ? async (work: never) => {
            await between();
            return target.transaction(work);
          }
        : Reflect.get(target, name),
  });
  return createReleases({
    db: late,
    emit: async () => undefined,
    access: { within: async (_opened: unknown, _change: unknown, work: () => unknown) => work() },
    tags: {
      ensure: async (_code: unknown, _user: unknown, { name }: { readonly name: string }) => {
        if (tags.has(name)) return false;
        tags.add(name);
        await countPush();
        return true;
      },
    },
  } as never);
}

const opened = () =>
  ({
    repository,
    owner: mira,
    access: "owner",
    grant: {
      caller: { user: mira, scope: "all" },
      permission: { part: "releases", level: "write" },
      isChange: true,
    },
  }) as unknown as GrantedRepository;
const fields = {
  tagName: "v1",
  target: "main",
  title: "",
  body: "",
  isDraft: false,
  isPrerelease: false,
};
const change = () => ({ caller: { user: mira, scope: "all" }, address: "" }) as never;

test("a tag that is deleted while its release is written is written again", async () => {
  let isDeleted = false;
  const releases = openReleases(async () => {
    if (isDeleted) return;
    isDeleted = true;
    tags.delete("v1");
    await countPush();
  });
  const made = await releases.create(opened(), { ...fields, tagMessage: "" }, change());
  expect([made.release.tagName, made.release.isDraft]).toEqual(["v1", false]);
  expect([isDeleted, tags.has("v1")]).toEqual([true, true]);

  isDeleted = true;
  const draft = { ...fields, tagName: "v2", isDraft: true, tagMessage: "" };
  const { release } = await releases.create(opened(), draft, change());
  isDeleted = false;
  const edit = { ...fields, tagName: undefined, isDraft: false } as never;
  await openReleases(async () => {
    if (isDeleted) return;
    isDeleted = true;
    tags.delete("v2");
    await countPush();
  }).edit(opened(), release.id, edit, change());
  expect(tags).toEqual(new Set(["v1", "v2"]));
});

test("a release whose tag is deleted again and again is refused", async () => {
  const releases = openReleases(async () => {
    tags.delete("v1");
    await countPush();
  });
  const made = releases.create(opened(), { ...fields, tagMessage: "" }, change());
  await expect(made).rejects.toMatchObject({ code: "conflict" });
});
