/** Work that nobody waits for, but the end of the process. */
export interface Background {
  /** Starts to watch over the work; what it fails with is told, and thrown nowhere. `what` says what was to be done. */
  add(work: Promise<unknown>, what: string): void;
  /** Resolves when nothing is left, what was added meanwhile included. */
  idle(): Promise<void>;
}

export function createBackground(onError: (error: unknown, what: string) => void): Background {
  const underWay = new Set<Promise<void>>();
  return {
    add(work, what) {
      const done: Promise<void> = work
        .then(
          () => undefined,
          (error: unknown) => onError(error, what),
        )
        .finally(() => underWay.delete(done));
      underWay.add(done);
    },

    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
