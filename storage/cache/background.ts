export type Background = ReturnType<typeof createBackground>;

/** Tracks background work, so that shutdown can wait for it. */
export function createBackground(onError: (error: unknown, task: string) => void) {
  const underWay = new Set<Promise<void>>();
  return {
    /** Tracks a promise. A rejection is reported to `onError` with `task`, the name of the operation, and is not rethrown. */
    add(work: Promise<unknown>, task: string): void {
      const done: Promise<void> = work
        .then(
          () => undefined,
          (error: unknown) => onError(error, task),
        )
        .finally(() => underWay.delete(done));
      underWay.add(done);
    },

    /** Resolves when no tracked work is left, including work that was added in the meantime. */
    async idle(): Promise<void> {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
