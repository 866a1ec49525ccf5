import type { Queries } from "../../../storage/engine/database.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import type { Permission } from "../../contract/permission.ts";
import type { ForgeCaller } from "../caller.ts";
import { grantOrganization } from "../organizations/organization-access.ts";
import type { Granted } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { grantRepository } from "../repositories/open-repository.ts";
import {
  findOwned,
  type FoundRepository,
  repositoryMoved,
} from "../repositories/repositories.service.ts";
import { needsOpenRepository } from "./repository-gate.ts";

/**
 * Opens the resource in the path of an endpoint for a caller with a permission. A former name redirects to the current
 * one if the caller may read the resource.
 */
export async function openResource(
  db: Queries,
  {
    caller,
    declared,
    permission,
    params,
    found,
  }: {
    readonly caller: ForgeCaller | undefined;
    readonly declared: Endpoint;
    readonly permission: Permission;
    readonly params: Readonly<Record<string, string>>;
    /** The repository in the path, if it was found already. */
    readonly found: FoundRepository | undefined;
  },
): Promise<Granted<Permission>> {
  const decode = (name: string) => decodeURIComponent(params[name] ?? "");
  if (permission.kind === "organization")
    return grantOrganization(db, decode("org"), { caller, permission });
  const owned = found ?? (await findOwned(db, { owner: decode("owner"), repo: decode("repo") }));
  if (owned === undefined) throw notFound();
  if (owned.isFormer) {
    if (!reaches(await findAccess(db, owned, caller?.user, "any"), "read")) throw notFound();
    throw repositoryMoved(owned);
  }
  const isChange = needsOpenRepository(declared);
  return grantRepository(db, owned, { caller, permission, isChange });
}
