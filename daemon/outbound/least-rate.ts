/** How slow an exchange with another server may be: it has a time, and more for the bytes that have been exchanged. */
export interface LeastRate {
  /** Milliseconds before the rate matters: a server may compute before it answers. */
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

/** How often the rate is compared. */
const CHECKS = 20;

/**
 * Calls `onSlow` once when an exchange falls below a rate. A limit on the time without a byte does not end an exchange of one
 * byte each second. The exchange is watched until `stop` is called.
 */
export function watchRate(
  { graceMs, bytesPerSecond }: LeastRate,
  onSlow: () => void,
): { readonly count: (bytes: number) => void; readonly stop: () => void } {
  const everyMs = Math.ceil(graceMs / CHECKS);
  let elapsedMs = 0;
  let exchanged = 0;
  const timer = setInterval(() => {
    elapsedMs += everyMs;
    if (elapsedMs < graceMs + (exchanged / bytesPerSecond) * 1000) return;
    clearInterval(timer);
    onSlow();
  }, everyMs);
  return {
    count: (bytes) => {
      exchanged += bytes;
    },
    stop: () => clearInterval(timer),
  };
}
