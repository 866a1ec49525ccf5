import { readAttributes } from "../../../storage/git/attributes.ts";
import { GitError } from "../../../storage/git/git.ts";
import { findEntries } from "../../../storage/git/trees.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";
import { ATTRIBUTES_BYTES_MAX, toCodeName } from "../repositories/languages/language-names.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { repository } from "../../contract/permission.ts";
import { openNamedRepository } from "../repositories/open-repository.ts";
import type { RepositoryPath } from "../repositories/find-repository.ts";
import type { CodeAccess, CodeClient, OpenedCode } from "./open-code.ts";
import { getRevision } from "./revisions.ts";

/** Returns the name of code that the attributes of a file ask for; undefined where its name decides. */
export type FindFileLanguage = (
  client: CodeClient,
  file: RepositoryPath & { readonly ref: string; readonly path: string },
) => Promise<string | undefined>;

const LANGUAGES_CACHED = 2_000;
const NAMES = ["linguist-language", "gitlab-language"] as const;

/** Creates the function, which refuses as `CodeAccess` does and with `not_found` a missing repository or revision. */
export function createFileLanguages({
  db,
  access,
}: {
  readonly db: Database;
  readonly access: CodeAccess;
}): FindFileLanguage {
  const cache = createLruCache<{ readonly language: string | undefined }>({
    valueLengthMax: 1,
    lengthMax: LANGUAGES_CACHED,
  });
  return async (client, { ref, path, ...named }) => {
    const permission = repository("code", "read");
    const opened = await openNamedRepository(db, named, { caller: client.caller, permission });
    return access.within(opened, client, async (code) => {
      const { commitId } = await getRevision(code, ref);
      const key = `${code.owned.repository.id} ${commitId} ${path}`;
      const cached = cache.get(key);
      if (cached !== undefined) return cached.language;
      const language = await find(code, commitId, path);
      cache.set(key, { language }, 1);
      return language;
    });
  };
}

async function find(
  { git, directory, signal }: OpenedCode,
  commitId: string,
  path: string,
): Promise<string | undefined> {
  const options = { directory, signal };
  const folders = path.split("/").slice(0, -1);
  const sources = ["", ...folders.map((_, at) => `${folders.slice(0, at + 1).join("/")}/`)];
  const paths = sources.map((folder) => `${folder}.gitattributes`);
  const files = [...(await findEntries(git, commitId, paths, options)).values()].filter(
    ({ type, size }) => type === "blob" && size <= ATTRIBUTES_BYTES_MAX,
  );
  if (files.length === 0) return undefined;
  try {
    for await (const [, values] of readAttributes(
      git,
      { files, paths: [path], names: NAMES },
      options,
    )) {
      const given = values.get("linguist-language") ?? values.get("gitlab-language");
      return typeof given === "string" ? toCodeName(given) : undefined;
    }
  } catch (error) {
    // The files that users push decide how long git takes.
    if (!(error instanceof GitError && error.code === "too_long")) throw error;
  }
  return undefined;
}
