import type { Stats } from "node:fs";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { toSizeText } from "../../../output/cells.ts";
import type { Progress, Transfer } from "../../../output/progress.ts";
import type { Outcome } from "../../batch.ts";
import type { WireItem } from "../find-item.ts";

/** What `upload` and `download` have in common on a line. */
export interface TransferOptions {
  /** Folders are taken with everything in them. */
  readonly recursive: boolean;
  /** What is there already and the same is left as it is. */
  readonly skipExisting: boolean;
  /** So many files at one time. */
  readonly transfers: number;
}

/** The flags as commander gives them. */
export interface TransferFlags {
  readonly recursive?: true;
  readonly skipExisting?: true;
  readonly transfers: number;
}

export function addTransferFlags(command: Command): Command {
  return command
    .option("-r, --recursive", "take folders with everything in them")
    .option("--skip-existing", "leave what is there with the same size and is no older")
    .option("--transfers <number>", "files at one time, 1 to 32", toCount, 4);
}

export function toTransferOptions(flags: TransferFlags): TransferOptions {
  const { recursive, skipExisting, transfers } = flags;
  return { recursive: recursive === true, skipExisting: skipExisting === true, transfers };
}

/** Whether a file here and an item are the same, as far as their facts tell, where one was made from the other. */
export function isSameFile(from: "local" | "remote", file: Stats, item: WireItem): boolean {
  if (!file.isFile() || item.kind !== "file" || file.size !== item.size) return false;
  const remoteAt = Date.parse(item.modified_at ?? "");
  if (Number.isNaN(remoteAt)) return true;
  // Storages keep no finer times than seconds, and some not even those.
  const [source, copy] = from === "local" ? [file.mtimeMs, remoteAt] : [remoteAt, file.mtimeMs];
  return copy + coarseTimeMs >= source;
}

const coarseTimeMs = 2_000;

/** A transfer that shows itself while it runs. */
export interface ShownTransfer {
  /** `from` are the bytes that an earlier one has brought. */
  begin(total: number | undefined, from?: number): void;
  update(bytes: number): void;
}

/** Runs a transfer; its line ends with it, well or not. */
export async function showTransfer<T>(
  progress: Progress,
  name: string,
  work: (shown: ShownTransfer) => Promise<T>,
): Promise<T> {
  let transfer: Transfer | undefined;
  let outcome: "done" | "failed" = "failed";
  try {
    const result = await work({
      begin: (total, from) => (transfer ??= progress.begin(name, total, from)),
      update: (bytes) => transfer?.update(bytes),
    });
    outcome = "done";
    return result;
  } finally {
    transfer?.end(outcome);
  }
}

/** What became of a file that was left as it is, or passed over. */
export interface Moved {
  readonly size: number | null;
  readonly skipped: string | null;
}

/** On a terminal a sentence stands for the files of a tree that went well. */
export function isSummedUp(cli: CliContext, isTree: boolean): boolean {
  return isTree && cli.io.isOutputTerminal && !cli.output.isMachine;
}

/** How many files went well, and how much that was. */
export function toSummary(verb: string, outcomes: readonly Outcome<Moved>[]): string {
  const values = outcomes.flatMap(({ value }) => (value === undefined ? [] : [value]));
  const moved = values.filter(({ skipped }) => skipped === null);
  const bytes = moved.reduce((sum, { size }) => sum + (size ?? 0), 0);
  const files = `${moved.length} ${moved.length === 1 ? "file" : "files"}`;
  const left = values.length - moved.length;
  const rest = left === 0 ? "" : `, ${left} left as they are`;
  return `${verb} ${files}, ${toSizeText(bytes)}${rest}.`;
}

function toCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,2}$/.test(text) && count >= 1 && count <= 32) return count;
  throw usageError(`--transfers takes a number from 1 to 32, not ${JSON.stringify(text)}`);
}
