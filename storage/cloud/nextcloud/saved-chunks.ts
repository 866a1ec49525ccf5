import { asCount, asText, parseJsonObject } from "../json.ts";
import type { Failure } from "../outcomes.ts";
import type { ProviderDeps } from "../provider.ts";
import type { DavClient } from "../webdav/client.ts";

/**
 * The saved form of a folder of chunks that another call continues. Sweeps skip it; the server removes it after a
 * day.
 */
export interface SavedChunks {
  readonly folder: string;
  /** The size of all chunks but the last. */
  readonly pieceBytes: number;
}

/** Kept chunks and the sizes of those that the server has, by name; undefined sizes when the folder no longer exists. */
export interface ContinuedChunks extends SavedChunks {
  readonly kind: "continued";
  readonly sizes: ReadonlyMap<string, number> | undefined;
}

const LENGTH = { uri: "DAV:", local: "getcontentlength" } as const;

/** Returns a name that sweeps do not treat as a leftover. */
export function toSavedFolder({ home, newId }: Pick<ProviderDeps, "home" | "newId">): string {
  return `croft-${home}-${newId()}.kept`;
}

export function toSavedChunks(saved: string | undefined): SavedChunks | undefined {
  const value = parseJsonObject(saved ?? "");
  const folder = asText(value?.["folder"]);
  const pieceBytes = asCount(value?.["pieceBytes"]);
  return folder === undefined || !pieceBytes ? undefined : { folder, pieceBytes };
}

/** Asks the server which chunks it has. `client` is that of the user's folder of uploads. */
export async function listChunks(
  client: DavClient,
  saved: SavedChunks,
  signal: AbortSignal,
): Promise<ContinuedChunks | Failure> {
  const sizes = new Map<string, number>();
  const response = await client.propfind(
    { place: { segments: [saved.folder], isFolder: true }, depth: "1", props: [LENGTH], signal },
    ({ props }, path) => {
      const size = Number(props.get(`{${LENGTH.uri}}${LENGTH.local}`) ?? Number.NaN);
      if (path !== undefined && Number.isSafeInteger(size)) sizes.set(path.at(-1) ?? "", size);
    },
  );
  if (response.kind === "ok") return { kind: "continued", ...saved, sizes };
  if (response.kind === "offline") return response;
  const { status } = response.answer;
  if (status === 404) return { kind: "continued", ...saved, sizes: undefined };
  return status === 401
    ? { kind: "reauth", note: "uploads" }
    : { kind: "offline", sent: true, note: `status_${status}` };
}
