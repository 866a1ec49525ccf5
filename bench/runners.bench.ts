import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { clientEnvironment } from "../test/support/forge/git-client.ts";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { runnerService } from "../daemon/workflows/runner-messages.ts";
import { makeHome } from "./daemon.ts";
import { atMost, median, report } from "./measure.ts";

// The cost of runners: from a push to the hand-over of its job, a hundred that wait, and four that send logs.

const PUSHES = 10;
const IDLE_RUNNERS = 100;
const IDLE_SECONDS = 10;
const LOG_JOBS = 4;
const LOG_SECONDS = 10;
const LOG_BYTES_PER_SECOND = 10_000_000;
/** Rows of one request, and requests of one job in a second. */
const ROWS = 1_000;
const REQUESTS_PER_SECOND = 10;
/** Clock ticks of /proc in a second. */
const TICKS = 100;

const run = promisify(execFile);
const work = await mkdtemp(join(tmpdir(), "croft-bench-runners-"));
const gitEnv = clientEnvironment(work);
const git = (...args: string[]) => run("git", args, { cwd: work, env: gitEnv });

try {
  await using home = await makeHome();
  await using daemon = await home.serve();
  const api = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${daemon.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `token ${home.token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.json();
  };
  const { token } = await api("POST", "/admin/actions/runners/registration-token");

  const call = async (method: string, body: object, runner?: Runner) => {
    const answer = await fetch(`${daemon.url}/api/actions/runner.v1.RunnerService/${method}`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(runner && toCredentials(runner)),
      },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method}: ${await answer.text()}`);
    return answer.json();
  };
  const register = async (label: string): Promise<Runner> => {
    const { runner } = await call("Register", { token, name: label, labels: [label] });
    await call("Declare", { labels: [label] }, runner);
    return runner;
  };

  await api("POST", "/user/repos", { name: "bench" });
  await git("init", "-q", "-b", "main", ".");
  const address = daemon.url.replace("://", `://keeper:${home.token}@`);
  await git("remote", "add", "origin", `${address}/keeper/bench.git`);
  await mkdir(join(work, ".gitea/workflows"), { recursive: true });
  const push = async (label: string, jobs: number) => {
    const list = Array.from({ length: jobs }, (_, index) => index).join(", ");
    const file = `on: push\njobs: { a: { runs-on: ${label}, strategy: { matrix: { n: [${list}] } }, steps: [{ run: x }] } }\n`;
    await writeFile(join(work, ".gitea/workflows/ci.yml"), file);
    await git("add", ".gitea");
    await git("commit", "-q", "--allow-empty", "-m", "push");
    await git("push", "-q", "origin", "main");
  };

  /** Asks for work until there is a task. */
  const take = async (runner: Runner): Promise<string> => {
    for (let tasksVersion = "0"; ;) {
      const answer = await call("FetchTask", { tasksVersion }, runner);
      if (answer.task !== undefined) return answer.task.id;
      tasksVersion = answer.tasksVersion;
    }
  };

  const waiting = await register("waits");
  const handed: number[] = [];
  const whole: number[] = [];
  for (let count = 0; count <= PUSHES; count += 1) {
    let takenAt = 0;
    const taken = take(waiting).then((id) => {
      takenAt = performance.now();
      return id;
    });
    const startedAt = performance.now();
    await push("waits", 1);
    const acceptedAt = performance.now();
    const state = { id: await taken, result: "RESULT_SUCCESS" };
    await call("UpdateTask", { state }, waiting);
    if (count === 0) continue;
    handed.push(Math.max(0, takenAt - acceptedAt));
    whole.push(takenAt - startedAt);
  }
  report(
    "a job of a push, with a runner that waits",
    "A short job should begin while its author still looks at the push.",
    [
      atMost("push accepted to job handed over, median", median(handed), 150, "ms"),
      { label: "from the start of commit and push", value: `${median(whole).toFixed(0)} ms` },
    ],
  );

  const idle = await Promise.all(Array.from({ length: IDLE_RUNNERS }, () => register("idle")));
  const stop = new AbortController();
  const polling = idle.map(async (runner) => {
    for (let tasksVersion = "0"; !stop.signal.aborted;)
      ({ tasksVersion } = await call("FetchTask", { tasksVersion }, runner));
  });
  await sleep(3_000);
  const before = await ticksOf(daemon.pid);
  await sleep(IDLE_SECONDS * 1_000);
  const share = ((await ticksOf(daemon.pid)) - before) / TICKS / IDLE_SECONDS;
  stop.abort();
  await Promise.all(polling);
  report(
    `${IDLE_RUNNERS} runners that wait`,
    "Waiting runners cost next to nothing, so that many may wait.",
    [atMost("share of a core", share * 100, 5, "%")],
  );

  await push("logs", LOG_JOBS);
  const loggers = await Promise.all(Array.from({ length: LOG_JOBS }, () => register("logs")));
  const tasks = await Promise.all(loggers.map(take));
  const content = "x".repeat(LOG_BYTES_PER_SECOND / REQUESTS_PER_SECOND / ROWS);
  const { input } = runnerService.method.updateLog;
  // Protobuf, as runners send it. Its messages can be joined: the rows, which are the same each time, are encoded once, so
  // that this process does not hold up the requests that it measures.
  const time = timestampFromMs(Date.UTC(2026, 0));
  const rows = toBinary(
    input,
    create(input, { rows: Array.from({ length: ROWS }, () => ({ time, content })) }),
  );
  const sendLog = async (runner: Runner, task: string, index: number) => {
    const head = toBinary(input, create(input, { taskId: BigInt(task), index: BigInt(index) }));
    const answer = await fetch(`${daemon.url}/api/actions/runner.v1.RunnerService/UpdateLog`, {
      method: "POST",
      headers: { ...toCredentials(runner), "Content-Type": "application/proto" },
      body: Buffer.concat([head, rows]),
    });
    if (!answer.ok) throw new Error(`UpdateLog: ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const endAt = performance.now() + LOG_SECONDS * 1_000;
  let sent = 0;
  const sending = loggers.map(async (runner, index) => {
    for (let row = 0, next = performance.now(); performance.now() < endAt; row += ROWS) {
      await sendLog(runner, tasks[index] ?? "", row);
      sent += ROWS * content.length;
      next += 1_000 / REQUESTS_PER_SECOND;
      await sleep(Math.max(0, next - performance.now()));
    }
  });
  const times: number[] = [];
  while (performance.now() < endAt) {
    const startedAt = performance.now();
    await api("GET", "/user");
    times.push(performance.now() - startedAt);
    await sleep(5);
  }
  await Promise.all(sending);
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
  report(
    `logs of ${LOG_JOBS} jobs`,
    "Logs are masked and stored while people work, who should not notice.",
    [
      {
        label: "taken",
        value: `${(sent / LOG_SECONDS / 1e6).toFixed(1)} MB/s of ${(LOG_JOBS * LOG_BYTES_PER_SECOND) / 1e6}`,
      },
      atMost("p99 of GET /user meanwhile", p99, 50, "ms"),
      { label: "median", value: `${median(times).toFixed(1)} ms` },
    ],
  );
} finally {
  await rm(work, { recursive: true, force: true });
}

interface Runner {
  readonly uuid: string;
  readonly token: string;
}

function toCredentials({ uuid, token }: Runner) {
  return { "x-runner-uuid": uuid, "x-runner-token": token };
}

/** Processor time that a process has used, in clock ticks. */
async function ticksOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ").at(-1)?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}
