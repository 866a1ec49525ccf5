/**
 * Makes a function that waits for the end of this turn of the event loop: all who wait in one turn go on together, when
 * everything that had come in has been worked on.
 *
 * Answers that wait for it leave in a row. Sent one by one between two pieces of work, each would wake its reader on the
 * same machine from sleep, and that takes longer than sending it.
 */
export function createTurnEnd(): () => Promise<void> {
  let ending: Promise<void> | undefined;
  return () =>
    (ending ??= new Promise((resolve) => {
      setImmediate(() => {
        ending = undefined;
        resolve();
      });
    }));
}
