import { withObjectSession } from "../../../storage/git/object-session.ts";
import type { ObjectInfo } from "../../../storage/git/objects.ts";
import { findLastCommitId } from "../../../storage/git/last-commits.ts";
import { listRefs, type RefEntry } from "../../../storage/git/ref-lists.ts";
import { listTree, type TreeEntry } from "../../../storage/git/trees.ts";
import { BLOB_BYTES_MAX, REFS_MAX } from "../../contract/forge/code/objects.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import type { OwnedRepository } from "../events.ts";
import type { PageWindow } from "../page-window.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "./open-code.ts";
import { findRevision, getCommitId } from "./revisions.ts";

/** A page of the entries of a tree. */
export interface TreePage extends PageWindow {
  readonly owned: OwnedRepository;
  readonly id: string;
  readonly entries: readonly TreeEntry[];
  readonly total: number;
}

/** A blob, without its content if that exceeds the limit of a response. */
export interface Blob {
  readonly owned: OwnedRepository;
  readonly info: ObjectInfo;
  readonly content: Buffer | undefined;
}

/** The ref in which git keeps notes by default. */
const NOTES = "refs/notes/commits";

/** Git's own objects of repositories: refs, trees and blobs. */
export type GitObjects = ReturnType<typeof createGitObjects>;

/**
 * Creates the service. Every function refuses as `CodeAccess` does, and throws `not_found` when the object does not
 * exist.
 */
export function createGitObjects({ access }: { readonly access: CodeAccess }) {
  return {
    /** Returns the refs whose names begin with `refs/` and `prefix`, sorted by name. */
    async listRefs(
      request: CodeRequest,
      prefix: string,
    ): Promise<{
      readonly owned: OwnedRepository;
      readonly refs: readonly RefEntry[];
      readonly total: number;
    }> {
      return access.read(request, async ({ git, owned, directory, signal }) => {
        if (prefix !== "" && !isRefName(prefix)) throw notFound();
        const query = { directory, signal, under: "refs/", order: "name" } as const;
        const found = await listRefs(git, { ...query, prefix }, { limit: REFS_MAX, offset: 0 });
        if (found.total === 0 && prefix !== "") throw notFound();
        return { owned, ...found };
      });
    },

    /**
     * Returns a page of a tree, with all its subtrees if `isRecursive`. Throws `not_found` when the object is not a
     * tree.
     */
    async getTree(
      request: CodeRequest,
      name: string,
      { page, limit, isRecursive }: PageWindow & { readonly isRecursive: boolean },
    ): Promise<TreePage> {
      return access.read(request, async (code) => {
        const id = await getTreeId(code, name);
        const start = (page - 1) * limit;
        const entries: TreeEntry[] = [];
        let total = 0;
        const { directory, signal } = code;
        for await (const entry of listTree(code.git, id, { directory, signal, isRecursive })) {
          if (total >= start && entries.length < limit) entries.push(entry);
          total += 1;
        }
        return { owned: code.owned, id, entries, total, page, limit };
      });
    },

    /**
     * Returns the text of a commit's note and the commit that wrote it. Throws `not_found` when the commit has no note.
     */
    async getNote(
      request: CodeRequest,
      name: string,
    ): Promise<{ readonly text: string; readonly commitId: string }> {
      return access.read(request, async (code) => {
        if (!isRefName(name)) throw new AppError("unprocessable", `no valid ref or sha: ${name}`);
        const { git, directory, signal } = code;
        const options = { directory, signal };
        return withObjectSession(git, options, async (objects) => {
          const id = await getCommitId(code, name, objects.find);
          // Git spreads many notes over folders: ab/cdef…, ab/cd/ef….
          const paths = [0, 1, 2].map(
            (depth) =>
              [...Array(depth).keys()].map((at) => `${id.slice(at * 2, at * 2 + 2)}/`).join("") +
              id.slice(depth * 2),
          );
          const names = [`${NOTES}^{commit}`, ...paths.map((path) => `${NOTES}:${path}`)];
          const [tip, ...blobs] = await objects.find(names);
          const depth = blobs.findIndex((each) => each?.type === "blob");
          const [blob, path = ""] = [blobs[depth], paths[depth]];
          if (tip === undefined || blob === undefined)
            throw new AppError("not_found", `commit doesn't exist: ${name}`);
          const last = await findLastCommitId(git, { ...options, tip: tip.id, path });
          const text = await objects.read(blob.id, BLOB_BYTES_MAX);
          return { text: text.toString("utf8"), commitId: last ?? tip.id };
        });
      });
    },

    async getBlob(request: CodeRequest, id: string): Promise<Blob> {
      return access.read(request, async ({ git, owned, directory, signal }) => {
        if (!/^[0-9a-f]{4,64}$/i.test(id))
          throw new AppError("invalid_argument", "sha not provided");
        return withObjectSession(git, { directory, signal }, async (objects) => {
          const [info] = await objects.find([id]);
          if (info?.type !== "blob") throw notFound();
          const isRead = info.size <= BLOB_BYTES_MAX;
          const content = isRead ? await objects.read(info.id, BLOB_BYTES_MAX) : undefined;
          return { owned, info, content };
        });
      });
    },
  };
}

/** Returns the id of a revision's tree; the name may also be the id of a tree. */
async function getTreeId(code: OpenedCode, name: string): Promise<string> {
  const tree = await withObjectSession(code.git, code, async ({ find }) => {
    const commit = await findRevision(code, name, find);
    const isId = /^[0-9a-f]{4,64}$/i.test(name);
    const expression = commit?.commitId ?? (isId ? name : undefined);
    return expression === undefined ? undefined : (await find([`${expression}^{tree}`]))[0];
  });
  if (tree === undefined) throw new AppError("not_found", `sha not found [${name}]`);
  return tree.id;
}
