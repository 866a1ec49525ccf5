import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestReport } from "../http/bind.ts";
import type { BodyBudgets } from "../http/body-memory.ts";
import { createByteSender } from "../http/bytes.ts";
import type { BytesAnswer, ServerRequest } from "../http/handle.ts";
import { writeAnswer } from "../http/replies.ts";
import { readFileParts } from "../http/file-parts.ts";
import {
  closeAfterUnreadBody,
  cutRevokedBody,
  cutStalledBody,
  readWholeBody,
} from "../http/request-body.ts";
import type { PartHandler } from "../http/server.ts";
import { wantsHtml } from "./is-page.ts";
import { compressBody } from "./compression.ts";
import { AppError } from "../errors.ts";
import type { AnswerPage, FormBody } from "./page-handler.ts";

/** Maximum number of files of one form, and of its fields. */
const FORM_PARTS_MAX = 1_000;
/** Bytes of a refused file that are read to reach the next one. */
const SKIPPED_BYTES_MAX = 16 * 1024 * 1024;

/** Serves the pages of a site; a client that wants no HTML gets a plain text for an unknown address. */
export function createPageServer({
  siteName,
  answerPage,
  toServerRequest,
  bodies,
  addressKey,
  uploadBytesMax,
  report,
}: {
  /** Names the site in the log. */
  readonly siteName: string;
  readonly answerPage: AnswerPage;
  readonly toServerRequest: (message: IncomingMessage, response: ServerResponse) => ServerRequest;
  readonly bodies: BodyBudgets;
  readonly addressKey: (address: string) => string;
  /** Maximum size of a file in a form. */
  readonly uploadBytesMax: number;
  readonly report: (result: RequestReport) => void;
}): PartHandler {
  const sendBytes = createByteSender({});
  return serve;

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = toServerRequest(message, response);
    const memory = bodies.anonymous(addressKey(request.address));
    const page = await answerPage(request, {
      whole: (maxBytes) => readWholeBody(message, { maxBytes, memory }),
      parts: (isStillSignedIn) => readParts(message, isStillSignedIn),
    } satisfies FormBody).finally(() => memory.release());
    if (response.destroyed) {
      if (typeof page.body === "object") page.body.bytes.release?.();
      report({ request, route: siteName, status: page.status, error: undefined });
      return;
    }
    closeAfterUnreadBody(message, response);
    if (typeof page.body === "object") {
      await sendFile(request, response, page.headers, page.body);
      return;
    }
    const isPlain = page.status === 404 && !wantsHtml(message.headers.accept);
    const body = isPlain ? "404 page not found\n" : page.body;
    const headers = { ...page.headers, "X-Request-Id": request.id, ...(isPlain ? PLAIN : {}) };
    const compressed = isPlain ? undefined : await compressBody(page, message.headers);
    if (compressed === undefined) writeAnswer(response, page.status, headers, body, "");
    else writeBytes(response, page.status, { ...headers, ...compressed.headers }, compressed.bytes);
    report({ request, route: siteName, status: page.status, error: undefined });
  }

  async function readParts(message: IncomingMessage, isStillSignedIn: () => Promise<boolean>) {
    cutStalledBody(message);
    await cutRevokedBody(message, isStillSignedIn);
    return readFileParts(message, {
      filesMax: FORM_PARTS_MAX,
      bytesMax: Infinity,
      fileBytesMax: uploadBytesMax,
      skippedBytesMax: SKIPPED_BYTES_MAX,
      toMalformed: (text, cause) => new AppError("invalid_argument", text, { cause }),
    });
  }

  async function sendFile(
    request: ServerRequest,
    response: ServerResponse,
    common: Readonly<Record<string, string>>,
    answer: BytesAnswer,
  ): Promise<void> {
    const headers = { ...common, ...answer.headers, "X-Request-Id": request.id };
    try {
      const status = await sendBytes(request, response, { ...answer, headers });
      report({ request, route: siteName, status, error: undefined });
    } catch (error) {
      response.destroy();
      report({ request, route: siteName, status: 500, error });
    }
  }
}

function writeBytes(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  bytes: Buffer,
): void {
  // The client may have disconnected during the compression.
  if (response.destroyed) return;
  response.writeHead(status, { ...headers, "Content-Length": bytes.byteLength });
  response.end(response.req.method === "HEAD" ? undefined : bytes);
}

const PLAIN = { "Content-Type": "text/plain; charset=utf-8" } as const;
