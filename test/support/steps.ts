import { Session } from "node:inspector/promises";

/** Counts the steps that work takes; `await using` ends it. */
export interface StepCounter extends AsyncDisposable {
  /** How often blocks of the functions in matching files were entered while `work` ran. */
  count(work: () => Promise<unknown>): Promise<number>;
}

/**
 * Counts with the engine's own block counters, which say the same on every machine, however busy it is. Steps inside
 * one regular expression, or inside the engine, are not counted.
 */
export async function createStepCounter(isCounted: (url: string) => boolean): Promise<StepCounter> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return {
    async count(work) {
      await session.post("Profiler.takePreciseCoverage");
      await work();
      const { result } = await session.post("Profiler.takePreciseCoverage");
      return result
        .filter(({ url }) => isCounted(url))
        .flatMap(({ functions }) => functions)
        .flatMap(({ ranges }) => ranges)
        .reduce((sum, { count }) => sum + count, 0);
    },
    async [Symbol.asyncDispose]() {
      await session.post("Profiler.stopPreciseCoverage");
      session.disconnect();
    },
  };
}
