import type { Database } from "../../../storage/engine/database.ts";
import {
  deleteRepositoryAvatar,
  putRepositoryAvatar,
} from "../../../storage/tables/forge/accounts/avatars.ts";
import { updateRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { repositoryAvatarEndpoints } from "../../contract/forge/repositories/avatars.ts";
import type { Avatars } from "../accounts/avatars.service.ts";
import type { ForgeFeature } from "../feature.ts";
import { serve } from "../handle.ts";
import type { GrantedRepository } from "../opened.ts";
import { reopenRepository } from "./open-repository.ts";

/** The pictures of repositories, which have none until one is uploaded. */
export function createRepositoryAvatars({
  db,
  avatars,
}: {
  readonly db: Database;
  readonly avatars: Pick<Avatars, "store">;
}) {
  return {
    routes: serve(repositoryAvatarEndpoints, {
      setRepositoryAvatar: ({ opened, body }) => set(opened, body.image),
      deleteRepositoryAvatar: ({ opened }) => remove(opened),
    }),
  } satisfies ForgeFeature;

  /** Refuses as `Avatars.store` does. */
  function set(opened: GrantedRepository, image: string): Promise<void> {
    return avatars.store(image, async (tx, picture) => {
      const { id } = (await reopenRepository(tx, opened)).repository;
      await putRepositoryAvatar(tx, id, picture);
      await updateRepository(tx, id, { avatarHash: picture.sha256, updatedAt: tx.now });
    });
  }

  async function remove(opened: GrantedRepository): Promise<void> {
    await db.transaction(async (tx) => {
      const { id } = (await reopenRepository(tx, opened)).repository;
      await deleteRepositoryAvatar(tx, id);
      await updateRepository(tx, id, { avatarHash: "", updatedAt: tx.now });
    });
  }
}
