import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Refusal } from "./google-drive-language.ts";

/** A running resumable upload. */
export interface UploadSession {
  readonly account: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly contentType: string;
  readonly fields: string;
  readonly parts: Buffer[];
  received: number;
  total: number | undefined;
  /** The id of the file, once it is one. */
  done: string | undefined;
}

/** The sessions of the stand-in. */
export interface UploadSessions {
  open(session: Omit<UploadSession, "parts" | "received" | "done">): string;
  find(id: string): UploadSession;
  /**
   * Receives a piece; `complete` when all bytes have arrived. The bytes of an interrupted piece are kept in units of
   * 256 KiB. `room` is the number of bytes that still fit.
   */
  put(
    session: UploadSession,
    request: IncomingMessage,
    room: number,
  ): Promise<"complete" | "incomplete">;
  close(id: string): void;
  /** Sessions that are neither finished nor discarded. */
  list(): readonly string[];
}

const UNIT = 256 * 1024;

export function createUploadSessions(): UploadSessions {
  const sessions = new Map<string, UploadSession>();

  return {
    open(session) {
      const id = `A${randomBytes(30).toString("base64url")}`;
      sessions.set(id, { ...session, parts: [], received: 0, done: undefined });
      return id;
    },

    find(id) {
      const session = sessions.get(id);
      if (session === undefined) throw new Refusal(404, "notFound", "Upload session not found");
      return session;
    },

    async put(session, request, room) {
      const range = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(
        request.headers["content-range"] ?? "",
      );
      if (range === null)
        throw new Refusal(400, "badContent", "Failed to parse Content-Range header");
      const total = range[3] === "*" ? undefined : Number(range[3]);
      if (session.total !== undefined && total !== undefined && total !== session.total)
        throw new Refusal(400, "badContent", "The total has changed");
      session.total ??= total;
      if (range[1] !== undefined) {
        const [start, end] = [Number(range[1]), Number(range[2])];
        const isLast = session.total !== undefined && end + 1 === session.total;
        if (!isLast && (end + 1 - start) % UNIT !== 0)
          throw new Refusal(400, "badContent", "Pieces must be multiples of 256 KiB");
        if (start !== session.received)
          throw new Refusal(400, "badContent", "The piece does not begin where the last one ended");
        await take(session, request, end + 1 - start, room);
      }
      return session.received === session.total ? "complete" : "incomplete";
    },

    close: (id) => void sessions.delete(id),
    list: () => [...sessions].filter(([, { done }]) => done === undefined).map(([id]) => id),
  };
}

async function take(
  session: UploadSession,
  request: IncomingMessage,
  length: number,
  room: number,
): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  let isCut = false;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
    }
  } catch {
    isCut = true;
  }
  isCut ||= size < length;
  if (size > length) throw new Refusal(400, "badContent", "More bytes than the range has");
  if (session.received + size > room)
    throw new Refusal(
      403,
      "storageQuotaExceeded",
      "The user's Drive storage quota has been exceeded.",
    );
  const kept = Buffer.concat(chunks).subarray(0, isCut ? size - (size % UNIT) : size);
  session.parts.push(kept);
  session.received += kept.length;
  if (isCut) throw new Refusal(400, "badContent", "The body was cut");
}
