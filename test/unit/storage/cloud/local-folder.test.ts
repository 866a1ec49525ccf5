import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openBelow, openTrusted } from "../../../../storage/cloud/local-folder/anchor.ts";
import { toFailure } from "../../../../storage/cloud/local-folder/errno.ts";
import { relocate, respell } from "../../../../storage/cloud/local-folder/relocate.ts";
import { localFolder } from "../../../../storage/cloud/local-folder/provider.ts";
import { removeBin } from "../../../../storage/cloud/local-folder/trash.ts";
import { createItemReader } from "../../../../storage/cloud/local-folder/versions.ts";
import type {
  CloudProvider,
  ProbeResult,
  ProviderDeps,
} from "../../../../storage/cloud/provider.ts";
import { tickAfter } from "../../../support/storage/file-clock.ts";
import { skipUnless } from "../../../support/skip.ts";
import { testProviderDeps } from "../../../support/cloud/vault-cloud.ts";

const signal = new AbortController().signal;
const isRoot = process.getuid?.() === 0;
const hasOtherDisk =
  statSync("/dev/shm", { throwIfNoEntry: false })?.dev !== statSync(tmpdir()).dev &&
  existsSync("/dev/shm");

let outside: string;
let root: string;
let provider: CloudProvider;
let probeResult: ProbeResult;

beforeEach(async () => {
  const home = await mkdtemp(join(tmpdir(), "croft-local-"));
  outside = join(home, "outside");
  root = join(home, "root");
  await mkdir(outside);
  await mkdir(root);
  await writeFile(join(outside, "secret.txt"), "secret");
  const outcome = await connect(root);
  if (outcome.kind !== "ok") throw new Error(outcome.kind);
  ({ provider, probeResult } = outcome);
});

afterEach(async () => {
  await provider.close();
  await chmod(root, 0o755).catch(() => undefined);
  await rm(join(root, ".."), { recursive: true, force: true });
});

/** The same storage after a start of the daemon. */
async function restart(more: Partial<ProviderDeps> = {}): Promise<CloudProvider> {
  const outcome = await connect(root, more, probeResult);
  if (outcome.kind !== "ok") throw new Error(outcome.kind);
  return outcome.provider;
}

async function list(storage: CloudProvider) {
  const listed = await storage.list({ folder: "", signal });
  expect(listed.kind).toBe("ok");
}

function connect(folder: string, more: Partial<ProviderDeps> = {}, known?: ProbeResult) {
  return localFolder.connect(
    {
      connectionId: "c",
      settings: { root: folder },
      credentials: {},
      probeResult: known,
      saveCredentials: async () => undefined,
      signal,
    },
    { ...testProviderDeps(join(root, ".."), Date.now), newId: () => crypto.randomUUID(), ...more },
  );
}

const upload = (parent: string, name: string, text: string) =>
  provider.upload({
    parent,
    name,
    content: Readable.from([Buffer.from(text)]),
    size: undefined,
    contentType: undefined,
    signal,
  });

/** Returns the outcomes of every operation on one id. */
async function tryEverything(id: string): Promise<string[]> {
  const read = await provider.read({ id, signal });
  if (read.kind === "ok") read.stream.destroy();
  return [
    (await provider.stat({ id, signal })).kind,
    read.kind,
    (await provider.list({ folder: id, signal })).kind,
    (await provider.createFolder({ parent: id, name: "made", signal })).kind,
    (await upload(id, "uploaded.txt", "x")).kind,
    (await provider.rename({ id, name: "renamed", expected: {}, signal })).kind,
    (await provider.move({ id, parent: "", expected: {}, signal })).kind,
    (await provider.delete({ id, expected: {}, signal })).kind,
  ];
}

async function outsideIsUntouched(): Promise<void> {
  expect(await readdir(outside)).toEqual(["secret.txt"]);
  expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("secret");
}

describe("attack: ids that lead out of the root", () => {
  test.each([
    "..",
    "../outside/secret.txt",
    "a/../../outside",
    "./x",
    "a/./b",
    "/etc/passwd",
    "//etc",
    "a//b",
    "a/",
    "/",
    "a\0b",
    ".croft",
    ".croft/trash",
    ".CROFT/tmp",
    "..\\outside",
    "%2e%2e/outside",
    "%252e%252e",
    "C:\\Windows",
    "file.txt::$DATA",
    "\u002e\u002e\u2215outside",
  ])("no operation reaches anything with %j", async (id) => {
    const kinds = await tryEverything(id);
    for (const kind of kinds) expect(["not_found", "stale"]).toContain(kind);
    await outsideIsUntouched();
    expect(await readdir(root)).toEqual([".croft"]);
  });

  test.each([
    "../x",
    "a/b",
    "..",
    ".",
    "",
    "a\0b",
    "a\nb",
    "\u0007",
    "x".repeat(256),
    "\ud800",
    ".croft",
    ".Croft",
  ])("the name %j is refused before anything is touched", async (name) => {
    const file = await upload("", "file.txt", "x");
    if (file.kind !== "ok") throw new Error(file.kind);
    const { id } = file.item;
    const kinds = [
      (await provider.createFolder({ parent: "", name, signal })).kind,
      (await upload("", name, "x")).kind,
      (await provider.rename({ id, name, expected: {}, signal })).kind,
    ];
    expect(kinds).toEqual(["invalid_name", "invalid_name", "invalid_name"]);
    expect((await readdir(root)).sort()).toEqual([".croft", "file.txt"]);
  });
});

describe("attack: links and special files", () => {
  test("a link to a folder outside is never followed", async () => {
    await symlink(outside, join(root, "way-out"));
    await mkdir(join(root, "inner"));
    await symlink("../../outside", join(root, "inner", "way-out"));
    for (const id of ["way-out/secret.txt", "inner/way-out/secret.txt"]) {
      const kinds = await tryEverything(id);
      for (const kind of kinds) expect(["not_found", "stale", "forbidden"]).toContain(kind);
    }
    for (const parent of ["way-out", "inner/way-out"]) {
      expect((await provider.list({ folder: parent, signal })).kind).not.toBe("ok");
      expect((await upload(parent, "planted.txt", "x")).kind).not.toBe("ok");
      expect((await provider.createFolder({ parent, name: "planted", signal })).kind).not.toBe(
        "ok",
      );
    }
    await upload("", "file.txt", "x");
    const moved = await provider.move({ id: "file.txt", parent: "way-out", expected: {}, signal });
    expect(moved.kind).not.toBe("ok");
    await outsideIsUntouched();
  });

  test("a link to a file outside is shown without bytes, and deleting it takes the link alone", async () => {
    await symlink(join(outside, "secret.txt"), join(root, "link.txt"));
    const listed = await provider.list({ folder: "", signal });
    expect(listed).toMatchObject({
      kind: "ok",
      items: [{ name: "link.txt", kind: "file", size: undefined }],
    });
    expect((await provider.read({ id: "link.txt", signal })).kind).toBe("unsupported");
    expect((await upload("", "link.txt", "overwritten")).kind).toBe("conflict");
    const deleted = await provider.delete({
      id: "link.txt",
      expected: {},
      permanently: true,
      signal,
    });
    expect(deleted).toEqual({ kind: "ok", how: "permanent" });
    await outsideIsUntouched();
  });

  test("a link inside a permanently deleted folder is not followed", async () => {
    await mkdir(join(root, "folder"));
    await symlink(outside, join(root, "folder", "way-out"));
    const deleted = await provider.delete({
      id: "folder",
      expected: {},
      permanently: true,
      signal,
    });
    expect(deleted.kind).toBe("ok");
    await outsideIsUntouched();
  });

  test("a link in place of an account's own folder is refused", async () => {
    await rm(join(root, ".croft"), { recursive: true });
    await symlink(outside, join(root, ".croft"));
    await writeFile(join(root, "file.txt"), "x");
    expect((await upload("", "new.txt", "x")).kind).not.toBe("ok");
    expect((await provider.delete({ id: "file.txt", expected: {}, signal })).kind).not.toBe("ok");
    await outsideIsUntouched();
  });

  test("a pipe and a device neither block nor give bytes", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    expect((await provider.read({ id: "pipe", signal })).kind).toBe("unsupported");
    expect((await provider.stat({ id: "pipe", signal })).kind).toBe("ok");
  });

  test("a hard link is a file of its own", async () => {
    await writeFile(join(root, "one.txt"), "x");
    await link(join(root, "one.txt"), join(root, "two.txt"));
    const outcome = await provider.rename({ id: "one.txt", name: "two.txt", expected: {}, signal });
    expect(outcome.kind).toBe("conflict");
    expect((await readdir(root)).sort()).toEqual([".croft", "one.txt", "two.txt"]);
  });

  test("a folder that is swapped for a link while calls run never lets one out", async () => {
    const folder = join(root, "folder");
    await mkdir(folder);
    await writeFile(join(folder, "secret.txt"), "harmless");
    let isRunning = true;
    const swapping = (async () => {
      while (isRunning) {
        await rename(folder, join(root, "aside"));
        await symlink(outside, folder);
        await new Promise((resolve) => setImmediate(resolve));
        await rm(folder);
        await rename(join(root, "aside"), folder);
      }
    })();
    const seen = new Set<string>();
    for (let round = 0; round < 60; round++) {
      const read = await provider.read({ id: "folder/secret.txt", signal });
      if (read.kind === "ok") seen.add((await buffer(read.stream)).toString());
      await upload("folder", `planted ${round}.txt`, "x");
      await provider.createFolder({ parent: "folder", name: `made ${round}`, signal });
      const listed = await provider.list({ folder: "folder", signal });
      if (listed.kind === "ok") for (const item of listed.items) seen.add(item.name);
      await provider.delete({ id: `folder/planted ${round}.txt`, expected: {}, signal });
      await provider.rename({ id: "folder/secret.txt", name: "secret.txt", expected: {}, signal });
    }
    isRunning = false;
    await swapping;
    expect(seen).not.toContain("secret");
    await outsideIsUntouched();
  });
});

describe("where a root may lie", () => {
  test.each([
    ["outside of what is allowed", "/etc", "outside_allowed_roots"],
    ["above it", "..", "outside_allowed_roots"],
    ["missing", "nowhere", "folder_missing"],
    ["the own folder of another connection", "root/.croft/trash", "reserved_name"],
  ])("refuses a root: %s", async (_what, folder, reason) => {
    expect(await connect(folder)).toMatchObject({
      kind: "invalid_setting",
      setting: "root",
      reason,
    });
  });

  test("refused: a way through a link, even to an allowed place", async () => {
    await symlink(root, join(root, "..", "link"));
    expect((await connect("link")).kind).not.toBe("ok");
  });

  test("refused: folders that contain, or lie in, the daemon's own folders", async () => {
    const home = join(root, "..");
    for (const own of [root, join(root, "data"), home])
      expect(
        await connect(root, { ownFolders: [own], localRoots: [join(home, "..")] }),
      ).toMatchObject({
        reason: "own_folder",
      });
    // Unless the administrator allows a folder in there, as the default does.
    expect(await connect(root, { ownFolders: [home], localRoots: [root] })).toMatchObject({
      kind: "ok",
    });
    expect(await connect(root, { ownFolders: [root], localRoots: [root] })).toMatchObject({
      reason: "own_folder",
    });
  });

  test("a relative root is below the first allowed folder", async () => {
    expect(await connect("root")).toMatchObject({ kind: "ok" });
    expect(await connect(".")).toMatchObject({ kind: "ok" });
  });

  test("a root that is another folder than before is offline, and no item counts as deleted", async () => {
    await writeFile(join(root, "file.txt"), "x");
    const again = await connect("root", {}, probeResult);
    if (again.kind !== "ok") throw new Error(again.kind);
    await rename(root, `${root}-unmounted`);
    expect((await again.provider.list({ folder: "", signal })).kind).toBe("offline");
    await mkdir(root);
    for (let at = 0; at < 3; at++) await mkdir(join(root, `other ${at}`));
    expect((await again.provider.list({ folder: "", signal })).kind).toBe("offline");
    expect((await again.provider.check({ signal })).kind).toBe("offline");
    await rm(root, { recursive: true });
    await rename(`${root}-unmounted`, root);
    expect(await again.provider.list({ folder: "", signal })).toMatchObject({
      items: [{ name: "file.txt" }],
    });
  });

  test("another disk in place of the root is offline, although the top folders of both have the same inode", async () => {
    const other = { ...probeResult, born: "1", marker: "another" };
    const again = await connect("root", {}, other);
    if (again.kind !== "ok") throw new Error(again.kind);
    expect((await again.provider.list({ folder: "", signal })).kind).toBe("offline");
  });

  test("a root that was restored from a backup is known by its mark", async () => {
    execFileSync("cp", ["-a", root, `${root}-copy`]);
    await rm(root, { recursive: true });
    await rename(`${root}-copy`, root);
    const again = await connect("root", {}, probeResult);
    if (again.kind !== "ok") throw new Error(again.kind);
    expect((await again.provider.list({ folder: "", signal })).kind).toBe("ok");
  });
});

describe("unusual states of disks", () => {
  test("names that are not valid Unicode are left out and stay untouched", async () => {
    await writeFile(Buffer.concat([Buffer.from(`${root}/bad `), Buffer.from([0xff, 0xfe])]), "x");
    await writeFile(join(root, "good.txt"), "x");
    expect(await provider.list({ folder: "", signal })).toMatchObject({
      items: [{ name: "good.txt" }],
    });
    expect(await readdir(root, { encoding: "buffer" })).toHaveLength(3);
  });

  test("a file that changes while it is read fails the stream", async () => {
    await writeFile(join(root, "file.bin"), Buffer.alloc(2_000_000, 1));
    const outcome = await provider.read({ id: "file.bin", signal });
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    const chunks = outcome.stream[Symbol.asyncIterator]();
    await chunks.next();
    await writeFile(join(root, "file.bin"), Buffer.alloc(2_000_000, 2));
    const rest = async () => {
      for (let next = await chunks.next(); next.done !== true;) next = await chunks.next();
    };
    await expect(rest()).rejects.toMatchObject({ failure: { kind: "changed" } });
  });

  test.each([
    ["renamed", () => rename(join(root, "a"), join(root, "b"))],
    ["deleted", () => provider.delete({ id: "a", expected: {}, signal })],
    ["deleted by another program", () => rm(join(root, "a"))],
  ])("a file that is %s while it is read is given to its end", async (_what, act) => {
    await writeFile(join(root, "a"), Buffer.alloc(1024 * 1024, "x"));
    const outcome = await provider.read({ id: "a", signal });
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    await act();
    expect((await buffer(outcome.stream)).length).toBe(1024 * 1024);
  });

  test("a file is sent whole, a part of it too, and not when it changes meanwhile", async () => {
    const path = join(root, "large.bin");
    const bytes = Buffer.alloc(2 * 1024 * 1024 + 3, "abcdefg");
    await writeFile(path, bytes);
    const send = async (range?: { start: number; end?: number }, during = async () => {}) => {
      const outcome = await provider.read({ id: "large.bin", range, signal });
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      const to = new PassThrough({ highWaterMark: 1 });
      const received: Buffer[] = [];
      to.on("data", (chunk: Buffer) => received.push(Buffer.from(chunk)));
      try {
        await Promise.all([outcome.send?.(to), during()]);
      } finally {
        outcome.stream.destroy();
      }
      return Buffer.concat(received);
    };
    expect((await send()).equals(bytes)).toBe(true);
    expect((await send({ start: 5, end: 9 })).toString()).toBe(bytes.toString("utf8", 5, 10));
    expect((await send({ start: 1_000_000 })).equals(bytes.subarray(1_000_000))).toBe(true);
    const outcome = await provider.read({ id: "large.bin", signal });
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    await tickAfter(path);
    await writeFile(path, bytes);
    await expect(outcome.send?.(new PassThrough().resume())).rejects.toMatchObject({
      failure: { kind: "changed" },
    });
    outcome.stream.destroy();
  });

  test.each([10, 300_000])(
    "sending a file of %d bytes ends when the connection closes and the last bytes are not taken",
    async (size) => {
      await writeFile(join(root, "sent.bin"), Buffer.alloc(size, 1));
      const outcome = await provider.read({ id: "sent.bin", signal });
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      let taken = 0;
      // As a response whose connection is gone, it calls nobody back.
      const to = new Writable({
        write(chunk: Buffer, _encoding, done) {
          taken += chunk.byteLength;
          if (taken < size) done();
          else setImmediate(() => to.destroy());
        },
      });
      await expect(outcome.send?.(to)).rejects.toThrow("closed");
      expect(taken).toBe(size);
      expect(to.listenerCount("close") + to.listenerCount("error")).toBe(0);
      await expect(outcome.send?.(to)).rejects.toThrow("closed");
      outcome.stream.destroy();
    },
  );

  test("a file that is truncated while it is read fails the stream", async () => {
    await writeFile(join(root, "file.bin"), Buffer.alloc(2_000_000, 1));
    const outcome = await provider.read({ id: "file.bin", signal });
    if (outcome.kind !== "ok") throw new Error(outcome.kind);
    await writeFile(join(root, "file.bin"), "short");
    await expect(buffer(outcome.stream)).rejects.toMatchObject({ failure: { kind: "changed" } });
  });

  test("the first listing of the next process deletes partial uploads of an ended process", async () => {
    const tmp = join(root, ".croft", "tmp");
    await writeFile(join(tmp, "upload-home-999999999-x"), "half");
    await writeFile(join(tmp, `upload-home-${process.pid}-running`), "under way");
    await writeFile(join(tmp, "upload-elsewhere-999999999-x"), "another daemon's");
    await writeFile(join(tmp, "unrelated"), "x");
    await list(await restart());
    const rest = [
      "unrelated",
      "upload-elsewhere-999999999-x",
      `upload-home-${process.pid}-running`,
    ];
    expect((await readdir(tmp)).sort()).toEqual(rest);
    await list(await restart({ clock: () => Date.now() + 8 * 86_400_000 }));
    expect((await readdir(tmp)).sort()).toEqual([rest[0], rest[2]]);
  });

  test("an upload under way is not taken for abandoned when the clock was set back since the start", async () => {
    const { timeOrigin } = performance;
    const later = { value: timeOrigin + 3_600_000, configurable: true };
    Object.defineProperty(performance, "timeOrigin", later);
    try {
      const content = new PassThrough();
      const uploading = provider.upload({
        parent: "",
        name: "file.bin",
        content,
        size: undefined,
        contentType: undefined,
        signal,
      });
      content.write("half");
      const tmp = join(root, ".croft", "tmp");
      await vi.waitFor(async () => expect(await readdir(tmp)).toHaveLength(1), 60_000);
      await list(await restart());
      content.end("whole");
      expect(await uploading).toMatchObject({ kind: "ok", item: { size: 9 } });
    } finally {
      Reflect.deleteProperty(performance, "timeOrigin");
    }
  });

  test("a half-written upload of an earlier process with the process id of this one is removed", async () => {
    const tmp = join(root, ".croft", "tmp");
    await writeFile(join(tmp, `upload-home-${process.pid}-t1-x`), "half");
    await list(await restart());
    expect(await readdir(tmp)).toEqual([]);
  });

  test("remains of a crash in a folder on another disk are hidden and deleted by the next listing", async () => {
    const names = {
      copy: ".croft-upload-home-999999999-t1-x",
      rest: ".croft-removal-home-999999999-t1-x",
      running: ".croft-upload-elsewhere-999999999-t1-x",
    };
    await writeFile(join(root, names.copy), "half");
    await mkdir(join(root, names.rest));
    await writeFile(join(root, names.rest, "inner"), "x");
    await writeFile(join(root, names.running), "another daemon's");
    expect(await provider.list({ folder: "", signal })).toEqual({ kind: "ok", items: [] });
    expect((await readdir(root)).sort()).toEqual([".croft", names.running]);
    expect(await upload("", names.running, "x")).toMatchObject({ rule: "reserved_name" });
  });

  test("a name that a disk of another system refuses is an invalid name", () => {
    const refused = (syscall: string) =>
      toFailure(Object.assign(new Error("EINVAL"), { code: "EINVAL", syscall })).kind;
    expect(["open", "mkdir", "link", "rename"].map(refused)).toEqual(
      Array.from({ length: 4 }, () => "invalid_name"),
    );
    expect(refused("read")).toBe("offline");
  });

  test("a file that has both names after a crash keeps the old one", async () => {
    const staging = join(root, ".croft", "staging");
    const claim = join(staging, "claim-home-999999999-x");
    await mkdir(join(root, "folder"));
    await writeFile(join(root, "file.txt"), "x");
    await link(join(root, "file.txt"), join(root, "folder", "file.txt"));
    const way = { path: "file.txt", to: "folder/file.txt" };
    await writeFile(`${claim}.json`, JSON.stringify(way));
    await list(await restart());
    expect(await readFile(join(root, "file.txt"), "utf8")).toBe("x");
    expect(await readdir(join(root, "folder"))).toEqual([]);
    expect(await readdir(staging)).toEqual([]);
  });

  test("a staging file beside its place on another disk is deleted after the daemon died", async () => {
    const claim = "claim-home-999999999-x";
    await writeFile(join(root, "new.txt"), "x");
    await link(join(root, "new.txt"), join(root, `.croft-${claim}`));
    const record = join(root, ".croft", "staging", `${claim}.json`);
    await writeFile(record, JSON.stringify({ path: "old.txt", to: "new.txt" }));
    await list(await restart());
    expect((await readdir(root)).sort()).toEqual([".croft", "new.txt"]);
  });

  test("restores the name of another program's file that waited beside its place on another disk", async () => {
    const claim = "claim-home-999999999-x";
    await writeFile(join(root, "new.txt"), "mine");
    await writeFile(join(root, `.croft-${claim}`), "theirs");
    const record = join(root, ".croft", "staging", `${claim}.json`);
    await writeFile(record, JSON.stringify({ path: "old.txt", to: "new.txt" }));
    await list(await restart());
    expect((await readdir(root)).sort()).toEqual([".croft", "new.txt", "old.txt"]);
    expect(await readFile(join(root, "old.txt"), "utf8")).toBe("theirs");
  });

  test("restores a file whose replacement a crash interrupted, here and on another disk", async () => {
    const claim = "claim-home-999999999-";
    const staging = join(root, ".croft", "staging");
    await writeFile(join(staging, `${claim}a`), "here");
    await writeFile(join(staging, `${claim}a.json`), JSON.stringify({ path: "here.txt" }));
    // A backup by hard links has the file, too, which is not its name.
    await link(join(staging, `${claim}a`), join(root, "backup.txt"));
    await writeFile(join(root, `.croft-${claim}b`), "there");
    await writeFile(join(staging, `${claim}b.json`), JSON.stringify({ path: "there.txt" }));
    await list(await restart());
    expect((await readdir(root)).sort()).toEqual([".croft", "backup.txt", "here.txt", "there.txt"]);
    expect(await readFile(join(root, "here.txt"), "utf8")).toBe("here");
    expect(await readFile(join(root, "there.txt"), "utf8")).toBe("there");
    expect(await readdir(staging)).toEqual([]);
  });

  test("keeps the new bytes when a crash came after they got the name, and the earlier ones in the trash", async () => {
    const staging = join(root, ".croft", "staging");
    const claim = join(staging, "claim-home-999999999-x");
    await writeFile(join(root, "file.txt"), "new");
    await writeFile(claim, "earlier");
    await writeFile(`${claim}.json`, JSON.stringify({ path: "file.txt" }));
    await list(await restart());
    expect(await readFile(join(root, "file.txt"), "utf8")).toBe("new");
    expect(await readdir(staging)).toEqual([]);
    const trashed = await readdir(join(root, ".croft", "trash"), { recursive: true });
    expect(trashed.filter((name) => name.endsWith("file.txt"))).toHaveLength(1);
  });

  test.each([
    ["other files of both names", false],
    ["two spellings of one name", true],
  ])("%s lose nothing by a record of a move between them", async (_what, isOne) => {
    await writeFile(join(root, "file.txt"), "x");
    if (!isOne) await writeFile(join(root, "FILE.txt"), "y");
    const claim = join(root, ".croft", "staging", "claim-home-999999999-x");
    const way = { path: "file.txt", to: isOne ? "file.txt" : "FILE.txt" };
    await writeFile(`${claim}.json`, JSON.stringify(way));
    const before = (await readdir(root)).sort();
    await list(await restart());
    expect((await readdir(root)).sort()).toEqual(before);
    expect(await readFile(join(root, "file.txt"), "utf8")).toBe("x");
  });

  test("a folder whose new name was only claimed when the daemon died can be moved there again", async () => {
    const claim = join(root, ".croft", "staging", "claim-home-999999999-x");
    await mkdir(join(root, "folder"));
    await writeFile(join(root, "folder", "file.txt"), "x");
    await mkdir(join(root, "earlier"));
    const way = { path: "folder", to: "wanted" };
    await writeFile(`${claim}.json`, JSON.stringify(way));
    await writeFile(`${claim}2.json`, JSON.stringify({ ...way, to: "earlier" }));
    // Clocks of file systems tick slowly.
    const later = new Date(Date.now() + 60_000);
    await utimes(`${claim}2.json`, later, later);
    await mkdir(join(root, "wanted"));
    const again = await restart();
    const moved = await again.rename({ id: "folder", name: "wanted", expected: {}, signal });
    expect(moved.kind).toBe("ok");
    expect((await readdir(root)).sort()).toEqual([".croft", "earlier", "wanted"]);
    expect(await readdir(join(root, "wanted"))).toEqual(["file.txt"]);
  });

  test("an interrupted permanent delete is completed, and the trash stays", async () => {
    const trash = join(root, ".croft", "trash");
    await writeFile(join(root, "kept.txt"), "x");
    await provider.delete({ id: "kept.txt", expected: {}, signal });
    const kept = (await readdir(trash, { recursive: true })).sort();
    await mkdir(join(trash, "removal-home-999999999-x", "folder"), { recursive: true });
    await writeFile(join(trash, "removal-home-999999999-x", "folder", "file.txt"), "x");
    await list(await restart());
    expect((await readdir(trash, { recursive: true })).sort()).toEqual(kept);
  });

  skipUnless(!isRoot, "root may write anywhere")(
    "a permanent delete also removes folders that their owner may not write to",
    async () => {
      await mkdir(join(root, "folder", "closed"), { recursive: true });
      await writeFile(join(root, "folder", "closed", "file.txt"), "x");
      await chmod(join(root, "folder", "closed"), 0o500);
      const gone = await provider.delete({ id: "folder", expected: {}, permanently: true, signal });
      expect(gone.kind).toBe("ok");
      expect(await readdir(join(root, ".croft", "trash"))).toEqual([]);
    },
  );

  test("a permanent delete that fails in the middle leaves the rest in the trash, where it is listed", async () => {
    const trash = join(root, ".croft", "trash");
    const opened = await openTrusted(trash, "handle");
    await mkdir(join(trash, "id1"));
    await writeFile(join(trash, "id1", "file.txt"), "x");
    // The second use of the name, to look at what is removed, fails.
    let uses = 0;
    const failing: typeof opened = {
      ...opened,
      at: (name) =>
        name === "removal" && (uses += 1) === 2 ? join(outside, "missing") : opened.at(name),
    };
    await expect(removeBin(failing, "id1", "removal")).rejects.toThrow("ENOENT");
    expect(await readdir(join(trash, "id1"))).toEqual(["file.txt"]);
    await opened.close();
  });

  test("a deleted item whose record a crash prevented is listed in the trash", async () => {
    const trash = join(root, ".croft", "trash");
    await mkdir(join(trash, "0badcafe"));
    await writeFile(join(trash, "0badcafe", "file.txt"), "x");
    const again = await restart();
    await list(again);
    expect(await again.trash?.list({ cursor: undefined, signal })).toMatchObject({
      items: [{ id: "0badcafe", name: "file.txt", kind: "file" }],
    });
    expect((await readdir(trash)).sort()).toEqual(["0badcafe", "0badcafe.json"]);
  });

  test("a file that another program linked is put back after a crash in its replacement", async () => {
    const staging = join(root, ".croft", "staging");
    const claim = join(staging, "claim-home-999999999-x");
    await writeFile(claim, "earlier");
    await link(claim, join(outside, "other-name"));
    await writeFile(`${claim}.json`, JSON.stringify({ path: "file.txt" }));
    await list(await restart());
    expect(await readFile(join(root, "file.txt"), "utf8")).toBe("earlier");
    expect(await readdir(staging)).toEqual([]);
  });

  test("an item that a crash has left between two spellings is put back, or into the trash", async () => {
    const staging = join(root, ".croft", "staging");

    const leave = async (name: string, path: string | undefined) => {
      await writeFile(join(staging, name), name);
      if (path !== undefined)
        await writeFile(join(staging, `${name}.json`), JSON.stringify({ path }));
    };
    await leave("claim-home-999999999-a", "back.txt");
    await writeFile(join(root, "taken.txt"), "mine");
    await leave("claim-home-999999999-b", "taken.txt");
    await leave("claim-home-999999999-c", undefined);
    await writeFile(join(root, "published.txt"), "x");
    await link(join(root, "published.txt"), join(staging, "claim-home-999999999-d"));
    await mkdir(join(staging, "claim-home-999999999-e"));
    await writeFile(
      join(staging, "claim-home-999999999-e.json"),
      JSON.stringify({ path: "folder" }),
    );
    await writeFile(join(staging, `claim-home-${process.pid}-running`), "under way");
    await connect("root");
    expect(await readdir(staging)).toEqual([`claim-home-${process.pid}-running`]);
    expect((await readdir(root)).sort()).toEqual([
      ".croft",
      "back.txt",
      "folder",
      "published.txt",
      "taken.txt",
    ]);
    expect(await readFile(join(root, "back.txt"), "utf8")).toBe("claim-home-999999999-a");
    expect(await readFile(join(root, "taken.txt"), "utf8")).toBe("mine");
    const trash = await readdir(join(root, ".croft", "trash"), { recursive: true });
    expect(trash.filter((name) => /taken\.txt|claim-/.test(name))).toHaveLength(2);
  });

  test("a rename in two steps to another spelling keeps the item and leaves nothing else", async () => {
    await writeFile(join(root, "name.txt"), "x");
    const opened = await openTrusted(root, "handle");

    const staging = await openBelow(opened, [".croft", "staging"]);
    const before = await lstat(join(root, "name.txt"), { bigint: true });
    const waiting = {
      folder: staging,
      newName: () => "claim-1-x",
      origin: "name.txt",
      destination: "NAME.txt",
    };
    const moved = await respell(
      { folder: opened, name: "name.txt" },
      { folder: opened, name: "NAME.txt" },
      before,
      waiting,
    );
    await staging.close();
    await opened.close();
    expect(moved.kind).toBe("ok");
    expect((await readdir(root)).sort()).toEqual([".croft", "NAME.txt"]);
    expect(await readdir(join(root, ".croft", "staging"))).toEqual([]);
  });

  skipUnless(hasOtherDisk, "/dev/shm is not a file system of its own")(
    "a file below another mounted file system is renamed there, and has one name",
    async () => {
      await writeFile(join(root, "file.txt"), "x");
      const elsewhere = await mkdtemp("/dev/shm/croft-local-");
      const [opened, staging] = [
        await openTrusted(root, "handle"),
        await openTrusted(elsewhere, "handle"),
      ];
      try {
        const moved = await relocate(
          { folder: opened, name: "file.txt" },
          { folder: opened, name: "other.txt" },
          () => true,
          {
            folder: staging,
            newName: () => "claim-1-x",
            origin: "file.txt",
            destination: "other.txt",
          },
        );
        expect(moved.kind).toBe("ok");
        expect((await readdir(root)).sort()).toEqual([".croft", "other.txt"]);
        expect(await readdir(elsewhere)).toEqual([]);
      } finally {
        await staging.close();
        await opened.close();
        await rm(elsewhere, { recursive: true });
      }
    },
  );

  test("a folder with names that are not valid Unicode can be deleted permanently", async () => {
    const bad = Buffer.from([0x62, 0xff]);
    await mkdir(join(root, "folder"));
    await mkdir(Buffer.concat([Buffer.from(`${root}/folder/`), bad]));
    await writeFile(
      Buffer.concat([Buffer.from(`${root}/folder/`), bad, Buffer.from("/"), bad]),
      "",
    );
    const gone = await provider.delete({
      id: "folder",
      expected: {},
      permanently: true,
      signal,
    });
    expect(gone).toEqual({ kind: "ok", how: "permanent" });
    expect(await readdir(join(root, ".croft", "trash"))).toEqual([]);
  });

  test("a modification time outside the range of dates is undefined", async () => {
    const reader = createItemReader(true, Date.now);
    const stats = await lstat(root, { bigint: true });
    for (const seconds of [99_999_999_999_999n, 300_000_000_000n, -100_000_000_000n]) {
      const mtimeNs = seconds * 1_000_000_000n;
      const odd = new Proxy(stats, {
        get: (of, key) => (key === "mtimeNs" ? mtimeNs : Reflect.get(of, key)),
      });
      expect(reader.toItem("", "odd", odd).modifiedAt, String(seconds)).toBeUndefined();
    }
  });

  test("a delete that finds no room in the trash leaves the item, and no record of it", async () => {
    await writeFile(join(root, "file.txt"), "x");
    const trash = join(root, ".croft", "trash");
    await mkdir(join(trash, "no-room"));
    const storage = await restart({ newId: () => "no-room" });
    const gone = await storage.delete({ id: "file.txt", expected: {}, signal });
    expect(gone.kind).not.toBe("ok");
    expect((await readdir(root)).sort()).toEqual([".croft", "file.txt"]);
    expect(await readdir(trash)).toEqual([]);
  });

  test("a folder with the reused inode number of a deleted one is a different item", async () => {
    await mkdir(join(root, "folder"));
    const before = await provider.stat({ id: "folder", signal });
    await tickAfter(join(root, "folder"));
    await rm(join(root, "folder"), { recursive: true });
    await mkdir(join(root, "folder"));
    const after = await provider.stat({ id: "folder", signal });
    if (before.kind !== "ok" || after.kind !== "ok") throw new Error("no folder");
    expect(after.item.etag).not.toBe(before.item.etag);
    const renamed = await provider.rename({
      id: "folder",
      name: "other",
      expected: { etag: before.item.etag },
      signal,
    });
    expect(renamed.kind).toBe("stale");
  });

  test("the trash records kind, place and time of an item", async () => {
    await mkdir(join(root, "folder"));
    await writeFile(join(root, "folder", "file.txt"), "x");
    await provider.delete({ id: "folder/file.txt", expected: {}, signal });
    const trash = join(root, ".croft", "trash");
    const [id = "", record = ""] = (await readdir(trash)).sort();
    expect(JSON.parse(await readFile(join(trash, record), "utf8"))).toMatchObject({
      path: "folder/file.txt",
    });
    expect(await readdir(join(trash, id))).toEqual(["file.txt"]);
  });

  skipUnless(!isRoot, "root may write anywhere")(
    "a folder that may only be read can be browsed, and changes are forbidden",
    async () => {
      await writeFile(join(root, "file.txt"), "x");
      await rm(join(root, ".croft"), { recursive: true });
      await chmod(root, 0o555);
      const outcome = await connect("root");
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      const reader = outcome.provider;
      expect((await reader.list({ folder: "", signal })).kind).toBe("ok");
      expect((await reader.createFolder({ parent: "", name: "a", signal })).kind).toBe("forbidden");
      expect((await reader.delete({ id: "file.txt", expected: {}, signal })).kind).toBe(
        "forbidden",
      );
    },
  );
});
