import { AppError } from "../../errors.ts";
import type { FilePart } from "../../http/handle.ts";
import { Name } from "./elements.tsx";
import { toText, tryForm, type VaultPageAnswer } from "./vault-page.ts";

/** A file of a form that was refused, with the reason. */
interface Refused {
  readonly name: string;
  readonly text: string;
}

const FAILURES = [
  "conflict",
  "forbidden",
  "invalid_argument",
  "not_found",
  "provider_failed",
  "reauth_required",
  "storage_full",
  "too_large",
  "unavailable",
  "unprocessable",
] as const;

/** Stores the files of a form one by one while they arrive. Returns how many were stored, and the refused ones. */
export async function storeFiles(
  files: AsyncIterable<FilePart>,
  store: (file: FilePart, name: string) => Promise<unknown>,
): Promise<{ readonly stored: number; readonly refused: readonly Refused[] }> {
  let stored = 0;
  const refused: Refused[] = [];
  try {
    for await (const file of files) {
      // Some browsers send the path of a file.
      const name = file.filename?.split(/[/\\]/).at(-1) ?? "upload";
      const tried = await tryForm(() => store(file, name), FAILURES);
      file.stream.destroy();
      if ("refusal" in tried) refused.push({ name, text: toText(tried.refusal) });
      else stored += 1;
    }
  } catch (error) {
    const last = refused.at(-1);
    if (!(error instanceof AppError) || error.code !== "too_large" || last === undefined)
      throw error;
    // The bytes of a refused file are not read to their end.
    const text = `${last.text} Files after it were not read: send them without it.`;
    refused.splice(-1, 1, { ...last, text });
  }
  return { stored, refused };
}

/** The page after an upload of which some files were refused. */
export function showRefused(
  { stored, refused }: Awaited<ReturnType<typeof storeFiles>>,
  back: string,
): VaultPageAnswer {
  return {
    kind: "page",
    title: "Not all files were stored",
    status: 422,
    body: (
      <>
        <h1>{`${stored} of ${stored + refused.length} files were stored`}</h1>
        <ul className="list">
          {refused.map(({ name, text }, at) => (
            <li key={at}>
              <Name>{name}</Name>: {text}
            </li>
          ))}
        </ul>
        <p>
          <a href={back}>Back</a>
        </p>
      </>
    ),
  };
}

/** The failures of a change that operations return as values, in words. */
const reasons: Readonly<Record<string, string>> = {
  item_changed: "It has changed since it was listed. Refresh the folder and try again.",
  name_collision: "Something of this name exists already.",
  cross_connection: "It cannot move to another storage.",
  self_destination: "A folder cannot move into itself.",
  descendant_destination: "A folder cannot move into a folder below it.",
  provider_unsupported: "This storage cannot do that.",
  not_found: "It no longer exists.",
};

/** Throws the failure that an operation on connected storage returned as a value. */
export function assertDone(answer: { readonly status: number; readonly body?: unknown }): void {
  const { kind = "", reason = "" } = (answer.body ?? {}) as { kind?: string; reason?: string };
  const isRefused = ["conflict", "unsupported_operation"].includes(kind);
  if (answer.status < 400 && !isRefused) return;
  if (answer.status === 401)
    throw new AppError("reauth_required", "The storage must be connected again.");
  throw new AppError(
    "conflict",
    reasons[reason] ?? `The storage did not do it (${reason || kind || answer.status}).`,
  );
}
