import type { Database, Queries } from "../../../storage/engine/database.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import { sumPackageBytes } from "../../../storage/tables/forge/packages/packages.ts";
import { AppError } from "../../errors.ts";

/** Maximum bytes of a file of a package, and of all files of an owner's packages; 0 is no limit for an owner. */
export interface PackageLimits {
  readonly uploadBytesMax: number;
  readonly ownerBytesMax: number;
}

export type OwnerRoom = ReturnType<typeof createOwnerRoom>;

/** The room that the files of an owner's packages have. The images of containers have a limit of their own. */
export function createOwnerRoom(db: Database, { uploadBytesMax, ownerBytesMax }: PackageLimits) {
  const full = () =>
    new AppError(
      "too_large",
      `The packages of an owner may have ${ownerBytesMax} bytes in all (max_owner_package_bytes).`,
    );

  async function find(queries: Queries, ownerId: UserId): Promise<number> {
    if (ownerBytesMax === 0) return Infinity;
    return ownerBytesMax - (await sumPackageBytes(queries, ownerId));
  }

  return {
    /**
     * Receives a file of at most the bytes that are left. Refuses with `too_large` one that is announced to be larger before
     * it is read, and any other when it is.
     */
    async receive<T>(
      ownerId: UserId,
      declaredBytes: number,
      receive: (bytesMax: number) => Promise<T>,
    ): Promise<T> {
      const room = await find(db, ownerId);
      if (room >= uploadBytesMax) return receive(uploadBytesMax);
      if (declaredBytes > room) throw full();
      try {
        return await receive(Math.max(0, room));
      } catch (error) {
        throw error instanceof AppError && error.code === "too_large" ? full() : error;
      }
    },

    /** Refuses with `too_large` what an owner has beyond the maximum. Call it after a file was recorded. */
    async assertKept(tx: Queries, ownerId: UserId): Promise<void> {
      if ((await find(tx, ownerId)) < 0) throw full();
    },
  };
}
