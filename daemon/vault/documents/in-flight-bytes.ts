import type { AccountId } from "../../../storage/tables/vault/ids.ts";

/** Bytes of one upload that is arriving. */
export interface ArrivingBytes {
  /** Sets how many bytes have arrived. False, counting none of this upload any more, when all are more than `max`. */
  set(bytes: number, max: number): boolean;
  /** Forgets it. Idempotent. */
  close(): void;
}

/**
 * Counts the bytes of uploads that are arriving and not booked yet, by user. Each may bring what the quota leaves; together
 * they may bring the whole quota, or many at once would fill the disk before the booking refuses all but one.
 */
export interface InFlightBytes {
  open(userId: AccountId): ArrivingBytes;
}

export function createInFlightBytes(): InFlightBytes {
  const byUser = new Map<string, number>();
  const add = (userId: AccountId, bytes: number) => {
    const sum = (byUser.get(userId) ?? 0) + bytes;
    if (sum === 0) byUser.delete(userId);
    else byUser.set(userId, sum);
  };
  return {
    open(userId) {
      let counted = 0;
      const close = () => {
        add(userId, -counted);
        counted = 0;
      };
      return {
        set(bytes, max) {
          const others = (byUser.get(userId) ?? 0) - counted;
          // A refused upload makes room at once: otherwise those that are refused together would refuse all others.
          if (others + bytes > max) {
            close();
            return false;
          }
          add(userId, bytes - counted);
          counted = bytes;
          return true;
        },
        close,
      };
    },
  };
}
