import type { CliContext } from "../../../../context.ts";
import { usageError } from "../../../../errors.ts";
import { type Column, size } from "../../../../output/cells.ts";
import { finishBatch, type Outcome } from "../../../../support/batch.ts";
import { isConnectionAddress } from "../../../../support/items.ts";
import type { Done } from "./carry-out.ts";
import { makePair, openPair } from "./pair.ts";
import { withPairLock } from "./pair-state.ts";
import { type BothOptions, runBoth } from "./run.ts";
import { watchBoth, type WatchedChange } from "./watch.ts";

/**
 * Makes a local folder and a folder of a connection equal: `vault item sync --both`. With `watchMs` it goes on until it is
 * stopped, and looks at the connection at this interval.
 */
export async function syncBoth(
  cli: CliContext,
  words: readonly [string, string],
  options: BothOptions,
  watchMs?: number,
): Promise<void> {
  const [localWord, remoteWord] = toWords(cli, words);
  const progress = await cli.progress();
  const found = await openPair(cli, localWord, remoteWord);
  if (cli.flags.dryRun) {
    await runBoth(cli, found, options, progress);
    return;
  }
  await withPairLock(cli, found.state, async () => {
    const pair = await makePair(cli, found);
    const run = () => runBoth(cli, pair, options, progress);
    if (watchMs === undefined) return report(cli, await run());
    const changes = watchBoth(cli, pair.localRoot, watchMs, run);
    await cli.output.stream(changes, columns);
  });
}

/** The local one first. @throws CliError `usage` when not exactly one of them is local */
function toWords(
  { system: { platform } }: CliContext,
  [one, other]: readonly [string, string],
): readonly [string, string] {
  const isRemote = [one, other].map((word) => isConnectionAddress(word, platform));
  if (isRemote[0] === isRemote[1])
    throw usageError("--both takes a local folder and a folder of a connection, CONNECTION:/path");
  return isRemote[0] === true ? [other, one] : [one, other];
}

async function report(cli: CliContext, outcomes: readonly Outcome<Done>[]): Promise<void> {
  const conflicts = outcomes.filter(({ value }) => value?.action === "conflict").length;
  if (conflicts > 0 && !cli.output.isMachine)
    cli.io.note(
      `${conflicts === 1 ? "1 file was" : `${conflicts} files were`} changed on both sides; both versions were kept.`,
    );
  await finishBatch<Done>(cli, outcomes, "synchronized", columns);
}

const columns: readonly Column<
  Partial<Omit<WatchedChange, "item" | "error">> & Pick<WatchedChange, "item" | "error">
>[] = [
  { header: "action", cell: ({ action }) => action },
  { header: "side", cell: ({ side }) => side },
  { header: "path", cell: ({ item }) => item },
  { header: "other", cell: ({ other_path: path }) => path },
  { header: "size", cell: (one) => size(one.size) },
  { header: "error", cell: ({ error }) => error?.message },
];
