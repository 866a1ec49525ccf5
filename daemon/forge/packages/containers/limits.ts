import type { Queries } from "../../../../storage/engine/database.ts";
import type { UserId } from "../../../../storage/tables/forge/ids.ts";
import { sumContainerBytes } from "../../../../storage/tables/forge/packages/container-blobs.ts";
import type { AppError } from "../../../errors.ts";
import { refuse } from "./references.ts";

/** Maximum bytes of a blob, and of all images of an owner; 0 is no limit for an owner. */
export interface ContainerLimits {
  readonly blobBytesMax: number;
  readonly ownerBytesMax: number;
}

type OwnerLimit = Pick<ContainerLimits, "ownerBytesMax">;

/** Returns how many more bytes the images of an owner may have; negative when they have more than they may. */
export async function findOwnerRoom(
  queries: Queries,
  ownerId: UserId,
  { ownerBytesMax }: OwnerLimit,
): Promise<number> {
  if (ownerBytesMax === 0) return Infinity;
  return ownerBytesMax - (await sumContainerBytes(queries, ownerId));
}

/** The refusal of bytes for which an owner has no room. */
export const ownerIsFull = ({ ownerBytesMax }: OwnerLimit): AppError =>
  refuse(
    "too_large",
    "DENIED",
    `the images of an owner may have ${ownerBytesMax} bytes in all (max_owner_container_bytes)`,
  );
