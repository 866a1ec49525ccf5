import type { Database } from "../../../../storage/engine/database.ts";
import {
  findUserByName,
  type ForgeUser,
  listUsersByIds,
} from "../../../../storage/tables/forge/accounts/users.ts";
import { findPackage } from "../../../../storage/tables/forge/packages/packages.ts";
import { type ContainerScopes, reachesImage } from "./container-tokens.ts";
import { listContainerOwners } from "../../../../storage/tables/forge/packages/containers.ts";
import { listPackageNames } from "../../../../storage/tables/forge/packages/lists.ts";
import type { ForgeCaller } from "../../caller.ts";
import { readsPackagesOf } from "../access.ts";
import { type NamePage, type PageRequest, toNamePage } from "./manifests.service.ts";
import { CONTAINER, parsePageSize } from "./references.ts";

/** Who reads the catalogue. */
export interface CatalogReader {
  readonly caller: ForgeCaller | undefined;
  /** What the token is for; undefined for other credentials. */
  readonly scopes: ContainerScopes | undefined;
}

export type ContainerCatalog = ReturnType<typeof createContainerCatalog>;

export function createContainerCatalog({ db }: { readonly db: Database }) {
  return {
    /**
     * Lists the images that the caller may read as `owner/name`, by the owner's name and then by that of the image; with a token for some
     * images, only those.
     */
    async list({ n, last }: PageRequest, { caller, scopes }: CatalogReader): Promise<NamePage> {
      const limit = parsePageSize(n);
      if (scopes !== undefined) {
        const after = last.replaceAll("\0", "").toLowerCase();
        return toNamePage(await listNamed(scopes, after, caller), limit);
      }
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

  /** Returns the images that scopes name, as far as they exist and the caller may read them. */
  async function listNamed(
    scopes: ContainerScopes,
    after: string,
    caller: ForgeCaller | undefined,
  ): Promise<string[]> {
    const names: string[] = [];
    for (const image of Object.keys(scopes).toSorted()) {
      const [ownerName = "", ...rest] = image.split("/");
      const at = { owner: ownerName, name: rest.join("/") };
      if (image <= after || !reachesImage(scopes, at, "pull")) continue;
      const owner = await findUserByName(db, ownerName);
      if (owner === undefined || !(await readsPackagesOf(db, owner, caller))) continue;
      const key = { ownerId: owner.id, type: CONTAINER, name: at.name };
      if ((await findPackage(db, key)) !== undefined) names.push(image);
    }
    return names;
  }

  async function listOwners(): Promise<ForgeUser[]> {
    const owners = await listUsersByIds(db, await listContainerOwners(db));
    return owners.toSorted((a, b) => (a.lowerName < b.lowerName ? -1 : 1));
  }
}
