import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  croftJson,
  serveCroft,
  type CroftCommand,
  type ServedCroft,
} from "../test/support/croft.ts";
import { watchDaemon } from "./measure.ts";

/** The built croft, as users run it. */
export const built: CroftCommand = [process.execPath, join(import.meta.dirname, "../bin/croft.js")];

export const PASSWORD = "Correct-Horse-7-Battery";

/** A home with both administrators, and a way to serve it. */
export interface BenchHome extends AsyncDisposable {
  readonly home: string;
  readonly token: string;
  serve(env?: Readonly<Record<string, string>>): Promise<ServedCroft>;
}

/** Makes a home in the system's temporary folder; removed at the end. */
export async function makeHome(): Promise<BenchHome> {
  const home = await mkdtemp(join(tmpdir(), "croft-bench-"));
  const { forge } = await croftJson<{ forge: { token: string } }>(
    built,
    ["init", "--username", "keeper", "--email", "keeper@example.org", "--password-stdin"],
    { home },
    PASSWORD,
  );
  return {
    home,
    token: forge.token,
    serve: async (env = {}) => {
      const daemon = await serveCroft(built, {
        home,
        env: { CROFT_RATE_LIMITS: "off", CROFT_LOG_LEVEL: "warn", ...env },
      });
      const countUsage = watchDaemon(daemon.pid);
      return {
        ...daemon,
        end: (signal) => {
          countUsage();
          return daemon.end(signal);
        },
        [Symbol.asyncDispose]: async () => {
          countUsage();
          await daemon[Symbol.asyncDispose]();
        },
      };
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}
