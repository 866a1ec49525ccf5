import { lstat, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { cutName, partSuffix } from "./file-name.ts";

/**
 * A file that holds the beginning of a download. Its name carries the tag of the version that its bytes are of, so that
 * the bytes of two versions never meet in one file, whoever writes and whenever the machine stops.
 */
export interface Part {
  readonly path: string;
  /** The entity tag without its quotes; undefined when the server gave none that parts can be told apart by. */
  readonly tag: string | undefined;
  /** In bytes. */
  readonly size: number;
}

/** Where the beginning of `path` is kept. `mark` is the version's tag, or something that no tag can be. */
export function toPartPath(path: string, mark: string): string {
  const end = `.${mark}${partSuffix}`;
  return join(dirname(path), cutName(basename(path), Buffer.byteLength(end)) + end);
}

/** The tag in an `ETag` header, if it is a strong one that fits into a name. */
export function toTag(etag: unknown): string | undefined {
  return /^"([\w-]{8,64})"$/.exec(String(etag ?? ""))?.[1];
}

/** Finds the beginnings that earlier runs have left. Each folder is read once, when it is first asked about. */
export interface PartFinder {
  /** The latest beginning of the file that shall be `path`. */
  find(path: string): Promise<Part | undefined>;
}

export function createPartFinder(): PartFinder {
  const folders = new Map<string, Promise<readonly string[]>>();
  return {
    async find(path) {
      const folder = dirname(path);
      const reading = folders.get(folder) ?? readParts(folder);
      folders.set(folder, reading);
      const parts: (Part & { readonly changedAt: number })[] = [];
      for (const name of await reading) {
        const tag = name.slice(0, -partSuffix.length).split(".").at(-1) ?? "";
        // A name that had to be cut off may be the beginning of another one.
        if (toTag(`"${tag}"`) === undefined || name !== `${basename(path)}.${tag}${partSuffix}`)
          continue;
        const found = await lstat(join(folder, name)).catch(() => undefined);
        // A link would lead the bytes somewhere else.
        if (found?.isFile() === true)
          parts.push({ path: join(folder, name), tag, size: found.size, changedAt: found.mtimeMs });
      }
      return parts.toSorted((one, other) => other.changedAt - one.changedAt)[0];
    },
  };
}

async function readParts(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith(partSuffix));
}
