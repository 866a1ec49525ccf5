import { expect, test } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

const key =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ci@host";

test("deploy keys are added for reading unless they may write, listed and deleted", async () => {
  const line = ["mira/notes", "id.pub", "--title", "ci", "--allow-write"];
  expect(await optionsOf("repo deploy-key add", line)).toEqual({
    repository: { owner: "mira", repo: "notes" },
    file: "id.pub",
    title: "ci",
    allowWrite: true,
  });
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  await using home = await temporaryHome();
  const people = createForgePeople(() => daemon);
  await people.newUser("mira");
  const env = { CROFT_URL: daemon.url, CROFT_FORGE_TOKEN: people.tokenOf("mira") };
  const croft = (words: readonly string[], stdin = "") =>
    runCli(["repo", ...words, "--json"], { home: home.path, env, stdin });
  await croft(["create", "notes"]);
  const add = (...flags: readonly string[]) =>
    croft(["deploy-key", "add", "mira/notes", "-", "--title", "ci", ...flags], key);
  const made = await add();
  expect(made.json()).toMatchObject({ title: "ci", read_only: true, key });
  expect((await add()).error()).toMatchObject({ code: "invalid" });
  const { id } = made.json() as { id: number };
  const listed = await croft(["deploy-key", "list", "mira/notes"]);
  expect(listed.json()).toMatchObject([{ id, title: "ci" }]);
  const remove = () => croft(["deploy-key", "delete", "mira/notes", String(id), "--yes"]);
  expect((await remove()).json()).toEqual({ deleted: true, id, title: "ci" });
  expect((await remove()).code).toBe(6);
  expect((await add("--allow-write")).json()).toMatchObject({ read_only: false });
});
