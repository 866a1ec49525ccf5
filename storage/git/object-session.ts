import { type Git, GitError, type GitProcess, toGitFailure } from "./git.ts";
import {
  findObjects,
  isObjectType,
  OBJECT_BYTES_MAX,
  type ObjectBeginning,
  type ObjectInfo,
  OUTPUT_BYTES_MAX,
  type ReadOptions,
} from "./objects.ts";
import type { TreeEntry } from "./trees.ts";

/**
 * Looks up and reads objects of one repository in one run of git, which starts with the first query. Calls must not
 * overlap.
 */
export type ObjectSession = ReturnType<typeof openObjectSession>;

const TIMEOUT_MS = 60_000;
/** Maximum length of the line before an object: the name in the query, an id, a type and a size. */
const LINE_BYTES_MAX = 16_384;
/** Bytes of a folder that are read to find one entry: about 7,000 entries. */
const TREE_BYTES_MAX = 256 * 1024;

/** Runs `work` with a session, which ends with it. */
export async function withObjectSession<T>(
  git: Git,
  options: ReadOptions,
  work: (objects: ObjectSession) => Promise<T>,
): Promise<T> {
  const objects = openObjectSession(git, options);
  try {
    return await work(objects);
  } finally {
    objects.end();
  }
}

export function openObjectSession(
  git: Git,
  {
    directory,
    signal,
    timeoutMs = TIMEOUT_MS,
  }: ReadOptions & { readonly timeoutMs?: number | undefined },
) {
  let running: { readonly child: GitProcess; readonly reader: ByteReader } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;

  const start = () => {
    signal?.throwIfAborted();
    const child = git.launch(["cat-file", "--batch-command", "-z"], { directory });
    signal?.addEventListener("abort", child.stop, { once: true });
    timer = setTimeout(() => {
      isLate = true;
      child.stop();
    }, timeoutMs);
    return { child, reader: createByteReader(child.stdout as AsyncIterable<Buffer>) };
  };

  /** Sends queries and reads the responses. If git ends early, throws an error with git's own message. */
  async function ask<T>(
    commands: readonly string[],
    answer: (reader: ByteReader) => Promise<T>,
  ): Promise<T> {
    const { child, reader } = (running ??= start());
    child.stdin.write(commands.map((command) => `${command}\0`).join(""));
    try {
      return await answer(reader);
    } catch (error) {
      if (!(error instanceof EndOfOutput)) throw error;
      const { exitCode, stderr } = await child.ended;
      signal?.throwIfAborted();
      if (isLate) throw new GitError("too_long", "git cat-file: too much time");
      if (exitCode === undefined && stderr.includes("ENOENT"))
        throw new GitError("missing", `git cat-file: ${stderr}`);
      throw toGitFailure("git cat-file", { exitCode, stderr });
    }
  }

  const session = {
    /** Looks objects up as `findObjects` does. @throws GitError */
    async find(names: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
      // Git reports a missing object by its name, and a line break in the name would end the line.
      if (names.some((name) => name.includes("\n")))
        return findObjects(git, names, { directory, signal });
      return ask(
        names.map((name) => `info ${name}`),
        async (reader) => {
          const found: (ObjectInfo | undefined)[] = [];
          for (const name of names) found.push(toInfo(await reader.line(), name));
          return found;
        },
      );
    },

    /** Reads a whole object. @throws GitError `too_long` when it is larger than `bytesMax`, `failed` when it is missing */
    async read(id: string, bytesMax: number): Promise<Buffer> {
      const [info] = await session.find([id]);
      if (info === undefined) throw new GitError("failed", `git cat-file: ${id} is missing`);
      if (info.size > bytesMax) throw new GitError("too_long", `git cat-file: ${id} is too large`);
      return ask([`contents ${id}`], async (reader) => {
        const header = toInfo(await reader.line(), id);
        if (header === undefined) throw new GitError("failed", `git cat-file: ${id} is missing`);
        const content = await reader.bytes(header.size);
        await reader.bytes(1);
        return content;
      });
    },

    /**
     * Reads the first 256 KiB of each object, as the function `readBeginnings` does. @throws GitError `failed` when one is missing, `too_long`
     * when git would write more than 1 GiB
     */
    async readBeginnings(ids: readonly string[]): Promise<ObjectBeginning[]> {
      if (ids.length === 0) return [];
      return ask(
        ids.map((id) => `contents ${id}`),
        async (reader) => {
          const objects: ObjectBeginning[] = [];
          let total = 0;
          for (const id of ids) {
            const info = toInfo(await reader.line(), id);
            if (info === undefined)
              throw new GitError("failed", `git cat-file: could not read ${id}`);
            total += info.size;
            if (total > OUTPUT_BYTES_MAX)
              throw new GitError("too_long", "git cat-file: too much output");
            const bytesToRead = Math.min(info.size, OBJECT_BYTES_MAX);
            objects.push({
              bytes: await reader.bytes(bytesToRead),
              isCut: bytesToRead < info.size,
            });
            await reader.skip(info.size - bytesToRead + 1);
          }
          return objects;
        },
      );
    },

    /**
     * Returns a file or link of a commit or tree by its path. Undefined when it is missing, and for entries that a
     * session cannot read: folders, submodules, paths with line breaks, and names in very large folders. @throws
     * GitError
     */
    async findFile(tree: string, path: string): Promise<TreeEntry | undefined> {
      const slash = path.lastIndexOf("/");
      const folder = path.slice(0, Math.max(slash, 0));
      // Git takes a path that begins with a dot and a slash as relative to a working tree.
      if (/\n|\ufffd|^\.{1,2}(?:\/|$)/.test(path)) return undefined;
      const [above] = await session.find([`${tree}^{tree}:${folder}`]);
      if (above?.type !== "tree" || above.size > TREE_BYTES_MAX) return undefined;
      const content = await session.read(above.id, TREE_BYTES_MAX);
      const found = findInTree(content, path.slice(slash + 1), above.id.length / 2);
      if (found === undefined) return undefined;
      const [info] = await session.find([found.id]);
      if (info?.type !== "blob") return undefined;
      return { mode: found.mode, type: "blob", id: found.id, size: info.size, path };
    },

    /** Ends git. */
    end(): void {
      clearTimeout(timer);
      if (running === undefined) return;
      signal?.removeEventListener("abort", running.child.stop);
      running.child.stop();
      // An unread response would keep the pipe open.
      running.child.stdout.destroy();
    },
  };
  return session;
}

/** Returns undefined for an object that is missing or whose abbreviation names several. */
function toInfo(line: string, name: string): ObjectInfo | undefined {
  if (line === `${name} missing` || line === `${name} ambiguous`) return undefined;
  const [id = "", type = "", size = ""] = line.split(" ");
  if (!isObjectType(type) || !/^\d+$/.test(size))
    throw new GitError("failed", `git cat-file: ${line}`);
  return { id, type, size: Number(size) };
}

/** Finds an entry in the bytes of a tree object: `mode name NUL id`, one after the other. */
function findInTree(
  tree: Buffer,
  name: string,
  idBytes: number,
): { readonly mode: string; readonly id: string } | undefined {
  const nameBytes = Buffer.from(name);
  for (let at = 0; at < tree.byteLength;) {
    const space = tree.indexOf(0x20, at);
    const end = tree.indexOf(0, space);
    if (space === -1 || end === -1) return undefined;
    const next = end + 1 + idBytes;
    if (tree.subarray(space + 1, end).equals(nameBytes))
      return {
        mode: tree.toString("latin1", at, space).padStart(6, "0"),
        id: tree.toString("hex", end + 1, next),
      };
    at = next;
  }
  return undefined;
}

/** The output ended before a response was complete. */
class EndOfOutput extends Error {}

type ByteReader = ReturnType<typeof createByteReader>;

function createByteReader(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const next = async (): Promise<Buffer> => {
    const { value, done } = await chunks.next();
    if (done === true) throw new EndOfOutput();
    return value;
  };
  return {
    /** Returns the next line without its end. */
    async line(): Promise<string> {
      for (;;) {
        const end = rest.indexOf(10);
        if (end !== -1) {
          const line = rest.toString("utf8", 0, end);
          rest = rest.subarray(end + 1);
          return line;
        }
        if (rest.byteLength > LINE_BYTES_MAX)
          throw new GitError("failed", "git cat-file: a long line");
        rest = Buffer.concat([rest, await next()]);
      }
    },

    /** Returns exactly this many bytes. */
    async bytes(count: number): Promise<Buffer> {
      const parts = [rest];
      let size = rest.byteLength;
      while (size < count) {
        const chunk = await next();
        parts.push(chunk);
        size += chunk.byteLength;
      }
      const all = Buffer.concat(parts);
      rest = all.subarray(count);
      return all.subarray(0, count);
    },

    /** Skips exactly this many bytes. */
    async skip(count: number): Promise<void> {
      let remaining = count;
      while (remaining > rest.byteLength) {
        remaining -= rest.byteLength;
        rest = await next();
      }
      rest = rest.subarray(remaining);
    },
  };
}
