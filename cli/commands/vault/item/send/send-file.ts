import { vault } from "../../../../client/operations.ts";
import type { CliContext } from "../../../../context.ts";
import { CliError } from "../../../../errors.ts";
import type { LocalSource } from "./local-source.ts";

/** What was uploaded, as the vault says it. */
export interface Uploaded {
  readonly kind: string;
  readonly provider_item_id: string;
  readonly name: string;
  readonly parent_ref: string | null;
  readonly size: number;
}

/** Where a file goes, and under which name. */
export interface SendTarget {
  readonly connectionId: string;
  /** The folder's id; empty for the top. */
  readonly folderId: string;
  readonly filename: string;
  /** Told how many bytes were sent in all. */
  readonly onProgress: (bytes: number) => void;
}

/** Uploads one file. Nothing is ever overwritten: a taken name is `name_collision`. */
export async function sendFile(
  cli: CliContext,
  file: LocalSource,
  { connectionId, folderId, filename, onProgress }: SendTarget,
): Promise<Uploaded> {
  const sending = cli.client.upload(
    vault.uploadItem,
    { params: { connection_id: connectionId } },
    {
      fields: { parent_ref: folderId, filename },
      fileField: "file",
      filename,
      contentType: "application/octet-stream",
      size: file.size,
      canRestart: file.canRestart,
      open: file.open,
      onProgress,
    },
  );
  const { body } = await sending.finally(() => file.close?.());
  if (body.kind !== "uploaded")
    throw new CliError("unexpected_answer", "the daemon's answer is unknown");
  return body;
}
