import { expect, test } from "vitest";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { fakeStorage, toItems } from "../../../support/fake-storage.ts";
import { runCli, temporaryHome } from "../../../support/run-cli.ts";
import { signIn } from "../../../support/signed-in.ts";

const run = "/api/v1/repos/mira/one/actions";
const artifact = (id: number, name: string, expired = false) => ({
  id,
  name,
  expired,
  created_at: "2026-11-20T12:00:00Z",
  size_in_bytes: 3,
});

test("artifacts of a run and the logs of its jobs are streamed to a storage, and refusals are those of both halves", async () => {
  await using home = await temporaryHome();
  const storage = fakeStorage(toItems({ "kept/": "", "kept/taken.zip": "there" }));
  const forge: Record<string, object> = {
    [`GET ${run}/runs/7/artifacts`]: {
      body: {
        total_count: 4,
        artifacts: [
          artifact(1, "site"),
          artifact(2, "site"),
          artifact(3, "old", true),
          artifact(4, "taken"),
        ],
      },
    },
    [`GET ${run}/artifacts/2/zip`]: {
      status: 302,
      headers: { Location: "http://127.0.0.1/x?sig=two" },
    },
    [`GET ${run}/artifacts/4/zip`]: {
      status: 302,
      headers: { Location: "http://127.0.0.1/x?sig=four" },
    },
    "GET /twirp/github.actions.results.api.v1.ArtifactService/DownloadArtifact": {
      body: Buffer.from("zipped"),
      headers: { "Content-Type": "application/zip" },
    },
    [`GET ${run}/runs/7/jobs`]: {
      body: {
        total_count: 2,
        jobs: [
          { id: 11, name: "build / test", runner_name: "r" },
          { id: 12, name: "never ran" },
        ],
      },
    },
    [`GET ${run}/jobs/11/logs`]: { body: Buffer.from("first line\nsecond line\n") },
  };
  storage.override = (_, key) => forge[key];
  await using daemon = await fakeDaemon(storage.answers);
  await signIn(home.path, { url: daemon.url, forgeToken: "t", vault: {} });
  const croft = (...words: string[]) =>
    runCli(["vault", "item", "upload", "--from-run", "mira/one/7", ...words, "--json"], {
      home: home.path,
    });

  const both = await croft("site", "--logs", "home:/kept");
  expect(both.code, both.err).toBe(0);
  const stored = () =>
    Object.fromEntries(
      storage.items.map(({ id, name, bytes }) => [name || id, String(bytes ?? "")]),
    );
  expect(stored()).toMatchObject({
    "site.zip": "zipped",
    "build _ test.log": "first line\nsecond line\n",
  });
  const renamed = await croft("site", "home:/kept/release.zip");
  expect(renamed.code, renamed.err).toBe(0);
  expect(stored()["release.zip"]).toBe("zipped");
  const taken = await croft("taken", "home:/kept");
  expect(taken.code).toBe(7);
  expect(stored()["taken.zip"]).toBe("there");
  expect((await croft("old", "home:/kept")).code).toBe(6);
  expect((await croft("none", "home:/kept")).code).toBe(6);
  expect((await croft("site", "home:/kept", "--replace")).code).toBe(2);
  const logs = ["vault", "item", "upload", "--logs", "home:/kept"];
  expect((await runCli(logs, { home: home.path })).code).toBe(2);
});
