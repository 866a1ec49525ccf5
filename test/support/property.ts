/**
 * Returns the seed and the number of cases of a property: `usual` cases, the same ones each time, so that a failure is
 * caused by the change under test. `CROFT_PROPERTY_SEED=random` tries new cases, a number repeats a finding;
 * `CROFT_PROPERTY_RUNS` sets the number of cases.
 */
export function cases(usual = 100): { readonly seed: number; readonly numRuns: number } {
  return { seed: seed(), numRuns: wholeNumber("CROFT_PROPERTY_RUNS") ?? usual };
}

function seed(): number {
  // Different in each test process, within the 32 bits that fast-check takes.
  if (process.env["CROFT_PROPERTY_SEED"] === "random") return Date.now() ^ (process.pid << 16);
  return wholeNumber("CROFT_PROPERTY_SEED") ?? 7420;
}

function wholeNumber(name: string): number | undefined {
  const value = process.env[name];
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw new Error(`${name} takes a whole number, not "${value}"`);
  return number;
}
