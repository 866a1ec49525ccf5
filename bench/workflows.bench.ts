import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { croftJson, startCroft } from "../test/support/croft.ts";
import { clientEnvironment } from "../test/support/forge/git-client.ts";
import { built, makeHome } from "./daemon.ts";
import { atMost, median, report } from "./measure.ts";

// From `git push` of an almost empty workflow to its success, on the built-in runner.

const PUSHES = 10;
const WORKFLOW = "on: push\njobs: { a: { runs-on: host, steps: [{ run: 'true' }] } }\n";

const run = promisify(execFile);
const work = await mkdtemp(join(tmpdir(), "croft-bench-workflows-"));
const env = clientEnvironment(work);
const git = (...args: string[]) => run("git", args, { cwd: work, env });

try {
  await using home = await makeHome();
  await using daemon = await home.serve();
  const around = { home: home.home };
  await croftJson(built, ["runner", "register", "--labels", "host:host"], around);
  const runner = startCroft(built, ["runner", "run"], around);
  runner.stdout?.resume();
  const ready = new Promise<void>((resolve) => {
    runner.stderr?.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes("waits for jobs")) resolve();
    });
  });
  try {
    await ready;
    const headers = {
      Authorization: `token ${home.token}`,
      "Content-Type": "application/json",
    };
    const repository = `${daemon.url}/api/v1/repos/keeper/bench`;
    await fetch(`${daemon.url}/api/v1/user/repos`, {
      method: "POST",
      headers,
      body: JSON.stringify({ name: "bench" }),
    });
    await git("init", "-q", "-b", "main", ".");
    await git(
      "remote",
      "add",
      "origin",
      `${daemon.url.replace("://", `://keeper:${home.token}@`)}/keeper/bench.git`,
    );
    await mkdir(join(work, ".gitea/workflows"), { recursive: true });
    await writeFile(join(work, ".gitea/workflows/ci.yml"), WORKFLOW);
    await git("add", ".gitea");
    const times: number[] = [];
    for (let push = 0; push <= PUSHES; push += 1) {
      await git("commit", "-q", "--allow-empty", "-m", `push ${push}`);
      const startedAt = performance.now();
      await git("push", "-q", "origin", "main");
      for (;;) {
        const answer = await fetch(`${repository}/actions/runs?status=success&limit=1`, {
          headers,
        });
        const { total_count: ended } = (await answer.json()) as { total_count: number };
        if (ended > push) break;
        await sleep(10);
      }
      // The first push fills caches and makes the repository's folders.
      if (push > 0) times.push(performance.now() - startedAt);
    }
    report(
      "workflow of one step on the built-in runner",
      "A small workflow should succeed while its author still looks at the push.",
      [
        atMost("git push to success, median", median(times), 1_500, "ms"),
        { label: "slowest", value: `${Math.max(...times).toFixed(0)} ms` },
      ],
    );
  } finally {
    runner.kill("SIGTERM");
    await new Promise((resolve) => runner.once("exit", resolve));
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
