import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { makeHome } from "./daemon.ts";
import { atMost, median, report } from "./measure.ts";
import type { Figure } from "./results.ts";

// A repository of 100,000 issues and pull requests against one of 1,000: lists, pages, searches and one of them.
// CROFT_BENCH_PART=0.1 takes a tenth of the large one.

const FEW = 1_000;
const MANY = 100_000 * Number(process.env["CROFT_BENCH_PART"] ?? 1);
const ROUNDS = 15;
/** Every second one is a pull request; one in ten is closed, one in fifty has the label. */
const KINDS = { pull: 2, closed: 10, labelled: 50 };

await using home = await makeHome();
let daemon = await home.serve();
const headers = { Authorization: `token ${home.token}`, "Content-Type": "application/json" };

async function post<T>(path: string, body: object): Promise<T> {
  const answer = await fetch(`${daemon.url}/api/v1${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

const repositories = [
  { name: "few", count: FEW },
  { name: "many", count: MANY },
];
const made = [];
for (const { name, count } of repositories) {
  const { id } = await post<{ id: number }>("/user/repos", { name, auto_init: true });
  const path = `/repos/keeper/${name}`;
  await post(`${path}/contents/x.txt`, { content: "", new_branch: "topic" });
  await post(`${path}/issues`, { title: "Cracked shelf", body: "After the firing." });
  const pull = { head: "topic", base: "main", title: "A change" };
  await post(`${path}/pulls`, pull);
  const label = await post<{ id: number }>(`${path}/labels`, { name: "bug", color: "#ff0000" });
  made.push({ id, count, labelId: label.id });
}
// What the creation has queued runs before the rows are copied.
await sleep(2_000);
await daemon.end("SIGTERM");
const files = await readdir(home.home, { recursive: true });
const database = new DatabaseSync(
  join(home.home, files.find((name) => name.endsWith("croft.db")) ?? ""),
);
for (const one of made) fill(database, one);
database.exec("ANALYZE");
database.close();
daemon = await home.serve();

const addresses: Readonly<Record<string, (name: string, count: number) => string>> = {
  "list of issues": (name) => `/api/v1/repos/keeper/${name}/issues?limit=50`,
  "list of issues, a page in the middle": (name, count) =>
    `/api/v1/repos/keeper/${name}/issues?limit=50&page=${Math.ceil(count / 200)}`,
  "closed issues by update": (name) =>
    `/api/v1/repos/keeper/${name}/issues?limit=50&state=closed&type=issues&sort=recentupdate`,
  // Both repositories answer the next two with equally many issues: 15 of the 20 that have the label, and one.
  "issues of a label": (name) =>
    `/api/v1/repos/keeper/${name}/issues?limit=15&state=all&labels=bug`,
  "issues whose text is searched, a rare word": (name, count) =>
    `/api/v1/repos/keeper/${name}/issues?limit=50&q=number${count - 1}`,
  "issues of all repositories": () => "/api/v1/repos/issues/search?limit=50&state=all",
  "list of pull requests": (name) => `/api/v1/repos/keeper/${name}/pulls?limit=50`,
  "one issue": (name, count) => `/api/v1/repos/keeper/${name}/issues/${count - 1}`,
  "page of the issues": (name) => `/keeper/${name}/issues`,
  "page of the pull requests": (name) => `/keeper/${name}/pulls`,
  "page of one issue": (name, count) => `/keeper/${name}/issues/${count - 1}`,
};
const figures: Figure[] = [];
for (const [label, addressOf] of Object.entries(addresses)) {
  const [few, many] = await timesOf(addressOf("few", FEW), addressOf("many", MANY));
  figures.push({ label, value: `${few.toFixed(1)} -> ${many.toFixed(1)} ms` });
  if (label !== "issues of all repositories")
    figures.push(atMost(`${label}, ratio`, many / few, 3, ""));
}
report(
  `${MANY} issues and pull requests of one repository against ${FEW}`,
  "A list must not get slower as a project lives: a hundred times the rows may cost three times, for deeper indexes.",
  figures,
);
await daemon.end("SIGTERM");

/** Returns the medians of two addresses that are called by turns, so that other work on the machine delays both. */
async function timesOf(few: string, many: string): Promise<readonly [number, number]> {
  const times: readonly [number[], number[]] = [[], []];
  for (let round = -2; round < ROUNDS; round += 1) {
    const pair = [await timeOf(few), await timeOf(many)] as const;
    if (round < 0) continue;
    times[0].push(pair[0]);
    times[1].push(pair[1]);
  }
  return [median(times[0]), median(times[1])];
}

async function timeOf(path: string): Promise<number> {
  const startedAt = performance.now();
  const answer = await fetch(daemon.url + path, { headers });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  return performance.now() - startedAt;
}

/** Copies the first issue and the first pull request of a repository until there are as many as wanted. */
function fill(
  db: DatabaseSync,
  { id, count, labelId }: { readonly id: number; readonly count: number; readonly labelId: number },
): void {
  const columnsOf = (table: string, without: readonly string[]) =>
    db
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name))
      .filter((name) => !without.includes(name));
  const own = ["id", "number", "title", "created_at", "updated_at", "is_closed", "closed_at"];
  const issues = columnsOf("forge_issues", own).join(", ");
  const pulls = columnsOf("forge_pulls", ["issue_id"]);
  db.exec("BEGIN");
  db.exec(
    `INSERT INTO forge_issues (number, title, created_at, updated_at, is_closed, closed_at, ${issues})
     WITH RECURSIVE n (value) AS (SELECT 3 UNION ALL SELECT value + 1 FROM n WHERE value < ${count})
     SELECT n.value, 'number' || n.value || ' cracked shelf', created_at + n.value, updated_at + n.value,
       n.value % ${KINDS.closed} = 0, CASE WHEN n.value % ${KINDS.closed} = 0 THEN created_at + n.value END, ${issues}
     FROM n JOIN forge_issues ON repository_id = ${id} AND number = 1 + (n.value % ${KINDS.pull} = 0)`,
  );
  db.exec(
    `INSERT INTO forge_pulls (issue_id, ${pulls.join(", ")})
     SELECT i.id, ${pulls.map((name) => `p.${name}`).join(", ")}
     FROM forge_issues i JOIN forge_issues f ON f.repository_id = i.repository_id AND f.number = 2
     JOIN forge_pulls p ON p.issue_id = f.id
     WHERE i.repository_id = ${id} AND i.number > 2 AND i.number % ${KINDS.pull} = 0`,
  );
  db.exec(
    `INSERT OR REPLACE INTO forge_issue_grams (rowid, texts)
     SELECT id, lower(title || ' ' || body) FROM forge_issues WHERE repository_id = ${id}`,
  );
  db.exec(
    `INSERT INTO forge_issue_labels (issue_id, label_id)
     SELECT id, ${labelId} FROM forge_issues WHERE repository_id = ${id} AND number % ${KINDS.labelled} = 0`,
  );
  db.exec("COMMIT");
}
