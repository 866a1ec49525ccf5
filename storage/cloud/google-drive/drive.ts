import { createListedItems } from "../listed-items.ts";
import { asText, type JsonObject } from "../json.ts";
import type { DriveApi, DriveCall } from "./api.ts";
import type { DriveFailure } from "./failures.ts";
import {
  FIELDS,
  FOLDER_TYPE,
  GUARD_FIELDS,
  toDriveFile,
  toGuardedFile,
  type DriveFile,
} from "./items.ts";

export type FileOutcome = { readonly kind: "ok"; readonly file: DriveFile } | DriveFailure;
export type FilesOutcome =
  | { readonly kind: "ok"; readonly files: readonly DriveFile[] }
  | DriveFailure;

/** One user's drive: the requests that the operations consist of. */
export type Drive = ReturnType<typeof createDrive>;

/** Ids per request. */
const IDS_AT_ONCE = 50;

export function createDrive(api: DriveApi, rootId: string, pageSize: number) {
  const spareIds: string[] = [];
  const strange = { kind: "offline", sent: true, note: "strange_answer" } as const;

  function toOutcome(file: DriveFile | undefined): FileOutcome {
    return file === undefined ? strange : { kind: "ok", file };
  }

  async function lookUpFile(
    service: "v3" | "v2",
    fields: string,
    read: (value: JsonObject, rootId: string) => DriveFile | undefined,
    id: string,
    signal: AbortSignal,
  ): Promise<FileOutcome> {
    const query = { fields };
    const answer = await api.callJson({ method: "GET", service, path: pathOf(id), query, signal });
    return answer.kind === "ok" ? toOutcome(read(answer.value, rootId)) : answer;
  }

  const drive = {
    api,
    /** Returns the real id of a folder; the empty id is the root. */
    realId: (folder: string): string => (folder === "" ? rootId : folder),

    /** Looks up one item, trashed or not. */
    lookUp: (id: string, signal: AbortSignal): Promise<FileOutcome> =>
      lookUpFile("v3", FIELDS, toDriveFile, id, signal),
    /** Looks up one item with its etag for preconditions. */
    lookUpWithEtag: (id: string, signal: AbortSignal): Promise<FileOutcome> =>
      lookUpFile("v2", GUARD_FIELDS, toGuardedFile, id, signal),

    /** Looks up a folder as a parent: `not_found` when it is missing or in the trash. */
    async lookUpParent(
      folder: string,
      signal: AbortSignal,
    ): Promise<
      | { readonly kind: "ok" }
      | { readonly kind: "not_a_folder"; readonly note?: string }
      | DriveFailure
    > {
      if (folder === "") return { kind: "ok" };
      const found = await drive.lookUp(folder, signal);
      if (found.kind !== "ok") return found;
      if (found.file.isTrashed) return { kind: "not_found", note: "trashed" };
      return found.file.mimeType === FOLDER_TYPE ? { kind: "ok" } : { kind: "not_a_folder" };
    },

    /** Lists the items of a folder, or those of one name. */
    async list(
      folder: string,
      name: string | undefined,
      signal: AbortSignal,
      filesMax: number,
    ): Promise<FilesOutcome> {
      const accumulated = createListedItems<DriveFile>(filesMax);
      const nameCondition = name === undefined ? "" : ` and name = '${quoted(name)}'`;
      const query = {
        q: `'${quoted(drive.realId(folder))}' in parents and trashed = false${nameCondition}`,
        pageSize: String(pageSize),
        fields: `nextPageToken,incompleteSearch,files(${FIELDS})`,
        includeItemsFromAllDrives: "true",
      };
      let page: string | undefined;
      do {
        const answer = await api.callJson({
          method: "GET",
          service: "v3",
          path: "/files",
          query: page === undefined ? query : { ...query, pageToken: page },
          signal,
        });
        if (answer.kind !== "ok") return answer;
        const { files, incompleteSearch, nextPageToken } = answer.value;
        if (incompleteSearch === true)
          return { kind: "offline", sent: true, note: "incomplete_search" };
        if (!Array.isArray(files)) return strange;
        for (const value of files as readonly unknown[]) {
          const file = toDriveFile(value, rootId);
          if (file === undefined) return strange;
          // `name =` ignores case; a page may repeat items that moved while it was read.
          const isMeant = name === undefined || file.item.name === name;
          const failure = isMeant ? accumulated.add(file.item, file) : undefined;
          if (failure !== undefined) return failure;
        }
        const failure = accumulated.endPage();
        if (failure !== undefined) return failure;
        page = asText(nextPageToken);
      } while (page !== undefined);
      return { kind: "ok", files: accumulated.values() };
    },

    /** Sends a change whose response is the item. */
    async change(call: Omit<DriveCall, "signal">, signal: AbortSignal): Promise<FileOutcome> {
      const isV2 = call.service === "v2" || call.service === "upload_v2";
      const query = { ...call.query, fields: isV2 ? GUARD_FIELDS : FIELDS };
      const answer = await api.callJson({ ...call, query, signal });
      if (answer.kind !== "ok") return answer;
      return toOutcome(
        isV2 ? toGuardedFile(answer.value, rootId) : toDriveFile(answer.value, rootId),
      );
    },

    /** Returns an id for a new item, which makes creating it idempotent. */
    async takeId(
      signal: AbortSignal,
    ): Promise<{ readonly kind: "ok"; readonly id: string } | DriveFailure> {
      const spare = spareIds.pop();
      if (spare !== undefined) return { kind: "ok", id: spare };
      const answer = await api.callJson({
        method: "GET",
        service: "v3",
        path: "/files/generateIds",
        query: { count: String(IDS_AT_ONCE), fields: "ids" },
        signal,
      });
      if (answer.kind !== "ok") return answer;
      const ids: unknown = answer.value["ids"];
      const fresh = Array.isArray(ids) ? ids.filter((id) => asText(id) !== undefined) : [];
      spareIds.push(...(fresh as string[]));
      const id = spareIds.pop();
      return id === undefined ? strange : { kind: "ok", id };
    },
  };
  return drive;
}

/** Returns the path of a file; ids are untrusted. */
export function pathOf(id: string): string {
  return `/files/${encodeURIComponent(id)}`;
}

/** Escapes a text for a quoted string of a query. */
function quoted(text: string): string {
  return text.replace(/[\\']/g, "\\$&");
}
