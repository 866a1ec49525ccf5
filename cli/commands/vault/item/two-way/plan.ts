import type { Agreed, AgreedFile, Agreements, LocalMark, RemoteMark } from "./pair-state.ts";
import type { RemoteEntry, RemoteScan } from "./remote-side.ts";
import { isSameMark, type LocalEntry, type LocalScan, loud, type Scan } from "./scan.ts";

/** One action of a plan. `path` is the key of the entries. */
export type Step =
  /** Copies a file to the connection, as a new one or in place of the version `remote`. */
  | { action: "upload"; path: string; local: LocalEntry; remote?: RemoteEntry | undefined }
  /** Copies a file to this machine, as a new one or in place of the version `local`. */
  | {
      action: "download";
      path: string;
      remote: RemoteEntry;
      local?: LocalEntry | undefined;
      agreed?: AgreedFile | undefined;
    }
  /** Both sides have a file that the other one does not know: their bytes are compared. Different ones are a conflict. */
  | {
      action: "compare";
      path: string;
      local: LocalEntry;
      remote: RemoteEntry;
      agreed?: AgreedFile | undefined;
    }
  /** Renames a file that is in the way of a folder of the other side. */
  | { action: "set_aside"; path: string; on: "local"; entry: LocalEntry }
  | { action: "set_aside"; path: string; on: "remote"; entry: RemoteEntry }
  | { action: "folder"; path: string; on: "local" | "remote" }
  | { action: "delete"; path: string; on: "local"; entry: LocalEntry; agreed: Agreed }
  | { action: "delete"; path: string; on: "remote"; entry: RemoteEntry; agreed: Agreed }
  /** Both sides are equal: only the state changes. */
  | { action: "agree"; path: string; agreed: Agreed }
  /** Neither side has it any more. */
  | { action: "forget"; path: string }
  /** It cannot be synchronized. */
  | { action: "skip"; path: string; reason: string };

/** Both sides and their last agreement. */
export interface Situation {
  readonly agreements: Agreements;
  readonly local: LocalScan;
  readonly remote: RemoteScan;
  /** SHA-256 of local files by key, of those whose mark is not the agreed one. Undefined: it changed while it was read. */
  readonly hashes: ReadonlyMap<string, string | undefined>;
  /** Epoch milliseconds before the scan of the local side. */
  readonly scannedAt: number;
}

/** A change in this time after a file was read may leave its times as they are, where a disk or network rounds them. */
const COARSE_MS = 2_000;

/** Whether a local file is the version of the last agreement, as far as it can be told without reading it. */
export function isUntouched(agreed: AgreedFile, mark: LocalMark): boolean {
  const changedAt = Number(BigInt(mark.ctime) > BigInt(mark.mtime) ? mark.ctime : mark.mtime) / 1e6;
  return isSameMark(agreed.local, mark) && changedAt + COARSE_MS < agreed.localSeenAt;
}

/** Whether an item has the content of the last agreement. */
export function hasSameContent(agreed: AgreedFile, mark: RemoteMark): boolean {
  const { etag, size, modifiedAt } = agreed.remote;
  if (size !== mark.size) return false;
  if (etag !== null || mark.etag !== null) return etag === mark.etag;
  return modifiedAt !== null && modifiedAt === mark.modifiedAt;
}

/** Whether an item is the one of the last agreement. One that was deleted and created again with the same bytes is not. */
export function isSameItem(agreed: AgreedFile, mark: RemoteMark): boolean {
  const { modifiedAt } = agreed.remote;
  return hasSameContent(agreed, mark) && (modifiedAt === null || modifiedAt === mark.modifiedAt);
}

/** Returns whether a key is one of `paths` or below one. */
export function isAtOrBelow(key: string, paths: { has(path: string): boolean }): boolean {
  if (paths.has(key)) return true;
  for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1))
    if (paths.has(key.slice(0, at))) return true;
  return false;
}

/**
 * Compares both sides with their last agreement and returns the steps that make them equal, parents before their content. A
 * change wins over a deletion, of two different changes both are kept, and what cannot be synchronized is left as it is.
 */
export function planBoth(situation: Situation): readonly Step[] {
  const { agreements, local, remote } = situation;
  const skipped = findSkipped(situation);
  const steps: Step[] = [];
  for (const [path, { reason, isQuiet }] of skipped)
    if (!isQuiet) steps.push({ action: "skip", path, reason });
  const keys = new Set([...local.entries.keys(), ...remote.entries.keys(), ...agreements.keys()]);
  const folders: string[] = [];
  for (const path of [...keys].toSorted(byDepth)) {
    if (isAtOrBelow(path, skipped)) continue;
    const [one, other] = [local.entries.get(path), remote.entries.get(path)];
    const isFolder = one?.kind === "folder" || other?.kind === "folder";
    if (isFolder) folders.push(path);
    else steps.push(planFile(situation, path, one, other));
  }
  const isMixed = (path: string) => {
    const [one, other] = [local.entries.get(path), remote.entries.get(path)];
    return one !== undefined && other !== undefined && one.kind !== other.kind;
  };
  const mixed = new Set(folders.filter(isMixed));
  const waits = ({ action, path }: Step) =>
    action !== "delete" && action !== "skip" && isAtOrBelow(path, mixed) && !mixed.has(path);
  return [...planFolders(situation, folders, steps, skipped.keys()), ...steps]
    .filter((step) => !waits(step))
    .toSorted((a, b) => byDepth(a.path, b.path));
}

function planFile(
  { agreements, hashes, scannedAt }: Situation,
  path: string,
  local: LocalEntry | undefined,
  remote: RemoteEntry | undefined,
): Step {
  const known = agreements.get(path);
  const agreed = known?.kind === "file" ? known : undefined;
  if (local === undefined && remote === undefined) return { action: "forget", path };
  if (agreed === undefined) {
    if (remote === undefined) return { action: "upload", path, local: local as LocalEntry };
    if (local === undefined) return { action: "download", path, remote };
    return { action: "compare", path, local, remote };
  }
  // `undefined` is a file that is being written: it has changed.
  const hash = local && (isUntouched(agreed, local.mark) ? agreed.sha256 : hashes.get(path));
  const isLocalSame = hash === agreed.sha256;
  if (local === undefined)
    return isSameItem(agreed, (remote as RemoteEntry).mark)
      ? { action: "delete", path, on: "remote", entry: remote as RemoteEntry, agreed }
      : { action: "download", path, remote: remote as RemoteEntry, agreed };
  if (remote === undefined)
    return isLocalSame && isSameMark(agreed.local, local.mark)
      ? { action: "delete", path, on: "local", entry: local, agreed }
      : { action: "upload", path, local };
  const isRemoteSame = hasSameContent(agreed, remote.mark);
  if (isLocalSame && isRemoteSame) {
    const now = { ...agreed, local: local.mark, localSeenAt: scannedAt, remote: remote.mark };
    return { action: "agree", path, agreed: now };
  }
  if (isLocalSame) return { action: "download", path, remote, local, agreed };
  if (isRemoteSame) return { action: "upload", path, local, remote };
  return { action: "compare", path, local, remote, agreed };
}

/** Plans folders from the deepest up: one is deleted only when nothing in it stays. */
function planFolders(
  { agreements, local, remote }: Situation,
  folders: readonly string[],
  files: readonly Step[],
  skipped: Iterable<string>,
): readonly Step[] {
  const steps: Step[] = [];
  /** Folders with something that stays or comes. */
  const used = new Set<string>();
  const use = (path: string) => {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      used.add(path.slice(0, at));
  };
  for (const { action, path } of files) if (action !== "delete" && action !== "forget") use(path);
  for (const path of skipped) use(path);
  for (const path of folders.toReversed()) {
    const agreed = agreements.get(path);
    const [one, other] = [local.entries.get(path), remote.entries.get(path)];
    const isUsed = () =>
      used.has(path) || local.holdsIgnored.has(path) || remote.holdsIgnored.has(path);
    if (one?.kind === "folder" && other?.kind === "folder") {
      use(path);
      const isMount = one.isMount === true ? { isMount: true } : {};
      steps.push({ action: "agree", path, agreed: { kind: "folder", ...isMount } });
    } else if (one !== undefined && other !== undefined)
      steps.push(...planMixed(path, one, other, agreed, isUsed()));
    else if (agreed?.kind === "folder" && !isUsed()) {
      if (other !== undefined)
        steps.push({ action: "delete", path, on: "remote", entry: other, agreed });
      else if (one !== undefined)
        steps.push({ action: "delete", path, on: "local", entry: one, agreed });
    } else {
      use(path);
      steps.push({ action: "folder", path, on: one === undefined ? "local" : "remote" });
    }
  }
  return steps;
}

/** One side has a file, the other one a folder of this name. The next pass gets what this one makes room for. */
function planMixed(
  path: string,
  one: LocalEntry,
  other: RemoteEntry,
  agreed: Agreed | undefined,
  isUsed: boolean,
): readonly Step[] {
  if (one.kind === "file") {
    if (agreed?.kind === "file" && isSameMark(agreed.local, one.mark))
      return [{ action: "delete", path, on: "local", entry: one, agreed }];
    if (agreed?.kind === "folder" && !isUsed)
      return [{ action: "delete", path, on: "remote", entry: other, agreed }];
    return [{ action: "set_aside", path, on: "local", entry: one }];
  }
  if (agreed?.kind === "file" && isSameItem(agreed, other.mark))
    return [{ action: "delete", path, on: "remote", entry: other, agreed }];
  if (agreed?.kind === "folder" && !isUsed)
    return [{ action: "delete", path, on: "local", entry: one, agreed }];
  return [{ action: "set_aside", path, on: "remote", entry: other }];
}

/** Returns the paths that are left as they are, with the reason, unless only one side has them and it is a link. */
function findSkipped({
  agreements,
  local,
  remote,
}: Situation): ReadonlyMap<string, { readonly reason: string; readonly isQuiet: boolean }> {
  const skipped = new Map([...remote.blocked, ...local.blocked]);
  for (const [path, { reason, isQuiet }] of skipped)
    if (isQuiet && (remote.entries.has(path) || agreements.has(path)))
      skipped.set(path, loud(reason));
  for (const [path, agreed] of agreements) {
    const isMissing = agreed.kind === "folder" && agreed.isMount === true;
    if (isMissing && local.entries.get(path)?.isMount !== true)
      skipped.set(path, loud("another disk was mounted here; it is missing"));
  }
  if (!local.isCaseSensitive || !remote.isCaseSensitive) skipCollisions(local, remote, skipped);
  return skipped;
}

function skipCollisions(
  local: Scan<LocalEntry>,
  remote: Scan<RemoteEntry>,
  skipped: Map<string, { readonly reason: string; readonly isQuiet: boolean }>,
): void {
  const keys = new Set([...local.entries.keys(), ...remote.entries.keys()]);
  for (const same of Map.groupBy(keys, (key) => key.toUpperCase()).values())
    if (same.length > 1)
      for (const path of same)
        if (!isAtOrBelow(path, skipped))
          skipped.set(path, loud(`one side does not distinguish it from ${other(same, path)}`));
}

function other(names: readonly string[], name: string): string {
  return names.find((one) => one !== name) ?? name;
}

/** Folders above what they contain, else by name. */
function byDepth(one: string, other: string): number {
  const [a, b] = [one.split("/"), other.split("/")];
  for (let at = 0; at < Math.min(a.length, b.length); at++)
    if (a[at] !== b[at]) return (a[at] ?? "") < (b[at] ?? "") ? -1 : 1;
  return a.length - b.length;
}
