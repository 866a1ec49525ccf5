import { rmSync } from "node:fs";
import type * as FileSystem from "node:fs/promises";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openCacheFiles } from "../../../storage/cache/cache-files.ts";
import { localFolder } from "../../../storage/cloud/local-folder/provider.ts";
import type { CloudProvider, ProbeResult } from "../../../storage/cloud/provider.ts";
import { createFileObjects } from "../../../storage/objects/file-objects.ts";
import { discard } from "../../../storage/owner.ts";
import { createPartFiles } from "../../../storage/part-files.ts";
import { spool } from "../../../storage/spool.ts";
import { testProviderDeps } from "../../support/cloud/vault-cloud.ts";
import { openFilesBelow } from "../../support/open-files.ts";

// Each system call of each operation fails once: nothing may stay open. Node ends a process whose forgotten file handle is
// garbage collected.

/** The call that fails, counted from 1; 0 lets all succeed. */
let failing = 0;
let counted = 0;
let code = "EMFILE";

vi.mock("node:fs/promises", async (importOriginal) => {
  const original = await importOriginal<typeof FileSystem>();
  const step = () => {
    counted += 1;
    if (counted === failing)
      throw Object.assign(new Error(`${code}: injected`), { code, syscall: "injected" });
  };
  const names = [
    "mkdir",
    "rename",
    "rmdir",
    "stat",
    "lstat",
    "unlink",
    "rm",
    "link",
    "readdir",
  ] as const;
  const faulty = Object.fromEntries(
    [...names, "readFile" as const, "writeFile" as const].map((name) => [
      name,
      async (...args: never[]) => {
        step();
        return (original[name] as (...all: never[]) => unknown)(...args);
      },
    ]),
  );
  return {
    ...original,
    ...faulty,
    async open(...args: Parameters<typeof original.open>): Promise<FileSystem.FileHandle> {
      step();
      const handle = await original.open(...args);
      for (const name of ["stat", "sync", "read", "write", "writeFile", "appendFile"] as const) {
        const call = handle[name].bind(handle) as (...all: never[]) => unknown;
        Object.assign(handle, {
          [name]: async (...all: never[]) => {
            step();
            return call(...all);
          },
        });
      }
      return handle;
    },
  };
});

const signal = new AbortController().signal;
const BYTES = Buffer.alloc(300_000, 7);
let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "croft-faults-"));
});
afterEach(async () => {
  failing = 0;
  await rm(home, { recursive: true, force: true });
});

/** Runs `work` again and again; each time another of its calls fails, until none is left. Returns how many have failed. */
async function failEachCall(work: (round: number) => Promise<unknown>): Promise<number> {
  const before = await openFilesBelow(home);
  for (let call = 1; ; call += 1) {
    counted = 0;
    failing = call;
    await work(call).catch(ignoreInjected);
    const hasFailed = counted >= call;
    failing = 0;
    await expect
      .poll(() => openFilesBelow(home), { message: `call ${call}`, timeout: 60_000 })
      .toEqual(before);
    if (!hasFailed) return call - 1;
  }
}

const read = async (stream: Readable | undefined) => {
  if (stream !== undefined) await buffer(stream);
};

test.each(["EMFILE", "ENOSPC"])(
  "objects leave no file open when any call fails with %s",
  async (failure) => {
    code = failure;
    const [folder, temporary] = [join(home, "objects"), join(home, "tmp")];
    for (const path of [folder, temporary]) await mkdir(path);
    let id = 0;
    const store = createFileObjects({
      folder,
      tmp: temporary,
      newId: () => String((id += 1)),
      clock: () => 0,
      onDamaged: () => undefined,
    });
    const publish = async () => {
      const writer = await store.createPlain();
      try {
        await writer.write(BYTES);
        const { sha256 } = await writer.seal();
        await writer.publish();
        return sha256;
      } finally {
        await writer.discard();
      }
    };
    const sha256 = await publish();
    expect(await failEachCall(publish)).toBeGreaterThan(5);
    const openings = async () => {
      await read(await store.open(sha256, BYTES.byteLength));
      await read(await store.open(sha256, BYTES.byteLength, { start: 1, end: 9 }));
      await store.has(sha256, BYTES.byteLength);
    };
    expect(await failEachCall(openings)).toBeGreaterThan(2);
  },
);

test.each(["EMFILE", "ENOSPC", "EACCES"])(
  "a local folder leaves nothing open when any call fails with %s",
  async (failure) => {
    code = failure;
    const root = join(home, "root");
    await mkdir(root);
    await writeFile(join(root, "a.txt"), BYTES);
    const connect = async (probeResult?: ProbeResult) => {
      const outcome = await localFolder.connect(
        { connectionId: "c", settings: { root }, credentials: {}, probeResult, signal } as never,
        testProviderDeps(root, () => 0),
      );
      if (outcome.kind !== "ok") return undefined;
      return outcome;
    };
    const opened = await connect();
    if (opened === undefined) throw new Error("the folder was not connected");
    await opened.provider.close();
    /** With another identity than the connected one, as after a restore, so that the marker is read. */
    const elsewhere = { ...opened.probeResult, ino: "1" };
    const withProvider = async (
      work: (provider: CloudProvider, round: number) => Promise<unknown>,
      round: number,
    ) => {
      const outcome = await connect(elsewhere);
      try {
        if (outcome !== undefined) await work(outcome.provider, round);
      } finally {
        await outcome?.provider.close();
      }
    };
    const reading = (round: number) =>
      withProvider(async (provider) => {
        const found = await provider.read({ id: "a.txt", signal } as never);
        if (found.kind === "ok") await read(found.stream);
        const unread = await provider.read({ id: "a.txt", signal } as never);
        if (unread.kind === "ok") discard(unread.stream);
      }, round);
    expect(await failEachCall((round) => reading(round))).toBeGreaterThan(5);
    const writing = async (round: number) => {
      try {
        await withProvider(async (provider) => {
          const content = Readable.from([BYTES]);
          const size = BYTES.byteLength;
          await provider.upload({
            parent: "",
            name: `up-${round}.txt`,
            contentType: undefined,
            content,
            size,
            signal,
          } as never);
          await provider.list({ folder: "", signal } as never);
        }, round);
      } finally {
        // A listing looks at each file: with one more in each round, there would always be a next call to fail.
        rmSync(join(root, `up-${round}.txt`), { force: true });
      }
    };
    expect(await failEachCall((round) => writing(round))).toBeGreaterThan(5);
  },
);

test("spooled files, part files and cached files leave nothing open when any call fails", async () => {
  code = "EMFILE";
  const spooling = async (round: number) => {
    const { stream } = await spool(Readable.from([BYTES]), join(home, `spool-${round}`));
    discard(stream);
  };
  expect(await failEachCall(spooling)).toBeGreaterThan(2);
  const parts = createPartFiles(join(home, "parts"));
  const appending = async (round: number) => {
    await parts.append(`p${round}`, Readable.from([BYTES]), {
      offset: 0,
      sizeMax: BYTES.byteLength,
    });
    await parts.hash(`p${round}`);
    discard(await parts.open(`p${round}`));
    await parts.remove(`p${round}`);
  };
  expect(await failEachCall(appending)).toBeGreaterThan(3);
  const files = await openCacheFiles(join(home, "cache"), () => "store");
  const key = "ab".repeat(32);
  const caching = async (round: number) => {
    await using temporary = await files.createTemporary(`t${round}`);
    await temporary.writeFile(BYTES);
    await files.publish(`t${round}`, key);
    await (await files.open(key))?.close();
  };
  expect(await failEachCall(caching)).toBeGreaterThan(3);
});

/** Rethrows an error that none of the injected ones has caused. */
function ignoreInjected(error: unknown): void {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause.message.includes("injected")) return;
  throw error;
}
