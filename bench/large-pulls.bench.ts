import { execFile, spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type BenchHome, makeHome } from "./daemon.ts";
import { atMost, median, report } from "./measure.ts";
import type { Figure } from "./results.ts";

// Pull requests on the built daemon: a large one, 200 open ones when their base moves, and lists of 1,000 and 10,000.

const run = promisify(execFile);
const FILES = 3_000;
const COMMITS = 1_000;
const OPEN = 200;
const LISTS = [1_000, 10_000] as const;

await using home = await makeHome();
let daemon = await home.serve();

interface Pull {
  readonly number: number;
  readonly mergeable: boolean;
}

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

/** The milliseconds of a request, the median of some. */
async function timeOf(path: string, rounds = 15): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    await request("GET", path);
    times.push(performance.now() - started);
  }
  return median(times);
}

/** Pushes a history of `git fast-import` to branches of a new repository. */
async function pushHistory(name: string, commands: Iterable<string>, refs: string): Promise<void> {
  await request("POST", "/user/repos", { name });
  const folder = join(home.home, `${name}.git`);
  await run("git", ["init", "-q", "--bare", "-b", "main", folder]);
  const child = spawn("git", ["-C", folder, "fast-import", "--quiet"], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  for (const command of commands) child.stdin.write(command);
  child.stdin.end();
  if ((await ended) !== 0) throw new Error("git fast-import failed");
  const origin = daemon.url.replace("://", `://keeper:${home.token}@`);
  const url = `${origin}/keeper/${name}.git`;
  await run("git", ["-C", folder, "push", "-q", url, "main"]);
  await run("git", ["-C", folder, "push", "-q", url, refs]);
}

const commit = (ref: string, mark: number, files: string, from?: string) =>
  `commit ${ref}\nmark :${mark}\ncommitter K <keeper@example.org> ${1_700_000_000 + mark} +0000\ndata 1\nc\n${from === undefined ? "" : `from ${from}\n`}${files}\n`;
const file = (path: string, text: string) =>
  `M 100644 inline ${path}\ndata ${text.length}\n${text}\n`;

function* largeHistory(): Generator<string> {
  yield commit("refs/heads/main", 1, file("README", "text"));
  const perCommit = FILES / COMMITS;
  for (let index = 0; index < COMMITS; index += 1) {
    const files = Array.from({ length: perCommit }, (_, at) =>
      file(`f${index % 50}/${index * perCommit + at}.txt`, `line ${index}\n`.repeat(20)),
    );
    const from = index === 0 ? ":1" : undefined;
    yield commit("refs/heads/topic", index + 2, files.join(""), from);
  }
}

function* manyBranches(): Generator<string> {
  const base = Array.from({ length: 500 }, (_, at) =>
    file(`d${at % 20}/${at}.txt`, `line ${at}\n`),
  );
  yield commit("refs/heads/main", 1, base.join(""));
  for (let index = 0; index < OPEN; index += 1)
    yield commit(`refs/heads/b${index}`, index + 2, file(`b${index}.txt`, `${index}\n`), ":1");
}

async function waitUntilMergeable(path: string): Promise<void> {
  while (!(await request<Pull>("GET", path)).mergeable) await sleep(20);
}

/** Returns the subcommands of the git processes that the daemon runs now. */
async function listGits(pid: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const status = await readFile(`/proc/${name}/status`, "utf8").catch(() => "");
    if (!/^Name:\s+git$/m.test(status) || !new RegExp(`^PPid:\\s+${pid}$`, "m").test(status))
      continue;
    const line = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
    // The push is read beside the computation.
    const command = line.split("\0").find((word) => gitCommands.has(word));
    if (command !== undefined) found.push(command);
  }
  return found;
}

/** What computes whether a pull request is mergeable. */
const gitCommands = new Set(["merge-tree", "merge-base", "cat-file", "diff-tree", "rev-list"]);

async function measureLarge(): Promise<readonly Figure[]> {
  await pushHistory("large", largeHistory(), "topic");
  const path = "/repos/keeper/large/pulls/1";
  const started = performance.now();
  const body = { head: "topic", base: "main", title: "Large" };
  await request("POST", "/repos/keeper/large/pulls", body);
  const opened = performance.now() - started;
  await waitUntilMergeable(path);
  const computed = performance.now() - started;
  return [
    atMost(`open one of ${FILES} files and ${COMMITS} commits`, opened, 1_000, "ms"),
    { label: "until it is computed", value: `${computed.toFixed(0)} ms` },
    atMost("page of 50 files, the first", await timeOf(`${path}/files?limit=50`), 100, "ms"),
    atMost("page of 50 files, the last", await timeOf(`${path}/files?limit=50&page=60`), 100, "ms"),
    atMost("page of 50 commits", await timeOf(`${path}/commits?limit=50&files=false`), 100, "ms"),
  ];
}

async function measureMany(): Promise<readonly Figure[]> {
  await pushHistory("many", manyBranches(), "refs/heads/*:refs/heads/*");
  for (let index = 0; index < OPEN; index += 1) {
    const body = { head: `b${index}`, base: "main", title: `Change ${index}` };
    await request("POST", "/repos/keeper/many/pulls", body);
  }
  const allMergeable = async () => {
    for (let number = 1; number <= OPEN; number += 1)
      await waitUntilMergeable(`/repos/keeper/many/pulls/${number}`);
  };
  await allMergeable();
  const content = Buffer.from("moved").toString("base64");
  await request("POST", "/repos/keeper/many/contents/moved.txt", { content, branch: "main" });
  const started = performance.now();
  let isDone = false;
  const others: number[] = [];
  const watching = (async () => {
    while (!isDone) {
      const begun = performance.now();
      await request("GET", "/repos/keeper/large");
      others.push(performance.now() - begun);
      await sleep(10);
    }
  })();
  let gitsMax = 0;
  const counting = (async () => {
    while (!isDone) {
      gitsMax = Math.max(gitsMax, (await listGits(daemon.pid)).length);
      await sleep(5);
    }
  })();
  await allMergeable();
  const all = performance.now() - started;
  isDone = true;
  await Promise.all([watching, counting]);
  const p99 = others.toSorted((a, b) => a - b)[Math.floor(others.length * 0.99)] ?? Number.NaN;
  return [
    { label: `${OPEN} open ones after a push to their base`, value: `${all.toFixed(0)} ms` },
    atMost("git processes at once", gitsMax, 1, ""),
    atMost("99 of 100 other requests meanwhile", p99, 50, "ms"),
  ];
}

/** Copies the first issue of a repository with its pull request until there are as many as wanted. */
function fill(database: DatabaseSync, repositoryId: number, count: number): void {
  const columnsOf = (table: string, without: readonly string[]) =>
    database
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name))
      .filter((name) => !without.includes(name));
  const issueColumns = columnsOf("forge_issues", ["id", "number", "created_at", "updated_at"]);
  const pullColumns = columnsOf("forge_pulls", ["issue_id"]);
  database.exec("BEGIN");
  database.exec(
    `INSERT INTO forge_issues (number, created_at, updated_at, ${issueColumns.join(", ")})
     WITH RECURSIVE n (value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM n WHERE value < ${count})
     SELECT n.value, created_at + n.value, updated_at + n.value, ${issueColumns.join(", ")}
     FROM forge_issues, n WHERE repository_id = ${repositoryId} AND number = 1`,
  );
  database.exec(
    `INSERT INTO forge_pulls (issue_id, ${pullColumns.join(", ")})
     SELECT i.id, ${pullColumns.map((name) => `p.${name}`).join(", ")}
     FROM forge_issues i JOIN forge_issues f ON f.repository_id = i.repository_id AND f.number = 1
     JOIN forge_pulls p ON p.issue_id = f.id WHERE i.repository_id = ${repositoryId} AND i.number > 1`,
  );
  database.exec("COMMIT");
}

async function findDatabase({ home: folder }: BenchHome): Promise<string> {
  const files = await readdir(folder, { recursive: true });
  const found = files.find((name) => name.endsWith("croft.db"));
  if (found === undefined) throw new Error(`no database among ${files.slice(0, 20).join(", ")}`);
  return join(folder, found);
}

async function measureLists(): Promise<readonly Figure[]> {
  const ids: number[] = [];
  for (const count of LISTS) {
    const name = `list${count}`;
    const { id } = await request<{ id: number }>("POST", "/user/repos", { name, auto_init: true });
    ids.push(id);
    await request("POST", `/repos/keeper/${name}/contents/x.txt`, { content: "", new_branch: "b" });
    const body = { head: "b", base: "main", title: "Change" };
    await request("POST", `/repos/keeper/${name}/pulls`, body);
    await waitUntilMergeable(`/repos/keeper/${name}/pulls/1`);
  }
  await daemon.end("SIGTERM");
  const database = new DatabaseSync(await findDatabase(home));
  for (const [at, count] of LISTS.entries()) fill(database, ids[at] ?? 0, count);
  database.close();
  daemon = await home.serve();
  const figures: Figure[] = [];
  for (const query of ["", "&page=10", "&sort=recentupdate", "&state=all&sort=oldest"]) {
    const few = await timeOf(`/repos/keeper/list${LISTS[0]}/pulls?limit=50${query}`);
    const many = await timeOf(`/repos/keeper/list${LISTS[1]}/pulls?limit=50${query}`);
    const label = `page of ${LISTS[1]} against ${LISTS[0]}${query}`;
    figures.push({ label: `page of ${LISTS[1]}${query}`, value: `${many.toFixed(0)} ms` });
    figures.push(atMost(label, many / few, 3, ""));
  }
  return figures;
}

try {
  report(
    "A large pull request",
    "A person waits for a page: a tenth of a second, and a second to open the largest pull request.",
    await measureLarge(),
  );
  report(
    "Open pull requests whose base moves",
    "One computation runs at a time, and nobody else waits for it.",
    await measureMany(),
  );
  report(
    "Lists of pull requests",
    "Ten times the pull requests may cost three times, for deeper indexes.",
    await measureLists(),
  );
} finally {
  await daemon.end("SIGTERM");
}
