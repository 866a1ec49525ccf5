import type { AccountId } from "../../../storage/tables/vault/ids.ts";

/** Bytes of one upload that is arriving. */
export interface ArrivingBytes {
  /**
   * Sets the number of received bytes. When all uploads together exceed `max`, stops counting this one and returns
   * false.
   */
  set(bytes: number, max: number): boolean;
  /** Forgets it. Idempotent. */
  close(): void;
}

/**
 * Counts the bytes of running uploads that are not booked yet, by user. Each may be as large as the free quota, and
 * their sum as large as the whole quota; without that limit concurrent uploads would fill the disk before the booking
 * refuses all but one.
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
