import type { AccountId } from "../../../storage/tables/vault/ids.ts";

/** Counts the received bytes of one running upload. */
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
 * Counts the bytes of running uploads that are not booked yet, by user. Each upload may be as large as the free
 * quota, so concurrent uploads could fill the disk before the booking refuses all but one. Therefore their sum is
 * limited to the whole quota.
 */
export function createInFlightBytes() {
  const byUser = new Map<string, number>();
  const add = (userId: AccountId, bytes: number) => {
    const sum = (byUser.get(userId) ?? 0) + bytes;
    if (sum === 0) byUser.delete(userId);
    else byUser.set(userId, sum);
  };
  return {
    open(userId: AccountId): ArrivingBytes {
      let counted = 0;
      const close = () => {
        add(userId, -counted);
        counted = 0;
      };
      return {
        set(bytes, max) {
          const others = (byUser.get(userId) ?? 0) - counted;
          // A refused upload frees its bytes at once, otherwise simultaneously refused uploads would refuse all others.
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
