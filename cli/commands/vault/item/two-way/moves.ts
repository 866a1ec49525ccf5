import type { AgreedFile, Agreements, LocalMark } from "./pair-state.ts";
import { hasSameContent, isAtOrBelow, isSameItem } from "./plan.ts";
import type { RemoteEntry, RemoteScan } from "./remote-side.ts";
import { isSameMark, type LocalEntry, type LocalScan, type Scan } from "./scan.ts";

/** A rename at one side that the other side follows. Paths are keys. */
export interface Move {
  readonly from: string;
  readonly to: string;
  readonly kind: "file" | "folder";
  /** The side that follows. */
  readonly on: "local" | "remote";
}

interface Sides {
  readonly agreements: Agreements;
  readonly local: LocalScan;
  readonly remote: RemoteScan;
}

/**
 * Finds folders that were renamed or moved at one side: a known folder is gone, and most of its files are in a new folder
 * under the same names. The files themselves are compared afterwards like any others, so a wrong guess loses nothing.
 */
export function findFolderMoves(sides: Sides): readonly Move[] {
  const { agreements, local, remote } = sides;
  return [
    ...findMoved(agreements, "remote", local, remote, toLocalPrints(local), (agreed) => [
      printOf(agreed.local),
    ]),
    ...findMoved(agreements, "local", remote, local, toRemotePrints(remote), (agreed) => [
      `id ${agreed.remote.id}`,
      `etag ${agreed.remote.etag} ${agreed.remote.size}`,
    ]),
  ];
}

/** New files of a side by what survives a rename of their folder. */
type Prints = ReadonlyMap<string, readonly string[]>;

function findMoved(
  agreements: Agreements,
  on: Move["on"],
  changed: Scan<{ readonly kind: string }>,
  following: Scan<{ readonly kind: string }>,
  prints: Prints,
  toPrints: (agreed: AgreedFile) => readonly string[],
): readonly Move[] {
  const gone = new Set<string>();
  for (const [path, { kind }] of agreements)
    if (
      kind === "folder" &&
      !changed.entries.has(path) &&
      !isAtOrBelow(path, changed.blocked) &&
      following.entries.get(path)?.kind === "folder" &&
      !isAtOrBelow(path, gone)
    )
      gone.add(path);
  const filesOf = new Map<string, [string, AgreedFile][]>();
  for (const [path, agreed] of agreements) {
    const folder = agreed.kind === "file" ? topOf(path, gone) : undefined;
    if (folder === undefined || agreed.kind !== "file") continue;
    const files = filesOf.get(folder) ?? [];
    files.push([path.slice(folder.length + 1), agreed]);
    filesOf.set(folder, files);
  }
  const isNew = (path: string) =>
    changed.entries.get(path)?.kind === "folder" &&
    !agreements.has(path) &&
    !following.entries.has(path) &&
    !isAtOrBelow(path, following.blocked);
  const taken = new Set<string>();
  const moves: Move[] = [];
  for (const [from, files] of filesOf) {
    const votes = new Map<string, number>();
    for (const [below, agreed] of files)
      for (const path of new Set(toPrints(agreed).flatMap((print) => prints.get(print) ?? []))) {
        const folder = path.endsWith(`/${below}`) ? path.slice(0, -below.length - 1) : undefined;
        if (folder !== undefined && isNew(folder)) votes.set(folder, (votes.get(folder) ?? 0) + 1);
      }
    const [best] = [...votes].toSorted(([, one], [, other]) => other - one);
    if (best === undefined || best[1] * 2 < files.length) continue;
    const [to] = best;
    if (isAtOrBelow(to, taken) || [...taken].some((path) => path.startsWith(`${to}/`))) continue;
    taken.add(to);
    moves.push({ from, to, kind: "folder", on });
  }
  return moves;
}

function topOf(path: string, folders: ReadonlySet<string>): string | undefined {
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1))
    if (folders.has(path.slice(0, at))) return path.slice(0, at);
  return undefined;
}

function printOf({ ino, size, mtime }: LocalMark): string {
  return `${ino} ${size} ${mtime}`;
}

function toLocalPrints({ entries }: LocalScan): Prints {
  return collect(entries, ({ mark }: LocalEntry) => [printOf(mark)]);
}

function toRemotePrints({ entries }: RemoteScan): Prints {
  return collect(entries, ({ mark }: RemoteEntry) => [
    `id ${mark.id}`,
    ...(mark.etag === null ? [] : [`etag ${mark.etag} ${mark.size}`]),
  ]);
}

function collect<E extends { readonly kind: string }>(
  entries: ReadonlyMap<string, E>,
  toPrints: (entry: E) => readonly string[],
): Prints {
  const prints = new Map<string, string[]>();
  for (const [path, entry] of entries) {
    if (entry.kind !== "file") continue;
    for (const print of toPrints(entry)) {
      const paths = prints.get(print);
      if (paths === undefined) prints.set(print, [path]);
      else paths.push(path);
    }
  }
  return prints;
}

/** Local files that may be renamed ones: a known file of the same size is gone. Their hashes decide. */
export function findRenameCandidates({ agreements, local, remote }: Sides): readonly LocalEntry[] {
  const sizes = new Set<number>();
  for (const [path, agreed] of agreements)
    if (agreed.kind === "file" && isGone(path, local) && isHere(agreed, remote.entries.get(path)))
      sizes.add(agreed.local.size);
  if (sizes.size === 0) return [];
  return [...local.entries]
    .filter(
      ([path, { kind, mark }]) =>
        kind === "file" && sizes.has(mark.size) && isFree(path, agreements, remote),
    )
    .map(([, entry]) => entry);
}

/** Finds renamed files: at this machine by their hash, at the connection by their id or etag. */
export function findFileMoves(
  sides: Sides,
  hashes: ReadonlyMap<string, string | undefined>,
): readonly Move[] {
  const { agreements, local, remote } = sides;
  const moves: Move[] = [];
  const byHash = new Map<string, string[]>();
  for (const [path, { kind }] of local.entries) {
    const hash = hashes.get(path);
    if (kind !== "file" || hash === undefined || !isFree(path, agreements, remote)) continue;
    byHash.set(hash, [...(byHash.get(hash) ?? []), path]);
  }
  const byPrint = collect(remote.entries, ({ mark }: RemoteEntry) => [
    `id ${mark.id}`,
    ...(mark.etag === null ? [] : [`etag ${mark.etag} ${mark.size}`]),
  ]);
  const taken = new Set<string>();
  const add = (from: string, on: Move["on"], candidates: readonly string[]) => {
    const free = candidates.filter((path) => !taken.has(path));
    const to = free.find((path) => nameOf(path) === nameOf(from)) ?? free[0];
    if (to === undefined) return;
    taken.add(to);
    moves.push({ from, to, kind: "file", on });
  };
  for (const [path, agreed] of agreements) {
    if (agreed.kind !== "file") continue;
    const [one, other] = [local.entries.get(path), remote.entries.get(path)];
    if (isGone(path, local) && isHere(agreed, other))
      add(path, "remote", byHash.get(agreed.sha256) ?? []);
    else if (isGone(path, remote) && one?.kind === "file" && isSameMark(agreed.local, one.mark)) {
      const { id, etag, size } = agreed.remote;
      const prints = [`id ${id}`, ...(etag === null ? [] : [`etag ${etag} ${size}`])];
      const candidates = [...new Set(prints.flatMap((print) => byPrint.get(print) ?? []))].filter(
        (candidate) =>
          isFree(candidate, agreements, local) && remote.entries.get(candidate)?.mark.size === size,
      );
      // Several equal ones may be copies, whose etag says nothing about which one was renamed.
      if (candidates.length === 1) add(path, "local", candidates);
    }
  }
  return moves;
}

function isGone(path: string, { entries, blocked }: Scan<unknown>): boolean {
  return !entries.has(path) && !isAtOrBelow(path, blocked);
}

function isHere(agreed: AgreedFile, remote: RemoteEntry | undefined): boolean {
  return remote?.kind === "file" && isSameItem(agreed, remote.mark);
}

function isFree(path: string, agreements: Agreements, { entries, blocked }: Scan<unknown>) {
  return !agreements.has(path) && !entries.has(path) && !isAtOrBelow(path, blocked);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Files up to this size are compared by their bytes after a rename at the connection; of larger ones the etag is enough. */
const COMPARED_BYTES_MAX = 1024 * 1024;

/** Returns the agreements with a moved file or folder under its new path. */
export function rekeyAgreements(
  agreements: Agreements,
  move: Move,
  remote: RemoteScan,
): Agreements {
  return new Map(
    [...agreements].map(([path, agreed]) => {
      const to = toMoved(path, move);
      if (to === undefined) return [path, agreed];
      if (agreed.kind === "folder") return [to, agreed];
      const now = remote.entries.get(to)?.mark;
      const isSure = now !== undefined && hasSameContent(agreed, now);
      // The etags of two small files may be equal by chance, where they have the time in seconds only.
      const isCompared =
        move.on === "local" && move.kind === "file" && agreed.local.size <= COMPARED_BYTES_MAX;
      if (!isSure || isCompared)
        return [to, { ...agreed, remote: { ...agreed.remote, etag: null, modifiedAt: null } }];
      return [to, { ...agreed, remote: now }];
    }),
  );
}

/** Returns the path after the move; undefined for one that does not move. */
function toMoved(path: string, { from, to }: Move): string | undefined {
  if (path === from) return to;
  return path.startsWith(`${from}/`) ? `${to}${path.slice(from.length)}` : undefined;
}

/** Returns a side as it will be after the move, for the plan that is shown before anything is changed. */
export function withMove<E extends { readonly path: string }, S extends Scan<E>>(
  scan: S,
  move: Move,
): S {
  const entries = new Map<string, E>();
  for (const [path, entry] of scan.entries) entries.set(toMoved(path, move) ?? path, entry);
  return { ...scan, entries };
}
