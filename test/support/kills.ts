/**
 * Returns the number of kills of a crash test: `usual` of them, each at a random moment, so that many runs of the suite
 * search further than one long one. `CROFT_TEST_KILLS=200` searches further in one run.
 */
export function countKills(usual: number): number {
  const given = process.env["CROFT_TEST_KILLS"];
  if (given === undefined) return usual;
  const kills = Number(given);
  if (!Number.isSafeInteger(kills) || kills < 1)
    throw new Error(`CROFT_TEST_KILLS takes a whole number above 0, not "${given}"`);
  return kills;
}

/** Returns the time limit of a test with this many kills, far above what a slow machine takes. */
export function limitOfKills(kills: number): number {
  return 300_000 + kills * 30_000;
}
