import { join } from "node:path";
import type { CliContext } from "../context.ts";
import { readTextFile } from "../profile/config.ts";

/** What the running daemon says about itself in its data directory. */
export interface DaemonNotice {
  readonly pid: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Where it listens, http first; empty while it starts. */
  readonly urls: readonly string[];
}

/** The daemon that requests go to. */
export interface Target {
  /** Origin (and base path, behind a proxy) without a trailing slash. */
  readonly url: string;
  readonly isLoopback: boolean;
}

type Needs = Pick<CliContext, "config" | "profiles" | "flags" | "system">;

/**
 * Which daemon: `--url`, the profile that `--profile` names, `CROFT_URL`, the profile in use, the config file, the
 * daemon that runs on this home's data, where it would listen.
 */
export async function findTarget(cli: Needs): Promise<Target> {
  const config = await cli.config();
  const profile = await cli.profiles.inUse();
  const candidates = [
    config.urlSource === "flag" ? config.url : undefined,
    cli.flags.profile === undefined ? undefined : profile.url,
    config.urlSource === "environment" ? config.url : undefined,
    profile.url,
    config.url,
    findDaemonNotice(config.paths.dataDirectory, cli.system)?.urls[0],
    config.defaultUrl,
  ];
  const url = candidates.find((candidate) => candidate !== null && candidate !== undefined);
  return toTarget(url ?? config.defaultUrl);
}

/** The target at an address. */
export function toTarget(url: string): Target {
  const trimmed = url.replace(/\/+$/, "");
  return { url: trimmed, isLoopback: isLoopbackHost(new URL(trimmed).hostname) };
}

/** The notice of the daemon that runs on this data directory; undefined when none runs. */
export function findDaemonNotice(
  dataDirectory: string,
  system: Pick<CliContext["system"], "isProcessAlive">,
): DaemonNotice | undefined {
  const notice = parseNotice(readTextFile(join(dataDirectory, "daemon.json")));
  // After a crash the file speaks of a daemon that is gone, and its port may be another program's.
  return notice !== undefined && system.isProcessAlive(notice.pid) ? notice : undefined;
}

function parseNotice(text: string | undefined): DaemonNotice | undefined {
  if (text === undefined) return undefined;
  let value: { pid?: unknown; started_at?: unknown; urls?: unknown } | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    // Being written, or not ours: as good as none.
    return undefined;
  }
  const { pid, started_at: startedAt, urls } = value ?? {};
  if (typeof pid !== "number" || typeof startedAt !== "number" || !Array.isArray(urls))
    return undefined;
  return { pid, startedAt, urls: urls.filter((url) => typeof url === "string") };
}

/** Whether a host name of a URL is this machine: its requests never go through a proxy. */
export function isLoopbackHost(hostname: string): boolean {
  const name = hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
  );
}
