import type { Database } from "../../../storage/engine/database.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { isArchived, notFound } from "../refusals.ts";
import { findAccess, isPublic, reaches } from "../repositories/access.ts";
import {
  findOwned,
  type FoundRepository,
  repositoryMoved,
} from "../repositories/find-repository.ts";

/** The part of a path up to the repository. */
const REPOSITORY = "/api/v1/repos/:owner/:repo";

/** Returns whether an endpoint changes something that an archived repository keeps as it is. */
export function needsOpenRepository({ method, acceptsArchived }: Endpoint): boolean {
  return method !== "GET" && acceptsArchived !== true;
}

/**
 * Authorizes the repository in the path of an endpoint, before any other rule of the endpoint. Throws `not_found` for
 * one that an anonymous caller or a public-only token may not read, whatever the endpoint does there, `moved` for a
 * change by a former name, and `archived` when the endpoint changes an archived one. Returns the repository, or
 * undefined when there is nothing to check.
 */
export function assertRepositoryOpen(
  db: Database,
  caller: ForgeCaller | undefined,
  declared: Endpoint,
  params: Readonly<Record<string, string>>,
): Promise<FoundRepository> | undefined {
  const { path, gate } = declared;
  if (!path.startsWith(REPOSITORY)) return undefined;
  const rest = path.slice(REPOSITORY.length);
  if (rest !== "" && !rest.startsWith("/")) return undefined;
  const isNarrow = isPublicOnly(caller) || (caller === undefined && gate.admits !== "anyone");
  const isChange = needsOpenRepository(declared);
  return isNarrow || declared.method !== "GET" ? check() : undefined;

  async function check(): Promise<FoundRepository> {
    const owner = decodeURIComponent(params["owner"] ?? "");
    const repo = decodeURIComponent(params["repo"] ?? "");
    const found = await findOwned(db, { owner, repo });
    if (found === undefined) throw notFound();
    const isClosed = isChange && found.repository.archivedAt !== undefined;
    if (!isNarrow && !isClosed && !found.isFormer) return found;
    const isReadable = reaches(await findAccess(db, found, caller?.user, "any"), "read");
    if (!isReadable || (isPublicOnly(caller) && !isPublic(found))) throw notFound();
    if (found.isFormer) throw repositoryMoved(found);
    if (isClosed) throw isArchived(`${found.owner.name}/${found.repository.name}`);
    return found;
  }
}
