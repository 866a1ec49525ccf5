import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { describeIssue } from "../../../contract/issue-text.ts";
import { toMediaType } from "../../../contract/media-type.ts";
import { itemName } from "../../../contract/vault/cloud/shapes.ts";
import type { MultipartForm } from "../../../http/handle.ts";
import { toFieldError } from "../field-error.ts";
import type { ReplaceInput } from "./replacements.service.ts";
import type { Upload } from "./uploads.service.ts";

/**
 * The file of an upload form. Its name is the field `filename`, else the file's own, else `upload`.
 * Refuses with `unprocessable` a form without a file in `file`, and a name that breaks the rules.
 */
export function readUpload(
  form: MultipartForm<{
    readonly parent_ref?: string | undefined;
    readonly filename?: string | undefined;
  }>,
): Upload {
  const { fields, file } = form;
  if (file === undefined || file.field !== "file") {
    file?.stream.resume();
    throw toFieldError(["body", "file"], "The form needs a file in the field file.", "missing");
  }
  const filename = fields.filename || file.filename || "upload";
  const name = itemName.safeParse(filename, { error: describeIssue });
  if (!name.success) {
    file.stream.resume();
    throw toFieldError(
      ["body", "filename"],
      name.error.issues[0]?.message ?? "Not a name",
      "invalid_name",
    );
  }
  return {
    parentRef: fields.parent_ref,
    name: name.data,
    contentType: file.contentType,
    content: file.stream,
    size: file.size,
  };
}

/** The new bytes of a file: the body of the request, with the type and length from its headers. */
export function readReplacement(content: Readable, headers: IncomingHttpHeaders): ReplaceInput {
  const length = headers["content-length"];
  return {
    ifMatch: headers["if-match"],
    content,
    size: length === undefined ? undefined : Number(length),
    contentType: toMediaType(headers["content-type"]),
  };
}
