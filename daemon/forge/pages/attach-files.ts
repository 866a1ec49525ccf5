import type { attachmentEndpoints } from "../../contract/forge/issues/attachments.ts";
import type { releaseAssetEndpoints } from "../../contract/forge/releases/assets.ts";
import { AppError } from "../../errors.ts";
import { formRefusals, type ForgePageContext, toSentence } from "./forge-page.ts";

type CreateAttachment =
  | typeof releaseAssetEndpoints.createReleaseAsset
  | typeof attachmentEndpoints.createIssueAttachment
  | typeof attachmentEndpoints.createCommentAttachment;

/**
 * Attaches the files of a form, one by one while they arrive. Refuses with the reasons of those that were refused; the
 * others are attached.
 */
export async function attachFiles(
  { call, files }: ForgePageContext,
  operation: CreateAttachment,
  params: Readonly<Record<string, string>>,
): Promise<void> {
  const reasons: string[] = [];
  for await (const file of files) {
    try {
      const body = { fields: {}, file: { ...file, field: "attachment" } };
      await call(operation, { params, body });
    } catch (error) {
      file.stream.resume();
      if (!(error instanceof AppError) || !formRefusals.includes(error.code)) throw error;
      reasons.push(`${file.filename ?? "a file"} was not attached: ${toSentence(error)}`);
    }
  }
  if (reasons.length > 0) throw new AppError("unprocessable", reasons.join(" "));
}
