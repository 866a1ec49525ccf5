import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import { AppError } from "../../../errors.ts";
import { type Received, receiveBody, uploadTooLarge } from "../../../utilities/receive-body.ts";

/** A received form of an upload. The caller must discard its file in every case. */
export interface PypiUpload {
  /** The values of each field, in the order in which they arrived. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly filename: string;
  readonly received: Received;
}

/** A form has a field for each classifier and requirement. */
const FIELDS_MAX = 2_000;
/** All fields of a form in characters; the description is the largest. */
const FIELDS_LENGTH_MAX = 1024 * 1024;
/** The bytes of a form without its file. */
export const FORM_BYTES_MAX = FIELDS_LENGTH_MAX * 4;
const HEADER_PAIRS_MAX = 32;

/**
 * Reads the form of an upload in any order of its parts, and writes its file `content` to the object store as it arrives; other files,
 * such as a signature, are dropped. Refuses an aborted or invalid form with `invalid_argument`, long fields and a long file with
 * `too_large`. A refusal leaves no object.
 */
export async function readUploadForm(
  store: ObjectStore,
  { headers, stream }: { readonly headers: IncomingHttpHeaders; readonly stream: Readable },
  bytesMax: number,
): Promise<PypiUpload> {
  const declared = Number(headers["content-length"] ?? 0);
  if (declared > bytesMax + FORM_BYTES_MAX) throw uploadTooLarge(bytesMax);
  const parser = openParser(headers, bytesMax);
  const fields = new Map<string, string[]>();
  const whole = Promise.withResolvers<void>();
  let length = 0;
  let hasFailed = false;
  let content: { filename: string; part: Readable; receiving: Promise<Received> } | undefined;

  const fail = (cause: unknown) => {
    const error =
      cause instanceof AppError || (cause instanceof Error && "syscall" in cause)
        ? cause
        : invalidForm("the form is malformed", cause);
    hasFailed = true;
    stream.unpipe(parser);
    content?.part.destroy(error);
    whole.reject(error);
  };
  parser.on("field", (name, value, isNameCut, isValueCut) => {
    length += name.length + value.length;
    if (isNameCut || isValueCut || length > FIELDS_LENGTH_MAX)
      return fail(
        new AppError("too_large", `The fields are longer than ${FIELDS_LENGTH_MAX} characters.`),
      );
    const values = fields.get(name);
    if (values === undefined) fields.set(name, [value]);
    else values.push(value);
  });
  parser.on("file", (field, part, filename) => {
    part.on("error", fail);
    // The parser goes on with the chunk in which the form failed.
    if (field !== "content" || hasFailed) return part.resume();
    if (content !== undefined) return fail(invalidForm("the form has more than one file"));
    part.on("limit", () => part.destroy(uploadTooLarge(bytesMax)));
    const receiving = receiveBody(store, part, { bytesMax, declaredBytes: undefined });
    receiving.catch(fail);
    content = { filename, part, receiving };
  });
  for (const limit of ["fieldsLimit", "filesLimit", "partsLimit"] as const)
    parser.on(limit, () => fail(invalidForm("the form has too many parts")));
  parser.on("finish", () => whole.resolve());
  parser.on("error", fail);
  const cut = (cause?: unknown) => {
    if (!stream.readableEnded) fail(invalidForm("the form did not arrive whole", cause));
  };
  stream.once("error", cut);
  stream.once("close", cut);
  // Its events are over when the client has left before.
  if (stream.destroyed) cut(stream.errored ?? undefined);
  stream.pipe(parser);
  try {
    await whole.promise;
    if (content === undefined) throw invalidForm("the form has no file content");
    return { fields, filename: content.filename, received: await content.receiving };
  } catch (error) {
    await (await content?.receiving.catch(() => undefined))?.discard();
    throw error;
  } finally {
    stream.off("error", cut);
    stream.off("close", cut);
  }
}

function openParser(headers: IncomingHttpHeaders, fileSize: number) {
  if (headers["content-type"]?.toLowerCase().startsWith("multipart/form-data") !== true)
    throw invalidForm("send the file as multipart/form-data");
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: {
        files: 2,
        fields: FIELDS_MAX,
        parts: FIELDS_MAX + 3,
        fieldSize: FIELDS_LENGTH_MAX,
        fieldNameSize: 256,
        headerPairs: HEADER_PAIRS_MAX,
        fileSize,
      },
      // Without it the parser reduces a path to its last part: such a name is refused instead.
      preservePath: true,
    });
  } catch (error) {
    throw invalidForm("the form is malformed", error);
  }
}

const invalidForm = (text: string, cause?: unknown): AppError =>
  new AppError("invalid_argument", text, { cause });
