import { expect, test, vi } from "vitest";
import { startTestDaemon } from "../../../support/daemon.ts";
import { createForgePeople } from "../../../support/forge/forge-people.ts";
import { optionsOf } from "../../support/parse-line.ts";
import { runCli, temporaryHome } from "../../support/run-cli.ts";

test("the lines of imports and mirrors become their options", async () => {
  const address = "https://example.org/mira/notes.git";
  expect(
    await optionsOf("repo import", [address, "acme/box", "--service", "gitea", "--all", "--wait"]),
  ).toEqual({ address, name: "acme/box", service: "gitea", all: true, wait: true });
  const line = ["mira/notes", address, "--interval", "1h", "--on-push", "--username", "mira"];
  expect(await optionsOf("repo mirror add", line)).toEqual({
    repository: { owner: "mira", repo: "notes" },
    address,
    interval: "1h",
    onPush: true,
    username: "mira",
  });
});

test("a repository is imported with its issues, followed and pushed elsewhere by commands", async () => {
  const quiet = { env: { CROFT_RATE_LIMITS: "off" } };
  await using there = await startTestDaemon(quiet);
  await using here = await startTestDaemon(quiet);
  await using home = await temporaryHome();
  const far = createForgePeople(() => there);
  const near = createForgePeople(() => here);
  await far.newUser("olga");
  await near.newUser("mira");
  const source = await far.newRepository("olga", { auto_init: true, private: true });
  await far.by("olga", "POST", `/repos/olga/${source}/issues`, { title: "Hers" });
  const env = { CROFT_URL: here.url, CROFT_FORGE_TOKEN: near.tokenOf("mira") };
  const croft = (words: readonly string[], stdin = "") =>
    runCli(["repo", ...words, "--json"], { home: home.path, env, stdin });
  const address = `${there.url}/olga/${source}.git`;
  const token = far.tokenOf("olga");
  for (const flags of [
    ["--issues"],
    ["--issues", "--service", "gitea", "--mirror"],
    ["--interval", "1h"],
    ["--password-stdin"],
  ])
    expect((await croft(["import", address, ...flags], token)).error()).toMatchObject({
      code: "usage",
    });
  const flags = ["--service", "gitea", "--all", "--token-stdin", "--wait"];
  const made = await croft(["import", address, ...flags], token);
  expect(made.json()).toMatchObject({ full_name: `mira/${source}`, original_url: address });
  expect((await near.by("mira", "GET", `/repos/mira/${source}/issues/1`)).json.title).toBe("Hers");
  const status = await croft(["import-status", `mira/${source}`, "--wait"]);
  expect(status.json()).toMatchObject({ state: "done" });
  for (const verb of ["import-cancel", "import-resume"])
    expect((await croft([verb, `mira/${source}`])).error()).toMatchObject({ code: "conflict" });

  const signIn = ["--username", "olga", "--password-stdin"];
  const copied = await croft(["import", address, "mira/copy", "--mirror", ...signIn], token);
  expect(copied.json()).toMatchObject({ mirror: true, mirror_interval: "8h0m0s" });
  expect((await croft(["mirror", "sync", "mira/copy"])).json()).toMatchObject({ queued: true });
  const view = await croft(["mirror", "view", "mira/copy"]);
  expect(view.json()).toMatchObject({ remote_address: address, last_error: "" });
  const stopped = await croft(["mirror", "stop", "mira/copy", "--yes"]);
  expect(stopped.json()).toMatchObject({ stopped: true });

  const target = await far.newRepository("olga");
  const to = `${there.url}/olga/${target}.git`;
  const added = await croft(["mirror", "add", "mira/copy", to, "--on-push", ...signIn], token);
  const { remote_name: name } = added.json() as { remote_name: string };
  await vi.waitFor(
    async () => expect((await far.api("GET", `/repos/olga/${target}`)).json.empty).toBe(false),
    { timeout: 60_000, interval: 100 },
  );
  expect((await croft(["mirror", "sync", "mira/copy", "--push"])).json()).toMatchObject({
    queued: true,
  });
  const one = await croft(["mirror", "view", "mira/copy", name]);
  expect(one.json()).toMatchObject({ remote_name: name, sync_on_commit: true });
  const removed = await croft(["mirror", "remove", "mira/copy", name, "--yes"]);
  expect(removed.json()).toEqual({ deleted: true, remote_name: name });
  expect((await croft(["mirror", "list", "mira/copy"])).json()).toEqual([]);
});
