import { setTimeout as sleep } from "node:timers/promises";
import { makeHome } from "./daemon.ts";
import { atMost, median, report } from "./measure.ts";

// Pull requests on the built daemon: opening and merging one after the other into a branch.

const PULLS = 20;

await using home = await makeHome();
await using daemon = await home.serve();

async function request<T>(method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const answer = await fetch(`${daemon.url}/api/v1${path}`, {
    method,
    headers: { Authorization: `token ${home.token}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

interface Pull {
  readonly number: number;
  readonly mergeable: boolean;
}

await request("POST", "/user/repos", { name: "kiln", auto_init: true });
const created: number[] = [];
const merged: number[] = [];
for (let index = 0; index < PULLS; index += 1) {
  const head = `branch-${index}`;
  const content = Buffer.from(head).toString("base64");
  await request("POST", `/repos/keeper/kiln/contents/${head}.txt`, { content, new_branch: head });
  const body = { head, base: "main", title: head };
  let started = performance.now();
  const { number } = await request<Pull>("POST", "/repos/keeper/kiln/pulls", body);
  created.push(performance.now() - started);
  const path = `/repos/keeper/kiln/pulls/${number}`;
  while (!(await request<Pull>("GET", path)).mergeable) await sleep(10);
  started = performance.now();
  await request("POST", `${path}/merge`, { do: index % 2 === 0 ? "merge" : "squash" });
  merged.push(performance.now() - started);
}
report(
  "Pull requests, one after the other",
  "A person waits for the answer, and each takes a few git processes.",
  [
    atMost("open one, median", median(created), 200, "ms"),
    atMost("merge one, median", median(merged), 300, "ms"),
  ],
);
