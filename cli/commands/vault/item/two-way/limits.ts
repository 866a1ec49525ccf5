import { CliError, usageError } from "../../../../errors.ts";
import type { Pair } from "./pair.ts";
import type { PairState } from "./pair-state.ts";
import type { Step } from "./plan.ts";
import type { RemoteScan } from "./remote-side.ts";
import { type LocalScan, type Scan } from "./scan.ts";

/** A number of files and folders, or a share of those of a side. */
export type MaxDelete = { readonly count: number } | { readonly percent: number };

/** Reads `--max-delete`. @throws CliError `usage` */
export function toMaxDelete(text: string): MaxDelete {
  const [, digits, unit] = /^(\d{1,9})(%?)$/.exec(text) ?? [];
  const count = Number(digits);
  if (digits !== undefined && unit === "") return { count };
  if (unit === "%" && count <= 100) return { percent: count };
  throw usageError(
    `--max-delete takes a number or a percentage, not ${JSON.stringify(text)}`,
    "for example --max-delete 20 or --max-delete 80%",
  );
}

/** Without `--max-delete`, a run that would delete more than half of a side stops. */
const USUAL_MAX_DELETE: MaxDelete = { percent: 50 };

/** Both sides as they were found. */
interface Found {
  readonly pair: Pick<Pair, "localWord" | "remoteWord">;
  readonly state: PairState | undefined;
  readonly maxDelete: MaxDelete | undefined;
  readonly local: LocalScan;
  readonly remote: RemoteScan;
}

/** @throws CliError when a side that had files has none: its disk may not be mounted */
export function assertNotEmptied({ pair, state, maxDelete, local, remote }: Found): void {
  const isAllowed = maxDelete !== undefined && "percent" in maxDelete && maxDelete.percent === 100;
  const isEmpty = ({ entries, blocked }: Scan<unknown>) => entries.size === 0 && blocked.size === 0;
  const isOther = state !== undefined && state.rootIno !== local.rootIno;
  if (isEmpty(local) && (isOther || !isAllowed))
    throw new CliError(
      "conflict",
      `${pair.localWord} is empty${isOther ? " and another folder than in the last run" : ""}; nothing was deleted`,
      {
        hint: isOther
          ? "is its disk mounted?"
          : "is its disk mounted? --max-delete 100% deletes everything in the connection, too",
      },
    );
  if (isEmpty(remote) && !isAllowed)
    throw new CliError("conflict", `${pair.remoteWord} is empty; nothing was deleted`, {
      hint: "--max-delete 100% deletes everything in the local folder, too",
    });
}

/** @throws CliError when the plan would delete more of a side than is permitted */
export function assertFewDeletions(
  { pair, maxDelete: max = USUAL_MAX_DELETE, local, remote }: Found,
  steps: readonly Step[],
): void {
  for (const [on, { entries }, word] of [
    ["local", local, pair.localWord],
    ["remote", remote, pair.remoteWord],
  ] as const) {
    const count = steps.filter((step) => step.action === "delete" && step.on === on).length;
    const isTooMany = "count" in max ? count > max.count : count * 100 > max.percent * entries.size;
    if (!isTooMany) continue;
    const share = Math.ceil((count * 100) / entries.size);
    throw new CliError(
      "conflict",
      `this run would delete ${count} of ${entries.size} files and folders in ${word}; nothing was changed`,
      { hint: `--dry-run shows them; --max-delete ${share}% deletes them` },
    );
  }
}
