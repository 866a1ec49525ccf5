import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { clientEnvironment } from "../test/support/forge/git-client.ts";
import { makeHome } from "./daemon.ts";
import { atMost, median, report, untilThere } from "./measure.ts";
import type { Figure } from "./results.ts";

// A repository of 200,000 commits and 40,000 files against one of 200 commits and 40 files, and beside git itself.
// CROFT_BENCH_PART=0.1 takes a tenth of the large one.

const PART = Number(process.env["CROFT_BENCH_PART"] ?? 1);
const LARGE = { name: "large", commits: 200_000 * PART, files: 40_000 * PART };
const SMALL = { name: "small", commits: 200, files: 40 };
/** Files of the small one, all in folders that both have. */
const FOLDERS = 20;
const ROUNDS = 15;

type Repository = typeof LARGE;

/** Answers of the same size in both repositories. */
const addressOf = (path: string) => (repository: Repository) =>
  path.replace("NAME", `keeper/${repository.name}`);
const addresses: Readonly<Record<string, (repository: Repository) => string>> = {
  "GET contents of the top folder": addressOf("/api/v1/repos/NAME/contents"),
  "GET contents of a file": addressOf("/api/v1/repos/NAME/contents/folder-1/part-0/file-1.txt"),
  "GET commits": addressOf("/api/v1/repos/NAME/commits?limit=20"),
  "GET commits, a page in the middle": (repository) =>
    `/api/v1/repos/keeper/${repository.name}/commits?limit=20&page=${Math.ceil(repository.commits / 40)}`,
  "GET commits of a file": addressOf(
    "/api/v1/repos/NAME/commits?limit=5&path=folder-1/part-0/file-1.txt",
  ),
  "GET compare of two neighbours": addressOf("/api/v1/repos/NAME/compare/main~1...main"),
  "GET branches": addressOf("/api/v1/repos/NAME/branches"),
  "page of the repository": addressOf("/NAME"),
  "page of a folder": addressOf("/NAME/src/branch/main/folder-1/part-0"),
  "page of commits": addressOf("/NAME/commits/branch/main"),
  "page of a file": addressOf("/NAME/src/branch/main/folder-1/part-0/file-1.txt"),
  "files whose names are searched": addressOf("/NAME/find/branch/main?q=file-1"),
};

const run = promisify(execFile);
const work = await mkdtemp(join(tmpdir(), "croft-bench-scale-"));
const env = clientEnvironment(work);
const git = (...args: string[]) => run("git", args, { cwd: work, env, maxBuffer: 1 << 28 });

try {
  await using home = await makeHome();
  const root = join(home.home, "repositories", "keeper");
  await mkdir(root, { recursive: true });
  await using daemon = await home.serve();
  const headers = { Authorization: `token ${home.token}`, "Content-Type": "application/json" };
  for (const repository of [SMALL, LARGE]) {
    await makeHistory(join(root, `${repository.name}.git`), repository);
    const startedAt = performance.now();
    const path = `/api/v1/admin/unadopted/keeper/${repository.name}`;
    const { status } = await fetch(daemon.url + path, { method: "POST", headers });
    if (status !== 204) throw new Error(`${repository.name} was not adopted: ${status}`);
    // Pages are for everybody then, without a session.
    await fetch(`${daemon.url}/api/v1/repos/keeper/${repository.name}`, {
      method: "PATCH",
      headers,
      body: '{"private":false}',
    });
    console.log(`${repository.name} adopted in ${seconds(startedAt)}`);
  }
  const graph = "objects/info/commit-graphs/commit-graph-chain";
  await untilThere(join(root, "large.git", graph));

  const timesOf = async (path: string) => {
    const times: number[] = [];
    for (let round = -2; round < ROUNDS; round += 1) {
      const startedAt = performance.now();
      const answer = await fetch(daemon.url + path, { headers });
      const length = (await answer.arrayBuffer()).byteLength;
      if (answer.status !== 200 || length === 0) throw new Error(`${path}: ${answer.status}`);
      if (round >= 0) times.push(performance.now() - startedAt);
    }
    return median(times);
  };
  const figures: Figure[] = [];
  for (const [label, pathOf] of Object.entries(addresses)) {
    const few = await timesOf(pathOf(SMALL));
    const many = await timesOf(pathOf(LARGE));
    figures.push({ label, value: `${few.toFixed(1)} -> ${many.toFixed(1)} ms` });
    figures.push(atMost(`${label}, ratio`, many / few, 3, ""));
  }
  report(
    `a repository of ${LARGE.commits} commits and ${LARGE.files} files against ${SMALL.commits} and ${SMALL.files}`,
    "A person does not wait longer because a repository is old: indexes may be deeper, answers are of the same size.",
    figures,
  );
  report(
    "the same repository beside git",
    "git does the work; croft passes its bytes on and adds checks and events.",
    await besideGit(
      `${daemon.url.replace("://", `://keeper:${home.token}@`)}/keeper/large.git`,
      join(root, "large.git"),
    ),
  );
} finally {
  await rm(work, { recursive: true, force: true });
}

async function besideGit(url: string, path: string): Promise<Figure[]> {
  const time = async (work: () => Promise<unknown>) => {
    const startedAt = performance.now();
    await work();
    return performance.now() - startedAt;
  };
  const pair = async (
    label: string,
    ours: () => Promise<unknown>,
    theirs: () => Promise<unknown>,
  ) => {
    const [a, b] = [await time(ours), await time(theirs)];
    return [
      { label, value: `${(a / 1000).toFixed(1)} s, git ${(b / 1000).toFixed(1)} s` },
      atMost(`${label}, ratio`, a / b, 1.5, ""),
    ];
  };
  const clone = (from: string, to: string) => git("clone", "-q", "--bare", from, to);
  const clones = await pair(
    "clone",
    () => clone(url, "ours.git"),
    () => clone(`file://${path}`, "theirs.git"),
  );
  await git("clone", "-q", "--depth", "1", url, "tree");
  const push = async (to: string, branch: string) => {
    await git("-C", "tree", "commit", "-q", "--allow-empty", "-m", branch);
    await git("-C", "tree", "push", "-q", to, `HEAD:refs/heads/${branch}`);
  };
  const pushes = await pair(
    "push of one commit",
    () => push(url, "topic"),
    () => push(join(work, "theirs.git"), "topic"),
  );
  const archive = url.replace(/\.git$/, "/archive/main.tar.gz");
  const archives = await pair(
    "archive",
    () => run("curl", ["-sSf", "-o", join(work, "ours.tar.gz"), archive]),
    () => git("-C", path, "archive", "-o", join(work, "theirs.tar.gz"), "main"),
  );
  return [...clones, ...pushes, ...archives];
}

/** One commit with all files, then commits that change one file each. */
async function makeHistory(target: string, { commits, files }: Repository): Promise<void> {
  const startedAt = performance.now();
  await git("init", "-q", "--bare", "-b", "main", target);
  const child = spawn("git", ["fast-import", "--quiet"], {
    cwd: target,
    env,
    stdio: ["pipe", "inherit", "inherit"],
  });
  const write = async (text: string) => {
    if (!child.stdin.write(text)) await once(child.stdin, "drain");
  };
  for (let index = 0; index < commits; index += 1) {
    const message = `change ${index}`;
    await write(
      `commit refs/heads/main\ncommitter Mira <mira@example.org> ${1_600_000_000 + index} +0000\ndata ${message.length}\n${message}\n`,
    );
    const changed = index === 0 ? Array.from({ length: files }, (_, at) => at) : [index % files];
    for (const at of changed) {
      const text = `value ${at} of change ${index}\n`.repeat(10);
      await write(`M 100644 inline ${toPath(at)}\ndata ${text.length}\n${text}\n`);
    }
  }
  child.stdin.end("done\n");
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  console.log(`${commits} commits and ${files} files written in ${seconds(startedAt)}`);
}

/** The first folders of both repositories hold the same number of files, and the top folder the same number of folders. */
function toPath(at: number): string {
  const folder = at % FOLDERS;
  const part = Math.floor(at / FOLDERS / 20);
  return `folder-${folder}/part-${part}/file-${at}.txt`;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
