import { afterAll, beforeAll, expect, test } from "vitest";
import { createMasks } from "../../../../../daemon/forge/actions/secrets/masks.service.ts";
import type { Compute } from "../../../../../daemon/forge/compute.ts";
import { createTestCompute } from "../../../../support/forge/compute.ts";
import type { Sealer } from "../../../../../storage/keys/keyring.ts";
import { toTaskId, toUserId } from "../../../../../storage/tables/forge/ids.ts";

let compute: Compute;
beforeAll(() => {
  compute = createTestCompute();
});
afterAll(() => compute.close());

const taskId = toTaskId(1);
/** Seals nothing: the tests read only the rows. */
const sealer = {
  seal: (_purpose: string, text: string) => text,
  openText: (_purpose: string, text: string) => text,
} as unknown as Sealer;

/** Masks batches of rows of one log one after the other. */
async function maskAll(
  secrets: readonly string[],
  batches: readonly (readonly string[])[],
  run: Compute["run"] = compute.run,
): Promise<string[]> {
  const masks = createMasks({ sealer, compute: { run } });
  const shown: string[] = [];
  let sealedMasks: string | undefined = masks.seal(taskId, secrets);
  for (const rows of batches) {
    const masked = await masks.mask({ taskId, sealedMasks, ownerId: toUserId(1) }, rows);
    shown.push(...masked.rows);
    sealedMasks = masked.sealedMasks ?? sealedMasks;
  }
  return shown;
}

test("masks that a job adds hide their values from the row that adds them on", async () => {
  const values = Array.from({ length: 1_500 }, (_, at) => `value-${at}-${"x".repeat(40)}`);
  const added = values.map((value) => `::add-mask::${value}`);
  const shown = await maskAll([], [added, values]);
  expect(shown).toEqual([...values.map(() => "::add-mask::***"), ...values.map(() => "***")]);
});

test("nine hundred long masks and one row are masked", async () => {
  const added = Array.from({ length: 900 }, (_, at) => `::add-mask::${at}-${"m".repeat(1_000)}`);
  const [shown] = (await maskAll([], [added, [`row 7-${"m".repeat(1_000)} end`]])).slice(-1);
  expect(shown).toBe("row *** end");
});

const TOO_MANY =
  "*** croft withholds this row: the secrets and masks of the job have more than 1048576 bytes";

test("a job whose secrets are too many to mask has a log that says so and shows nothing else", async () => {
  const secrets = Array.from({ length: 17 }, (_, at) => `${at}-${"s".repeat(65_000)}`);
  expect(await maskAll(secrets, [["one", "two"], ["three"]])).toEqual([
    TOO_MANY,
    TOO_MANY,
    TOO_MANY,
  ]);
});

test("a mask beyond the maximum withholds its own rows and all later ones", async () => {
  const added = Array.from({ length: 17 }, (_, at) => `::add-mask::${at}-${"s".repeat(65_000)}`);
  expect(await maskAll(["hunter2"], [["hunter2"], added, ["later"]])).toEqual([
    "***",
    ...added.map(() => TOO_MANY),
    TOO_MANY,
  ]);
});

test("rows whose masking uses up its budget are withheld, and a secret that goes on behind them is masked", async () => {
  let calls = 0;
  const run = (async (name, input, account) => {
    calls += 1;
    return calls === 1
      ? { kind: "exceeded", reason: "too much time" }
      : compute.run(name, input, account);
  }) as Compute["run"];
  expect(await maskAll(["hunter2-secret"], [["a hunter2"], ["-secret b"]], run)).toEqual([
    "*** croft withholds this row: masking it takes too much time",
    "*** b",
  ]);
});
