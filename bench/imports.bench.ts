import { setTimeout as sleep } from "node:timers/promises";
import { makeHome } from "./daemon.ts";
import { atMost, report } from "./measure.ts";
import { call } from "./vault-client.ts";

// An import of a repository with issues and comments from another croft, whose API is that of Gitea.

const ISSUES = 1_000;
const CALLERS = 16;

await using sourceHome = await makeHome();
await using targetHome = await makeHome();
await using source = await sourceHome.serve({ CROFT_SSH: "off" });
await using target = await targetHome.serve({ CROFT_SSH: "off" });
const atSource = <T>(path: string, body: object) =>
  call<T>(`${source.url}/api/v1${path}`, "POST", body, `token ${sourceHome.token}`);
const atTarget = <T>(method: "GET" | "POST", path: string, body?: object) =>
  call<T>(`${target.url}/api/v1${path}`, method, body, `token ${targetHome.token}`);

await atSource("/user/repos", { name: "kiln", auto_init: true });
for (let made = 0; made < ISSUES; made += CALLERS)
  await Promise.all(
    Array.from({ length: Math.min(CALLERS, ISSUES - made) }, async (_, index) => {
      const title = `Issue ${made + index}`;
      const path = "/repos/keeper/kiln/issues";
      const { number } = await atSource<{ number: number }>(path, { title, body: "It leaks." });
      await atSource(`${path}/${number}/comments`, { body: "Here, too." });
    }),
  );

const start = performance.now();
await atTarget("POST", "/repos/migrate", {
  clone_addr: `${source.url}/keeper/kiln`,
  repo_name: "kiln",
  service: "gitea",
  auth_token: sourceHome.token,
  issues: true,
  labels: true,
  milestones: true,
});
for (;;) {
  const { state, error } = await atTarget<{ state: string; error: string }>(
    "GET",
    "/repos/keeper/kiln/import",
  );
  if (state === "done") break;
  if (state === "failed") throw new Error(`the import failed: ${error}`);
  await sleep(100);
}
const seconds = (performance.now() - start) / 1_000;
report(
  `An import of ${ISSUES} issues with a comment each`,
  "Nobody watches a repository of this size being imported for more than two minutes. Most of the time is requests to the source, one page after the other.",
  [
    { label: "issues a second", value: (ISSUES / seconds).toFixed(0) },
    atMost("from the request to the end of its job", seconds, 120, "s"),
  ],
);
