import { isAsSent, isExpected, isSameSpelling } from "../comparison.ts";
import {
  explainChange,
  explainDelete,
  isLostResponse,
  refuseDestination,
  renameTwice,
  STRANGE_ANSWER,
  toEarlyFailure,
} from "../guarded-change.ts";
import type { Failure } from "../outcomes.ts";
import type { DeleteOutcome, Expected, ProviderDeps } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { asObject } from "../json.ts";
import { toChangeFailure, type Account } from "./account.ts";
import type { DropboxApi } from "./api.ts";
import { parentPathOf, toDropboxItem, toProviderItem, type DropboxItem } from "./items.ts";
import { brokenDropboxRule } from "./names.ts";

export interface ChangesDeps {
  readonly api: DropboxApi;
  readonly account: Account;
  readonly deps: Pick<ProviderDeps, "home" | "newId" | "sleep" | "locks">;
}

/** A new item may not be found yet when it is moved. */
const MOVES_MAX = 4;
const MOVE_WAIT_MS = 250;

/** Creates, renames, moves and deletes items. */
export function createChanges({ api, account, deps }: ChangesDeps) {
  /** Returns the current item if it is unchanged since the caller saw it. */
  async function lookExpected(id: string, expected: Expected, signal: AbortSignal) {
    const current = await account.lookWithParent(id, signal);
    if (current.kind !== "ok") return toEarlyFailure(current, toChangeFailure);
    return isExpected(current.item, expected) ? current : ({ kind: "stale" } as const);
  }

  /** Moves an item to a path that must be free. The id moves with it, so the item's identity is certain. */
  async function relocate(item: DropboxItem, path: string, signal: AbortSignal): Promise<Moved> {
    const name = path.slice(path.lastIndexOf("/") + 1);
    // Dropbox may keep another spelling.
    const isThere = (now: DropboxItem) =>
      isSameSpelling(now.name, name) && isSameSpelling(parentPathOf(now.path), parentPathOf(path));
    let answer = await send();
    for (let moves = 1; answer.kind === "not_found" && moves < MOVES_MAX; moves++) {
      const still = await account.lookUp(item.id, signal);
      if (still.kind !== "ok") return toChangeFailure(still);
      await deps.sleep(MOVE_WAIT_MS * moves, signal);
      answer = await send();
    }
    if (answer.kind === "ok") {
      const metadata = asObject(answer.value["metadata"]);
      const moved = metadata && toDropboxItem(metadata, item.kind);
      if (moved?.id === item.id && isThere(moved)) return { kind: "ok", item: moved };
    } else if (!isLostResponse(answer)) {
      return toChangeFailure(answer);
    }
    const failure = answer.kind === "ok" ? STRANGE_ANSWER : answer;
    const explained = await explainChange(failure, () => account.lookUp(item.id, signal), isThere);
    return explained.kind === "ok" ? { kind: "ok", item: explained.found } : explained;

    function send() {
      const argument = {
        from_path: item.id,
        to_path: path,
        autorename: false,
        allow_ownership_transfer: false,
      };
      return api.ask("files/move_v2", argument, signal);
    }
  }

  /** Changes only the spelling, which Dropbox does not count as a move: renames through a temporary name. */
  function respell(item: DropboxItem, name: string, signal: AbortSignal) {
    const folder = parentPathOf(item.path);
    const names = { from: item.name, to: name };
    return renameTwice(names, deps, item, (at, to, calm) =>
      relocate(at, `${folder}/${to}`, calm ?? signal),
    );
  }

  return {
    async createFolder(parent: string, name: string, signal: AbortSignal): Promise<ItemOutcome> {
      const rule = brokenDropboxRule(name);
      if (rule !== undefined) return { kind: "invalid_name", rule };
      // Dropbox would create missing parents, so the parent is checked first.
      const folder = await account.pathOfFolder(parent, signal);
      if (folder.kind !== "ok") return toEarlyFailure(folder, toChangeFailure);
      const path = `${folder.path}/${name}`;
      const argument = { path, autorename: false };
      const answer = await api.ask("files/create_folder_v2", argument, signal);
      if (answer.kind === "ok") {
        const metadata = asObject(answer.value["metadata"]);
        const created = metadata && toDropboxItem(metadata, "folder");
        if (created !== undefined) return { kind: "ok", item: toProviderItem(created, parent) };
      } else if (answer.kind === "conflict") {
        return { ...answer, existingName: name };
      } else if (!isLostResponse(answer)) {
        return toChangeFailure(answer);
      }
      const failure = answer.kind === "ok" ? STRANGE_ANSWER : answer;
      const found = await account.lookUp(path, signal);
      if (found.kind === "not_found") return failure;
      if (found.kind !== "ok") return { kind: "unknown_outcome", note: failure.note ?? "lost" };
      const item = toProviderItem(found.found, parent);
      if (item.kind === "file" || !isAsSent(item.name, name))
        return { kind: "conflict", existingName: item.name };
      // The request was for an empty folder: a folder with contents belongs to another client.
      const contents = await account.list(item.id, signal);
      if (contents.kind !== "ok") return { kind: "unknown_outcome", note: failure.note ?? "lost" };
      return contents.items.length === 0
        ? { kind: "ok", item }
        : { kind: "conflict", existingName: item.name };
    },

    async rename(
      id: string,
      name: string,
      expected: Expected,
      signal: AbortSignal,
    ): Promise<ItemOutcome> {
      const rule = brokenDropboxRule(name);
      if (rule !== undefined) return { kind: "invalid_name", rule };
      const current = await lookExpected(id, expected, signal);
      if (current.kind !== "ok") return current;
      const { found, item } = current;
      if (found.name === name) return { kind: "ok", item };
      const renamed = isSameSpelling(found.name, name)
        ? await respell(found, name, signal)
        : await relocate(found, `${parentPathOf(found.path)}/${name}`, signal);
      return toItemOutcome(renamed, item.parent, name);
    },

    async move(
      id: string,
      parent: string,
      expected: Expected,
      signal: AbortSignal,
    ): Promise<ItemOutcome> {
      if (parent === id) return refuseDestination("self_destination");
      const current = await lookExpected(id, expected, signal);
      if (current.kind !== "ok") return current;
      const { found, item } = current;
      if (item.parent === parent) return { kind: "ok", item };
      const folder = await account.pathOfFolder(parent, signal);
      if (folder.kind === "stale") return refuseDestination("not_a_folder");
      if (folder.kind !== "ok") return toEarlyFailure(folder, toChangeFailure);
      if (folder.path.startsWith(`${found.path}/`))
        return refuseDestination("descendant_destination");
      const moved = await relocate(found, `${folder.path}/${found.name}`, signal);
      return toItemOutcome(moved, parent, found.name);
    },

    async remove(id: string, expected: Expected, signal: AbortSignal): Promise<DeleteOutcome> {
      const current = await lookExpected(id, expected, signal);
      if (current.kind !== "ok") return current;
      const { rev } = current.found;
      const guard = rev === undefined ? {} : { parent_rev: rev };
      const answer = await api.ask("files/delete_v2", { path: id, ...guard }, signal);
      if (answer.kind === "ok") return { kind: "ok", how: "trashed" };
      // The version differs from the one that was looked up.
      if (answer.kind === "conflict") return { ...answer, kind: "stale" };
      if (!isLostResponse(answer)) return toChangeFailure(answer);
      return explainDelete(answer, "trashed", () => account.lookUp(id, signal));
    },
  };
}

type Moved = { readonly kind: "ok"; readonly item: DropboxItem } | Failure;

function toItemOutcome(outcome: Moved, parent: string, name: string): ItemOutcome {
  if (outcome.kind === "ok") return { kind: "ok", item: toProviderItem(outcome.item, parent) };
  return outcome.kind === "conflict" ? { ...outcome, existingName: name } : outcome;
}
