import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { optionsOf } from "../support/parse-line.ts";
import { runCli, temporaryHome } from "../support/run-cli.ts";

let daemon: TestDaemon;
let home: Awaited<ReturnType<typeof temporaryHome>>;
const people = createForgePeople(() => daemon);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  home = await temporaryHome();
  await people.newUser("mira");
  await people.newUser("nora");
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const croft = (...line: string[]) =>
  runCli([...line, "--json"], {
    home: home.path,
    env: { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") },
  });

test("a profile is edited and viewed", async () => {
  const line = ["--full-name", "Mira", "--hide-email", "true"];
  expect(await optionsOf("account edit", line)).toEqual({
    fullName: "Mira",
    hideEmail: "true",
  });
  expect((await croft("account", "edit", ...line)).json()).toMatchObject({ full_name: "Mira" });
  expect((await croft("account", "view")).json()).toMatchObject({ hide_email: true });
  expect((await croft("account", "edit")).code).toBe(2);
  expect((await croft("account", "edit", "--website", "no address")).code).toBe(12);
});

test("pictures are uploaded and deleted, also for an organization", async () => {
  const file = join(home.path, "me.gif");
  await writeFile(file, Buffer.from("4749463839610800080000000000003b", "hex"));
  expect((await croft("account", "avatar", "set", file)).json()).toEqual({ set: true });
  expect((await croft("account", "avatar", "delete", "--yes")).json()).toEqual({ deleted: true });
  await people.by("mira", "POST", "/orgs", { username: "lodge" });
  expect((await croft("org", "avatar", "set", "lodge", file)).code).toBe(0);
  expect((await croft("org", "avatar", "delete", "lodge", "--yes")).code).toBe(0);
  const large = join(home.path, "large.gif");
  await writeFile(large, Buffer.alloc(1024 * 1024 + 1));
  expect((await croft("account", "avatar", "set", large)).code).toBe(2);
  await writeFile(large, "text");
  expect((await croft("account", "avatar", "set", large)).code).toBe(12);
});

test("users are followed, and repositories starred and watched", async () => {
  const name = `nora/${await people.newRepository("nora")}`;
  expect((await croft("user", "follow", "nora")).json()).toEqual({
    following: true,
    username: "nora",
  });
  expect((await croft("user", "following")).json()).toMatchObject([{ login: "nora" }]);
  expect((await croft("user", "followers", "nora")).json()).toMatchObject([{ login: "mira" }]);
  expect((await croft("user", "view", "nora")).json()).toMatchObject({ followers_count: 1 });
  expect((await croft("user", "unfollow", "nora")).code).toBe(0);
  expect((await croft("user", "followers", "nora")).json()).toEqual([]);
  expect((await croft("repo", "star", name)).json()).toEqual({ starred: true, full_name: name });
  expect((await croft("repo", "starred")).json()).toMatchObject([{ full_name: name }]);
  expect((await croft("repo", "stargazers", name)).json()).toMatchObject([{ login: "mira" }]);
  expect((await croft("repo", "unstar", name)).code).toBe(0);
  expect((await croft("repo", "watch", name)).json()).toEqual({ watching: true, full_name: name });
  expect((await croft("repo", "watched")).json()).toMatchObject([{ full_name: name }]);
  expect((await croft("repo", "watchers", name)).json()).toContainEqual(
    expect.objectContaining({ login: "mira" }),
  );
  expect((await croft("repo", "unwatch", name)).code).toBe(0);
  expect((await croft("repo", "star", "nora/none")).code).toBe(6);
});
