import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { CliErrorCode } from "../../../exit-codes.ts";
import { listItems, type WireItem } from "../find-item.ts";

/** Everything in a folder. */
export interface FolderContent {
  readonly items: readonly WireItem[];
  /** Why the provider could not list it; then the items are the last known ones. */
  readonly failure: CliError | undefined;
}

/** Reads a folder with all its pages. `refresh` lists it at the provider, however fresh the last listing is. */
export async function readFolder(
  cli: CliContext,
  connectionId: string,
  parent: string,
  refresh: boolean,
): Promise<FolderContent> {
  const items: WireItem[] = [];
  let failure: CliError | undefined;
  let cursor: string | undefined;
  do {
    const { body } = await cli.client.call(listItems, {
      params: { connection_id: connectionId },
      query: {
        parent_ref: parent,
        limit: largestPage,
        cursor,
        refresh: refresh && cursor === undefined ? "true" : undefined,
      },
    });
    items.push(...body.items);
    if (body.refresh_state === "failed") failure = toFailure(body.error_code, body.error_message);
    cursor = body.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return { items, failure };
}

const largestPage = 1000;

const codes: Readonly<Record<string, CliErrorCode>> = {
  offline: "provider_offline",
  reauth_required: "reauth_required",
};

function toFailure(code: string | null | undefined, message: string | null | undefined): CliError {
  return new CliError(
    codes[code ?? ""] ?? "provider_failed",
    message ?? "the provider could not list this folder",
    { service: "vault" },
  );
}
