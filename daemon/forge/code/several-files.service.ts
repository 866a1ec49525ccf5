import { editorConfigOf } from "./editor-config.ts";
import { readBlob } from "../../../storage/git/objects.ts";
import { findEntries } from "../../../storage/git/trees.ts";
import { BLOB_BYTES_MAX } from "../../contract/forge/code/objects.ts";
import type { Compute } from "../compute.ts";
import { AppError } from "../../errors.ts";
import type { Contents, ContentsList } from "./contents.service.ts";
import { createLicenseFinder } from "./licenses.ts";
import type { CodeAccess, CodeRequest } from "./open-code.ts";
import { cleanFilePath } from "../repositories/paths.ts";
import { getRevision } from "./revisions.ts";

const SYMLINK = "120000";
const EDITOR_CONFIG = ".editorconfig";
/** A larger file is not read. */
const EDITOR_CONFIG_BYTES_MAX = 64 * 1024;

/** Reads several files at once, and the `.editorconfig` settings of one. */
export type SeveralFiles = ReturnType<typeof createSeveralFiles>;

/** Creates the service. Every function refuses as `CodeAccess` does, and with `unprocessable` a malformed path. */
export function createSeveralFiles({
  access,
  compute,
  contents,
}: {
  readonly access: CodeAccess;
  readonly compute: Compute;
  readonly contents: Pick<Contents, "get">;
}) {
  const findLicenses = createLicenseFinder();
  return {
    /** Returns the SPDX identifiers of the licenses in the top folder of the default branch. */
    listLicenses: (request: CodeRequest): Promise<string[]> => access.read(request, findLicenses),

    /**
     * Returns the files at some paths of a revision, in the order of the paths; undefined for a path without a file,
     * and for files beyond the first `BLOB_BYTES_MAX` bytes.
     */
    async get(
      request: CodeRequest,
      paths: readonly string[],
      ref: string,
    ): Promise<readonly (ContentsList | undefined)[]> {
      // Refuses a missing repository or revision, so that null entries of the list mean only missing files.
      await access.read(request, (code) => getRevision(code, ref.trim()));
      const files: (ContentsList | undefined)[] = [];
      let bytes = 0;
      for (const path of paths) {
        const found = await contents.get(request, path, ref).catch((error: unknown) => {
          if (error instanceof AppError && error.code === "not_found") return undefined;
          throw error;
        });
        const isFile = found !== undefined && !found.isFolder;
        bytes += found?.entries[0]?.content?.length ?? 0;
        files.push(isFile && bytes <= BLOB_BYTES_MAX ? found : undefined);
      }
      return files;
    },

    /** Returns the settings of the `.editorconfig` in the top folder for a file. Refuses with `not_found` without one. */
    async readEditorConfig(
      request: CodeRequest,
      requestedPath: string,
      ref: string,
    ): Promise<Record<string, string>> {
      const path = cleanFilePath(requestedPath);
      return access.read(request, async (code) => {
        const revision = await getRevision(code, ref.trim());
        const { git, directory, signal } = code;
        const options = { directory, signal };
        const entries = await findEntries(git, revision.commitId, [EDITOR_CONFIG], options);
        const entry = entries.get(EDITOR_CONFIG);
        const bytesMax = EDITOR_CONFIG_BYTES_MAX;
        if (entry?.type !== "blob" || entry.mode === SYMLINK || entry.size > bytesMax)
          throw new AppError(
            "not_found",
            `object does not exist [id: , rel_path: ${EDITOR_CONFIG}]`,
          );
        const text = await readBlob(git, entry.id, { ...options, bytesMax });
        const input = { text: new TextDecoder().decode(text), path };
        const account = String(code.owned.repository.ownerId);
        const computed = await compute.run(editorConfigOf, input, account);
        if (computed.kind === "done") return computed.value;
        throw new AppError("unavailable", `The .editorconfig takes ${computed.reason}.`);
      });
    },
  };
}
