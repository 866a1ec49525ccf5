import { z } from "zod";
import { parseColumn } from "../../../../storage/engine/json-column.ts";
import type { SealAgain, Sealer } from "../../../../storage/keys/keyring.ts";
import { createMasker } from "./masker.ts";
import { type TaskId, toTaskId } from "../../../../storage/tables/forge/ids.ts";

/** The values that a log must mask: secrets, and the remainders of secrets that began at the end of the last rows. */
const masksSchema = z.object({ secrets: z.array(z.string()), pending: z.array(z.string()) });

/** A log with the secrets that it must not show. */
interface MaskedLog {
  readonly taskId: TaskId;
  /** Undefined when nothing is masked. */
  readonly sealedMasks: string | undefined;
}

const PURPOSE = "action-masks";
/** Compiled secrets of the tasks that are logging. */
const CACHED_MAX = 64;
/** Values that a job may add by `::add-mask::`. */
const ADDED_MAX = 1_000;
const ADDED_CHARACTERS_MAX = 65_536;

/** Masks secrets in logs. The masks of a task are sealed in its row, so that every daemon masks alike. */
export type Masks = ReturnType<typeof createMasks>;

export function createMasks({ sealer }: { readonly sealer: Sealer }) {
  const cache = new Map<string, { secrets: string; mask: ReturnType<typeof createMasker> }>();
  const seal = (taskId: TaskId, masks: z.output<typeof masksSchema>) =>
    sealer.seal(PURPOSE, JSON.stringify(masks), toRow(taskId));

  return {
    /** Seals the secrets of a task. */
    seal: (taskId: TaskId, secrets: readonly string[]): string =>
      seal(taskId, { secrets: [...new Set(secrets)], pending: [] }),

    /** Masks rows. Returns them with the masks of the rows to come, undefined when these do not change. */
    mask(
      { taskId, sealedMasks }: MaskedLog,
      rows: readonly string[],
    ): { readonly rows: readonly string[]; readonly sealedMasks: string | undefined } {
      const masks =
        sealedMasks === undefined
          ? { secrets: [], pending: [] }
          : parseColumn(
              masksSchema,
              sealer.openText(PURPOSE, sealedMasks, toRow(taskId)),
              "forge_action_tasks.sealed_masks",
            );
      const added = readAddedMasks(rows).filter((each) => !masks.secrets.includes(each));
      const secrets = [
        ...masks.secrets,
        ...added.slice(0, Math.max(0, ADDED_MAX - masks.secrets.length)),
      ];
      const masked = findMasker(taskId, secrets)(rows, masks.pending);
      const isSame =
        added.length === 0 && masked.pending.length === 0 && masks.pending.length === 0;
      return {
        rows: masked.rows,
        sealedMasks: isSame ? undefined : seal(taskId, { secrets, pending: [...masked.pending] }),
      };
    },
  };

  function findMasker(taskId: TaskId, secrets: readonly string[]) {
    const key = String(taskId);
    const text = JSON.stringify(secrets);
    const cached = cache.get(key);
    if (cached?.secrets === text) return cached.mask;
    const mask = createMasker(secrets);
    cache.delete(key);
    cache.set(key, { secrets: text, mask });
    const [oldest] = cache.keys();
    if (cache.size > CACHED_MAX && oldest !== undefined) cache.delete(oldest);
    return mask;
  }
}

/** Returns the values of `::add-mask::` in rows. After `::stop-commands::` they count as well, which masks too much at worst. */
function readAddedMasks(rows: readonly string[]): string[] {
  return rows.flatMap((row) => {
    if (!row.includes("add-mask")) return [];
    const [, value = ""] = /^\s*(?:::|##\[)add-mask(?:::|\])(.*)$/s.exec(row) ?? [];
    const text = value
      .replaceAll("%0D", "\r")
      .replaceAll("%0A", "\n")
      .replaceAll("%25", "%")
      .trim();
    return text === "" || text.length > ADDED_CHARACTERS_MAX ? [] : [text];
  });
}

/** Seals the masks of a task again, for a rotation of the master key. */
export function sealMasksAgain(value: string, key: string | number, again: SealAgain): string {
  return again(PURPOSE, value, toRow(toTaskId(key)));
}

const toRow = (taskId: TaskId) => `forge_action_tasks/${taskId}`;
