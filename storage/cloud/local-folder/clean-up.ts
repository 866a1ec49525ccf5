import type { BigIntStats } from "node:fs";
import { lstat, mkdir, readdir, readFile, unlink, writeFile } from "node:fs/promises";
import type { ProviderDeps } from "../provider.ts";
import { openBelow, type Folder } from "./anchor.ts";
import { unless } from "./errno.ts";
import { toPlace } from "./paths.ts";
import { putBack } from "./relocate.ts";
import { openOwn } from "./root.ts";

/** Clears away what processes that are gone have left: half-written uploads, and items on their way to another name. */
export async function cleanUp(
  root: Folder,
  deps: Pick<ProviderDeps, "newId" | "clock">,
): Promise<void> {
  const tmp = await openOwn(root, "tmp");
  try {
    for (const { name } of await listAbandoned(tmp, "upload"))
      await unless(["ENOENT"], unlink(tmp.at(name)));
  } finally {
    await tmp.close();
  }
  const staging = await openOwn(root, "staging");
  try {
    for (const { name, stats } of await listAbandoned(staging, "claim"))
      await recover(root, staging, name, stats, deps);
  } finally {
    await staging.close();
  }
}

interface Abandoned {
  readonly name: string;
  readonly stats: BigIntStats;
}

async function listAbandoned(folder: Folder, kind: string): Promise<Abandoned[]> {
  const found: Abandoned[] = [];
  for (const name of await readdir(folder.self)) {
    const owner = new RegExp(`^${kind}-(\\d+)-(?!.*\\.json$)`).exec(name)?.[1];
    if (owner === undefined) continue;
    const stats = await unless(["ENOENT"], lstat(folder.at(name), { bigint: true }));
    if (stats.ok && isAbandoned(Number(owner), stats.value))
      found.push({ name, stats: stats.value });
  }
  return found;
}

/** A process id may be this process' by now; what it has touched last before it began is not its own. */
function isAbandoned(pid: number, stats: BigIntStats): boolean {
  if (pid === process.pid) return Number(stats.ctimeNs / 1_000_000n) < performance.timeOrigin;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

/** Puts an item back to where it was. Where that is not possible it goes to the trash, and is not lost. */
async function recover(
  root: Folder,
  staging: Folder,
  name: string,
  stats: BigIntStats,
  deps: Pick<ProviderDeps, "newId" | "clock">,
): Promise<void> {
  const record = await unless(["ENOENT"], readFile(staging.at(`${name}.json`), "utf8"));
  const path = record.ok ? pathOf(record.value) : undefined;
  const from = { folder: staging, name };
  if (!stats.isDirectory() && stats.nlink > 1n) {
    // It has its new name already; this is the old one.
    await unlink(staging.at(name));
  } else if (path === undefined || !(await returnTo(root, path, from, stats))) {
    const trash = await openOwn(root, "trash");
    const id = deps.newId();
    try {
      const deletedAt = new Date(deps.clock()).toISOString();
      await writeFile(
        trash.at(`${id}.json`),
        JSON.stringify({ path: path ?? name, deleted_at: deletedAt }),
      );
      await mkdir(trash.at(id), { mode: 0o700 });
      const bin = await openBelow(trash, [id]);
      await putBack(from, { folder: bin, name: path?.split("/").at(-1) ?? name }, stats).finally(
        () => bin.close(),
      );
    } finally {
      await trash.close();
    }
  }
  await unless(["ENOENT"], unlink(staging.at(`${name}.json`)));
}

async function returnTo(
  root: Folder,
  path: string,
  from: { readonly folder: Folder; readonly name: string },
  stats: BigIntStats,
): Promise<boolean> {
  const place = toPlace(path);
  if (place === undefined) return false;
  const folder = await unless(["ENOENT", "ENOTDIR", "ELOOP"], openBelow(root, place.parent));
  if (!folder.ok) return false;
  try {
    return await putBack(from, { folder: folder.value, name: place.name }, stats);
  } finally {
    await folder.value.close();
  }
}

function pathOf(text: string): string | undefined {
  try {
    const { path } = JSON.parse(text) as { path?: unknown };
    return typeof path === "string" ? path : undefined;
  } catch {
    // Cut short by the same crash.
    return undefined;
  }
}
