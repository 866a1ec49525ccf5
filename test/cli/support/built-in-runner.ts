import { vi, expect } from "vitest";
import { run } from "../../../cli/main.ts";
import type { TestDaemon } from "../../support/daemon.ts";
import type { ForgePeople } from "../../support/forge/forge-people.ts";
import { fakeSystem, runCli, temporaryHome } from "./run-cli.ts";

/** Returns a function that registers a runner with one label of the host and runs it until it is disposed of. */
export function createRunnerStarter(daemon: () => Pick<TestDaemon, "url">, people: ForgePeople) {
  return async function startRunner(
    label: string,
    flags: readonly string[] = [],
    {
      allow = "*",
      labels = `${label}:host`,
      engines,
    }: {
      readonly allow?: string;
      readonly labels?: string;
      /** A folder with a container engine. */
      readonly engines?: string;
    } = {},
  ) {
    const home = await temporaryHome();
    const path = process.env["PATH"];
    const env = {
      PATH: engines === undefined ? path : `${engines}:${path}`,
      CROFT_URL: daemon().url,
      CROFT_FORGE_TOKEN: people.admin,
      RUNNER_SECRET: "of-the-owner",
    };
    const options = { home: home.path, env, program: [process.execPath, "croft"] as const };
    const line = ["runner", "register", "--name", label, "--labels", labels, "--allow", allow];
    const registered = await runCli([...line, "--json"], options);
    expect(registered.code).toBe(0);
    const system = fakeSystem({ ...options, hurried: false });
    const ended = run(["runner", "run", ...flags], system);
    await vi.waitUntil(() => system.written.err().includes("waits for jobs"), { timeout: 60_000 });
    const stop = async () => {
      system.stops.send("SIGTERM");
      return ended;
    };
    return {
      home: home.path,
      env,
      system,
      ended,
      stop,
      [Symbol.asyncDispose]: async () => {
        await stop();
        await home[Symbol.asyncDispose]();
      },
    };
  };
}
