import type { Database } from "../../../../storage/engine/database.ts";
import { type ForgeUser, listUsersByIds } from "../../../../storage/tables/forge/accounts/users.ts";
import { listContainerOwners } from "../../../../storage/tables/forge/packages/containers.ts";
import { listPackageNames } from "../../../../storage/tables/forge/packages/lists.ts";
import type { ForgeCaller } from "../../caller.ts";
import { readsPackagesOf } from "../access.ts";
import { type NamePage, type PageRequest, toNamePage } from "./manifests.service.ts";
import { CONTAINER, parsePageSize } from "./references.ts";

export type ContainerCatalog = ReturnType<typeof createContainerCatalog>;

export function createContainerCatalog({ db }: { readonly db: Database }) {
  return {
    /** Lists the images that the caller may read as `owner/name`, by the owner's name and then by that of the image. */
    async list({ n, last }: PageRequest, caller: ForgeCaller | undefined): Promise<NamePage> {
      const limit = parsePageSize(n);
      const [lastOwner = "", ...lastName] = last.replaceAll("\0", "").toLowerCase().split("/");
      const owners = await listOwners();
      const names: string[] = [];
      for (const owner of owners) {
        if (names.length > limit) break;
        if (owner.lowerName < lastOwner || !(await readsPackagesOf(db, owner, caller))) continue;
        const found = await listPackageNames(
          db,
          { ownerId: owner.id, type: CONTAINER },
          {
            after: owner.lowerName === lastOwner ? lastName.join("/") : "",
            limit: limit + 1 - names.length,
          },
        );
        names.push(...found.map((name) => `${owner.lowerName}/${name}`));
      }
      return toNamePage(names, limit);
    },
  };

  async function listOwners(): Promise<ForgeUser[]> {
    const owners = await listUsersByIds(db, await listContainerOwners(db));
    return owners.toSorted((a, b) => (a.lowerName < b.lowerName ? -1 : 1));
  }
}
