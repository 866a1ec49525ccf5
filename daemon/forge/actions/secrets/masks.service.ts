import { createMaskRows } from "./masker.ts";
import { z } from "zod";
import { parseColumn } from "../../../../storage/engine/json-column.ts";
import type { SealAgain, Sealer } from "../../../../storage/keys/keyring.ts";
import type { Compute } from "../../compute.ts";
import { type TaskId, toTaskId, type UserId } from "../../../../storage/tables/forge/ids.ts";

/**
 * The values that a log must mask, and the end of the latest rows when a secret may begin there. `isWithheld`: the values
 * are too many to mask, so no further row is stored.
 */
const masksSchema = z.object({
  secrets: z.array(z.string()),
  pending: z.array(z.string()),
  isWithheld: z.boolean().optional(),
});
type StoredMasks = z.output<typeof masksSchema>;

/** A log with the secrets that it must not show. */
interface MaskedLog {
  readonly taskId: TaskId;
  /** Undefined when nothing is masked. */
  readonly sealedMasks: string | undefined;
  /** The owner of the repository, for whom the work is done. */
  readonly ownerId: UserId;
}

const PURPOSE = "action-masks";
/** Maximum bytes of all values that a log masks, in UTF-8: secrets, tokens and what the job adds by `::add-mask::`. */
const MASKS_BYTES_MAX = 1024 * 1024;
/** Characters of withheld rows that are kept to find a secret that goes on in the next rows. */
const PENDING_CHARACTERS = 32;

/** Masks secrets in logs. The masks of a task are sealed in its row, so that every daemon masks alike. */
export type Masks = ReturnType<typeof createMasks>;

export function createMasks({
  sealer,
  compute,
}: {
  readonly sealer: Sealer;
  readonly compute: Pick<Compute, "run">;
}) {
  const seal = (taskId: TaskId, masks: StoredMasks) =>
    sealer.seal(PURPOSE, JSON.stringify(masks), toRow(taskId));

  const maskRows = createMaskRows();

  return {
    /** Seals the secrets of a task. With more than the maximum, the log of the task is withheld. */
    seal: (taskId: TaskId, secrets: readonly string[]): string =>
      seal(taskId, addMasks({ secrets: [], pending: [] }, secrets)),

    /**
     * Masks rows. Returns them with the masks of the rows to come, undefined when these do not change. Rows that cannot be
     * masked, because the values are too many or take too long, are replaced by a sentence that says so. Throws
     * `unavailable` when too much work waits.
     */
    async mask(
      { taskId, sealedMasks, ownerId }: MaskedLog,
      rows: readonly string[],
    ): Promise<{ readonly rows: readonly string[]; readonly sealedMasks: string | undefined }> {
      const stored = open(taskId, sealedMasks);
      if (stored.isWithheld === true)
        return { rows: rows.map(() => TOO_MANY), sealedMasks: undefined };
      const masks = addMasks(stored, readAddedMasks(rows));
      if (masks.isWithheld === true)
        return { rows: rows.map(() => TOO_MANY), sealedMasks: seal(taskId, masks) };
      const { secrets } = masks;
      const request = { secrets, rows, pending: stored.pending };
      const masked = await compute.run(maskRows, request, String(ownerId));
      const { rows: shown, pending } =
        masked.kind === "done"
          ? masked.value
          : {
              rows: rows.map(
                () => `*** croft withholds this row: masking it takes ${masked.reason}`,
              ),
              pending: [rows.join("").slice(-PENDING_CHARACTERS)],
            };
      const isSame = masks === stored && pending.length === 0 && stored.pending.length === 0;
      return {
        rows: shown,
        sealedMasks: isSame ? undefined : seal(taskId, { secrets, pending: [...pending] }),
      };
    },
  };

  function open(taskId: TaskId, sealedMasks: string | undefined): StoredMasks {
    if (sealedMasks === undefined) return { secrets: [], pending: [] };
    const text = sealer.openText(PURPOSE, sealedMasks, toRow(taskId));
    return parseColumn(masksSchema, text, "forge_action_tasks.sealed_masks");
  }
}

const TOO_MANY = `*** croft withholds this row: the secrets and masks of the job have more than ${MASKS_BYTES_MAX} bytes`;

/** Adds values to masks. Returns the same masks when they have all of them. */
function addMasks(masks: StoredMasks, added: readonly string[]): StoredMasks {
  const known = new Set(masks.secrets);
  const secrets = [...new Set([...masks.secrets, ...added])];
  if (secrets.length === known.size) return masks;
  const bytes = secrets.reduce((sum, secret) => sum + Buffer.byteLength(secret), 0);
  return bytes > MASKS_BYTES_MAX
    ? { secrets: [], pending: [], isWithheld: true }
    : { secrets, pending: masks.pending };
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
    return text === "" ? [] : [text];
  });
}

/** Seals the masks of a task again, for a rotation of the master key. */
export function sealMasksAgain(value: string, key: string | number, again: SealAgain): string {
  return again(PURPOSE, value, toRow(toTaskId(key)));
}

const toRow = (taskId: TaskId) => `forge_action_tasks/${taskId}`;
