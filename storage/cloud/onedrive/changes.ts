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
import type { ItemOutcome, ProviderItem } from "../item.ts";
import type { JsonObject } from "../json.ts";
import type { Drive } from "./drive.ts";
import type { GraphFailure } from "./failures.ts";
import type { Graph, GraphAnswer } from "./graph.ts";
import { isHeaderValue, isPossibleId } from "./items.ts";
import { brokenOneDriveRule } from "./names.ts";

/** Creates, renames, moves and deletes items. Never overwrites, and checks the result after a lost response. */
export function createChanges(
  graph: Graph,
  drive: Drive,
  capabilities: {
    readonly driveId: string;
    readonly rootId: string;
    readonly canDeleteForGood: boolean;
  },
  deps: Pick<ProviderDeps, "home" | "newId" | "locks">,
) {
  /** Returns the current item if it is unchanged since the caller saw it. */
  async function lookExpected(
    id: string,
    expected: Expected,
    signal: AbortSignal,
  ): Promise<ItemOutcome> {
    if (expected.etag !== undefined && !isHeaderValue(expected.etag)) return { kind: "stale" };
    const current = await drive.lookUp(id, signal);
    if (current.kind !== "ok") return toEarlyFailure(current, toChangeFailure);
    const { item } = current.found;
    return isExpected(item, expected) ? { kind: "ok", item } : { kind: "stale" };
  }

  /** Changes one property of an item if it is still the version that was looked up. */
  async function patch(
    item: ProviderItem,
    body: JsonObject,
    signal: AbortSignal,
  ): Promise<GraphAnswer> {
    const send = (etag: string | undefined) =>
      graph.call({
        method: "PATCH",
        path: drive.addressOf(item.id),
        headers: etag === undefined ? {} : { "if-match": etag },
        body,
        signal,
      });
    const answer = await send(item.etag);
    if (answer.kind !== "stale") return answer;
    // Some libraries refuse their own etag: if nothing has changed, the condition is useless there.
    const current = await drive.lookUp(item.id, signal);
    if (current.kind !== "ok" || current.found.item.etag !== item.etag) return answer;
    return send(undefined);
  }

  /** Checks an item after a failed change: if the change has happened, the result is a success. */
  async function explain(
    item: ProviderItem,
    failure: GraphFailure,
    isDone: (now: ProviderItem) => boolean,
    signal: AbortSignal,
  ): Promise<ItemOutcome> {
    if (!isLostResponse(failure)) return toChangeFailure(failure);
    const look = () => drive.lookUp(item.id, signal);
    const explained = await explainChange(failure, look, (now) => isDone(now.item));
    return explained.kind === "ok" ? { kind: "ok", item: explained.found.item } : explained;
  }

  async function setName(
    item: ProviderItem,
    name: string,
    signal: AbortSignal,
  ): Promise<ItemOutcome> {
    // A drive may keep another spelling than the requested one.
    const isDone = (now: ProviderItem) =>
      now.name === name || (isSameSpelling(now.name, name) && !isSameSpelling(item.name, name));
    const answer = await patch(item, { name }, signal);
    if (answer.kind !== "ok") return explain(item, answer, isDone, signal);
    const renamed = drive.toItem(answer.value);
    if (renamed.kind !== "ok" || renamed.found.item.id !== item.id)
      return explain(item, STRANGE_ANSWER, isDone, signal);
    return { kind: "ok", item: renamed.found.item };
  }

  /** Changes only the spelling, which a drive may take for a collision or for no change: renames through a temporary name. */
  function respell(item: ProviderItem, name: string, signal: AbortSignal): Promise<ItemOutcome> {
    const names = { from: item.name, to: name };
    return renameTwice(names, deps, item, (at, to, calm) => setName(at, to, calm ?? signal));
  }

  return {
    async createFolder(parent: string, name: string, signal: AbortSignal): Promise<ItemOutcome> {
      const rule = brokenOneDriveRule(name);
      if (rule !== undefined) return { kind: "invalid_name", rule };
      if (!isPossibleId(parent)) return { kind: "stale", note: "impossible_id" };
      const answer = await graph.call({
        method: "POST",
        path: `${drive.addressOf(parent)}/children`,
        body: { name, folder: {}, "@microsoft.graph.conflictBehavior": "fail" },
        signal,
      });
      if (answer.kind === "ok") {
        const created = drive.toItem(answer.value);
        if (answer.status === 201 && created.kind === "ok")
          return { kind: "ok", item: created.found.item };
        if (answer.status === 200) return { kind: "conflict", existingName: name };
      }
      const failure = answer.kind === "ok" ? STRANGE_ANSWER : answer;
      if (failure.kind === "conflict") return { kind: "conflict", existingName: name };
      if (failure.kind === "unsupported") return parentOrSame(parent, failure, signal);
      if (!isLostResponse(failure)) return toChangeFailure(failure);
      const found = await drive.lookUpChild(parent, name, signal);
      if (found.kind === "not_found") return failure;
      if (found.kind !== "ok") return { kind: "unknown_outcome", note: failure.note ?? "lost" };
      const { item, childCount } = found.found;
      // The request was for an empty folder of this name.
      const isOurs = item.kind === "folder" && childCount === 0 && isAsSent(item.name, name);
      return isOurs ? { kind: "ok", item } : { kind: "conflict", existingName: item.name };
    },

    async rename(
      id: string,
      name: string,
      expected: Expected,
      signal: AbortSignal,
    ): Promise<ItemOutcome> {
      const rule = brokenOneDriveRule(name);
      if (rule !== undefined) return { kind: "invalid_name", rule };
      const current = await lookExpected(id, expected, signal);
      if (current.kind !== "ok" || current.item.name === name) return current;
      const renamed = await setName(current.item, name, signal);
      if (!isSameSpelling(current.item.name, name)) return withName(renamed, name);
      if (renamed.kind === "ok")
        return renamed.item.name === name ? renamed : respell(renamed.item, name, signal);
      return renamed.kind === "conflict" ? respell(current.item, name, signal) : renamed;
    },

    async move(
      id: string,
      parent: string,
      expected: Expected,
      signal: AbortSignal,
    ): Promise<ItemOutcome> {
      if (parent === id) return refuseDestination("self_destination");
      const current = await lookExpected(id, expected, signal);
      if (current.kind !== "ok" || current.item.parent === parent) return current;
      const { item } = current;
      if (parent !== "") {
        const target = await drive.lookUp(parent, signal);
        if (target.kind !== "ok") return toEarlyFailure(target, toChangeFailure);
        if (target.found.item.kind !== "folder") return refuseDestination("not_a_folder");
        const isWithin =
          item.kind === "folder" && (await drive.isWithin(target.found.item, id, signal));
        if (typeof isWithin !== "boolean") return toEarlyFailure(isWithin, toChangeFailure);
        if (isWithin) return refuseDestination("descendant_destination");
      }
      const parentId = parent === "" ? capabilities.rootId : parent;
      // Only the parent: with a name in the same request, some drives apply only half of the change.
      const body = { parentReference: { driveId: capabilities.driveId, id: parentId } };
      const answer = await patch(item, body, signal);
      const isThere = (now: ProviderItem) => now.parent === parent;
      if (answer.kind !== "ok")
        return withName(await explain(item, answer, isThere, signal), item.name);
      const moved = drive.toItem(answer.value);
      const isConfirmed =
        moved.kind === "ok" && moved.found.item.id === id && isThere(moved.found.item);
      return isConfirmed
        ? { kind: "ok", item: moved.found.item }
        : explain(item, STRANGE_ANSWER, isThere, signal);
    },

    async remove(
      id: string,
      expected: Expected,
      permanently: boolean,
      signal: AbortSignal,
    ): Promise<DeleteOutcome> {
      if (permanently && !capabilities.canDeleteForGood)
        return { kind: "unsupported", reason: "permanent_delete" };
      const current = await lookExpected(id, expected, signal);
      if (current.kind !== "ok") return current;
      const how = permanently ? "permanent" : "trashed";
      const send = (etag: string | undefined) =>
        graph.call({
          method: permanently ? "POST" : "DELETE",
          path: `${drive.addressOf(id)}${permanently ? "/permanentDelete" : ""}`,
          headers: etag === undefined ? {} : { "if-match": etag },
          signal,
        });
      let answer = await send(current.item.etag);
      if (answer.kind === "stale") {
        // Some drives refuse the precondition of a delete although it holds.
        const latest = await drive.lookUp(id, signal);
        if (latest.kind === "ok" && latest.found.item.etag === current.item.etag)
          answer = await send(undefined);
      }
      if (answer.kind === "ok") return { kind: "ok", how };
      if (!isLostResponse(answer)) return toChangeFailure(answer);
      return explainDelete(answer, how, () => drive.lookUp(id, signal));
    },
  };

  /** Explains a refusal that the parent may have caused: it has become a file. */
  async function parentOrSame(
    parent: string,
    failure: Failure,
    signal: AbortSignal,
  ): Promise<Failure> {
    if (parent === "") return failure;
    const current = await drive.lookUp(parent, signal);
    const isFolder = current.kind === "ok" && current.found.item.kind === "folder";
    return current.kind === "not_found" || (current.kind === "ok" && !isFolder)
      ? { kind: "stale", note: "parent_gone" }
      : failure;
  }
}

/** Maps a missing item to the failure of a change of a known item, or below a known folder. */
export function toChangeFailure(failure: GraphFailure): Failure {
  return failure.kind === "not_found" ? { ...failure, kind: "stale" } : failure;
}

function withName(outcome: ItemOutcome, name: string): ItemOutcome {
  return outcome.kind === "conflict" ? { ...outcome, existingName: name } : outcome;
}
