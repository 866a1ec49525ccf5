import {
  access,
  chmod,
  lstat,
  mkdir,
  readFile,
  realpath,
  rmdir,
  unlink,
  writeFile,
} from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { createOwner } from "../../owner.ts";
import { segmentsBelow } from "../../path-segments.ts";
import type { ConnectFailure } from "../outcomes.ts";
import type { ProbeResult, LocalFolder, LocalFolderAccess } from "../provider.ts";
import { openBelow, openTrusted, type Anchoring, type Folder } from "./anchor.ts";
import { errnoOf, unless } from "./errno.ts";
import { isOwn, OWN_FOLDER } from "./paths.ts";

/** The place of a connection's root: its allowed folder, and the segments below it. */
export interface RootPlace {
  readonly trusted: string;
  readonly segments: readonly string[];
  readonly anchoring: Anchoring;
}

/** The root is missing or another folder than the connected one: most likely it is unmounted. */
export class RootGone extends Error {
  constructor(cause?: unknown) {
    super("the connected folder is not there", cause === undefined ? undefined : { cause });
    this.name = "RootGone";
  }
}

const MARKER = "connection-id";

/** Opens paths below the local roots. */
export function allowLocalRoots(roots: readonly string[]): LocalFolderAccess {
  return { own: roots.map((root) => ({ root, segments: [] })), granted: [] };
}

/**
 * Resolves a setting to a path in one of the folders that the account may connect. Refuses a path outside all of
 * them, and one that contains or is inside the daemon's own folders, unless a local root is in them.
 */
export async function placeRoot(
  setting: string,
  { own, ownRefusal, granted }: LocalFolderAccess,
  ownFolders: readonly string[],
): Promise<RootPlace | ConnectFailure> {
  const [first] = own;
  if (first === undefined && !isAbsolute(setting)) return refused(ownRefusal ?? "no_allowed_roots");
  const absolute = first === undefined ? setting : resolve(toPath(first), setting);
  for (const folder of [...own, ...granted]) {
    const real = await unless(["ENOENT", "ENOTDIR", "EACCES"], realpath(folder.root));
    if (!real.ok) continue;
    const below =
      segmentsBelow(toPath(folder), absolute) ??
      segmentsBelow(resolve(real.value, ...folder.segments), absolute);
    if (below === undefined) continue;
    const segments = [...folder.segments, ...below];
    if (segments.some((segment) => isOwn(segment))) return refused("reserved_name");
    const place = resolve(real.value, ...segments);
    if (ownFolders.some((ownFolder) => touchesOwn(ownFolder, real.value, place)))
      return refused("own_folder");
    return { trusted: real.value, segments, anchoring: await anchoringHere() };
  }
  return refused("outside_allowed_roots");
}

function toPath({ root, segments }: LocalFolder): string {
  return resolve(root, ...segments);
}

/** Opens the root. Throws `RootGone` when it is missing, or does not match `probeResult`. */
export async function openRoot(
  place: RootPlace,
  probeResult: ProbeResult | undefined,
): Promise<Folder> {
  await using owner = createOwner();
  let root: Folder;
  try {
    await using trusted = await openTrusted(place.trusted, place.anchoring);
    root = owner.own(await openBelow(trusted, place.segments));
  } catch (error) {
    if (probeResult !== undefined && ["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? ""))
      throw new RootGone(error);
    throw error;
  }
  // A restored backup has other inode numbers but the marker; an empty mount point has neither.
  if (probeResult !== undefined && !hasIdentity(root, probeResult)) {
    const marker = await readMarker(root);
    if (marker === undefined || marker !== probeResult["marker"]) throw new RootGone();
  }
  return owner.handOver(root);
}

/** Opens the subfolder `kind` of the adapter's own folder, and creates it if missing. Only its owner has access. */
export async function openOwn(root: Folder, kind: "tmp" | "trash" | "staging"): Promise<Folder> {
  try {
    return await openBelow(root, [OWN_FOLDER, kind]);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
  await unless(["EEXIST"], mkdir(root.at(OWN_FOLDER), { mode: 0o700 }));
  const own = await openBelow(root, [OWN_FOLDER]);
  try {
    await unless(["EEXIST"], mkdir(own.at(kind), { mode: 0o700 }));
    return await openBelow(own, [kind]);
  } finally {
    await own.close();
  }
}

/** Probes a root: its identity, and how its file system compares names. */
export async function probeRoot(root: Folder, newId: () => string): Promise<ProbeResult> {
  const defaults = { ino: String(root.ino), case_sensitive: true, normalisation_sensitive: true };
  try {
    const tmp = await openOwn(root, "tmp");
    try {
      const marker = await writeMarker(root, newId());
      const compared = await compareNames(tmp, newId());
      const born = compared.birth_times ? { born: String(root.born) } : {};
      return { ...defaults, ...compared, ...born, marker, writable: true };
    } finally {
      await tmp.close();
    }
  } catch (error) {
    // A read-only folder can be connected as well.
    if (!["EACCES", "EPERM", "EROFS"].includes(errnoOf(error) ?? "")) throw error;
    return { ...defaults, writable: false };
  }
}

/** The top folders of all disks of a kind share one inode number: only the creation time distinguishes two disks. */
function hasIdentity(root: Folder, { ino, born }: ProbeResult): boolean {
  return ino === String(root.ino) && (born === undefined || born === String(root.born));
}

async function compareNames(tmp: Folder, id: string) {
  const name = `probe-${id}-\u00e4`;
  await mkdir(tmp.at(name));
  try {
    const first = await lstat(tmp.at(name), { bigint: true });
    await chmod(tmp.at(name), 0o700);
    await chmod(tmp.at(name), 0o755);
    const second = await lstat(tmp.at(name), { bigint: true });
    const isThere = async (other: string) => (await unless(["ENOENT"], lstat(tmp.at(other)))).ok;
    return {
      case_sensitive: !(await isThere(name.toUpperCase())),
      normalisation_sensitive: !(await isThere(name.normalize("NFD"))),
      // If the creation time is unknown, the time of the last change is used instead.
      birth_times:
        first.birthtimeNs > 0n &&
        first.birthtimeNs === second.birthtimeNs &&
        first.ctimeNs !== second.ctimeNs,
    };
  } finally {
    await rmdir(tmp.at(name));
  }
}

async function writeMarker(root: Folder, id: string): Promise<string> {
  const own = await openBelow(root, [OWN_FOLDER]);
  try {
    const written = await unless(
      ["EEXIST"],
      writeFile(own.at(MARKER), id, { flag: "wx", mode: 0o600 }),
    );
    if (written.ok) return id;
    const existing = await readMarker(root);
    if (existing !== undefined) return existing;
    // Another entry has the name; it is in the adapter's own folder, so it may be removed.
    await unlink(own.at(MARKER));
    await writeFile(own.at(MARKER), id, { flag: "wx", mode: 0o600 });
    return id;
  } finally {
    await own.close();
  }
}

async function readMarker(root: Folder): Promise<string | undefined> {
  const codes = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP"];
  const own = await unless(codes, openBelow(root, [OWN_FOLDER]));
  if (!own.ok) return undefined;
  try {
    const path = own.value.at(MARKER);
    const found = await unless(codes, lstat(path));
    if (!found.ok || !found.value.isFile() || found.value.size > 100) return undefined;
    const text = await unless(codes, readFile(path, "utf8"));
    return text.ok && text.value !== "" ? text.value : undefined;
  } finally {
    await own.value.close();
  }
}

function touchesOwn(own: string, allowedRoot: string, place: string): boolean {
  if (segmentsBelow(place, own) !== undefined) return true;
  return segmentsBelow(own, place) !== undefined && segmentsBelow(own, allowedRoot) === undefined;
}

async function anchoringHere(): Promise<Anchoring> {
  return (await unless(["ENOENT", "EACCES"], access("/proc/self/fd"))).ok ? "handle" : "path";
}

function refused(reason: string): ConnectFailure {
  return { kind: "invalid_setting", setting: "root", reason };
}
