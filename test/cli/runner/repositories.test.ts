import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRepositories } from "../../../cli/runner/actions/repositories.ts";
import type { JobLog } from "../../../cli/runner/job/job-log.ts";
import type { HostCommand, JobProcesses } from "../../../cli/runner/places/job-processes.ts";
import { temporaryHome } from "../support/run-cli.ts";

/** Fetches with a git whose fetches end with these messages, one after the other; an empty one is a success. */
async function fetchWith(folder: string, ref: string, messages: readonly string[]) {
  const written: string[] = [];
  const waits: number[] = [];
  const fetches: string[] = [];
  const run = async ({ argv, sink }: HostCommand) => {
    if (argv.includes("rev-parse")) sink.line("c".repeat(40), 0);
    if (!argv.includes("fetch")) return 0;
    const message = messages[fetches.length] ?? "";
    fetches.push(argv.at(-1) ?? "");
    for (const line of message.split("\n")) sink.line(line, 0);
    return message === "" ? 0 : 128;
  };
  await mkdir(join(folder, "private"));
  const repositories = createRepositories({
    url: "http://127.0.0.1:9",
    certificates: undefined,
    processes: { run } as unknown as JobProcesses,
    actionsFolder: folder,
    privateFolder: join(folder, "private"),
    searchPath: "/usr/bin",
    log: { write: (line: string) => written.push(line) } as unknown as JobLog,
    sleep: async (milliseconds) => void waits.push(milliseconds),
    signal: new AbortController().signal,
    token: "",
  });
  const fetched = repositories.fetch(folder, {
    ...{ repository: "mira/website", ref, depth: 1, token: "", keepToken: false },
    signal: new AbortController().signal,
  });
  const ended = await fetched.then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  );
  return { ...ended, written, waits, fetches };
}

const away =
  "fatal: unable to access 'http://127.0.0.1:9/mira/website.git/': Failed to connect to 127.0.0.1";

test("a fetch is repeated while the forge does not answer", async () => {
  await using home = await temporaryHome();
  const ran = await fetchWith(home.path, "refs/heads/main", [away, away]);
  expect(ran.value?.commit).toBe("c".repeat(40));
  expect(ran.waits).toEqual([1_000, 5_000]);
  expect(ran.written[0]).toBe(`Fetching mira/website again in 1 s: ${away}`);
});

test("a forge that does not answer is not taken for one without the repository", async () => {
  await using home = await temporaryHome();
  const ran = await fetchWith(home.path, "v1", Array<string>(9).fill(away));
  expect(ran.error).toMatchObject({
    name: "StepError",
    message: `cannot fetch mira/website: ${away}`,
  });
});

test.each([
  "fatal: couldn't find remote ref refs/heads/v1",
  "remote: Not found.\nfatal: repository 'http://127.0.0.1:9/mira/website.git/' not found",
  "fatal: could not read Username for 'http://127.0.0.1:9': terminal prompts disabled",
  "fatal: unable to access 'http://127.0.0.1:9/a/b.git/': The requested URL returned error: 403",
  "fatal: remote error: upload-pack: not our ref 1111111111111111111111111111111111111111",
])("what the forge lacks is not asked for again: %s", async (message) => {
  await using home = await temporaryHome();
  const ran = await fetchWith(home.path, "v1", [message, message]);
  expect(ran).toMatchObject({ value: undefined, error: undefined, waits: [] });
  expect(ran.fetches).toHaveLength(2);
});
