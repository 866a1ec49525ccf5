import type { Transaction } from "../../../storage/engine/database.ts";
import {
  findPullMirror,
  type ForgeMirror,
  updateMirror,
} from "../../../storage/tables/forge/repositories/mirrors.ts";
import {
  type ForgeRepository,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import { readDuration } from "../../utilities/duration.ts";

/** How often mirrors are compared. */
export interface MirrorIntervals {
  /** Of a mirror that names no interval. */
  readonly usualSeconds: number;
  readonly minSeconds: number;
}

const INTERVAL_SECONDS_MAX = 366 * 86_400;
/** The longest time between two attempts of a mirror that fails again and again. */
const BACKOFF_MS_MAX = 7 * 86_400_000;
/** Mirrors of one interval are not due in the same moment. */
const SPREAD_MS = 60_000;
/** More than the time between two attempts exceeds the interval of a mirror. */
export const BEYOND_INTERVAL_MS = BACKOFF_MS_MAX + 2 * SPREAD_MS;

/**
 * Reads an interval such as `8h0m0s`; empty is the usual one, and 0 means only on request. Refuses with `code` any other text
 * and an interval that is shorter than allowed.
 */
export function readMirrorInterval(
  text: string,
  { usualSeconds, minSeconds }: MirrorIntervals,
  code: "unprocessable" | "invalid_argument" = "unprocessable",
): number {
  if (text === "") return usualSeconds;
  const seconds = readDuration(text);
  if (seconds === undefined)
    throw new AppError(code, `invalid interval "${text}": such as 8h0m0s or 30m`);
  if (seconds !== 0 && seconds < minSeconds)
    throw new AppError(
      code,
      `the interval is too short: ${minSeconds} seconds or more, or 0 for none`,
    );
  return Math.min(seconds, INTERVAL_SECONDS_MAX);
}

/** Returns when a mirror is due: after its interval, which doubles with each failure in a row; undefined only on request. */
export function toNextSync(
  { id, intervalSeconds }: Pick<ForgeMirror, "id" | "intervalSeconds">,
  now: number,
  failures = 0,
): number | undefined {
  if (intervalSeconds === 0) return undefined;
  const intervalMs = intervalSeconds * 1000;
  const delay = intervalMs * 2 ** Math.min(failures, 20);
  return now + Math.min(delay, Math.max(intervalMs, BACKOFF_MS_MAX)) + ((id * 7919) % SPREAD_MS);
}

/** Changes how often a mirror is compared. Refuses with `unprocessable` a repository that is no mirror. */
export async function setMirrorInterval(
  tx: Transaction,
  { id: repositoryId }: ForgeRepository,
  intervalSeconds: number,
): Promise<void> {
  const mirror = await findPullMirror(tx, repositoryId);
  if (mirror === undefined) throw new AppError("unprocessable", "Repository is not a mirror");
  const nextAt = toNextSync({ id: mirror.id, intervalSeconds }, tx.now);
  await updateMirror(tx, mirror.id, { intervalSeconds, nextAt });
  await updateRepository(tx, repositoryId, { mirrorIntervalSeconds: intervalSeconds });
}
