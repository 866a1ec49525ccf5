import type { Readable } from "node:stream";
import { cutToBytes } from "../../../storage/cloud/outcomes.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { setDocumentTopics } from "../../../storage/tables/vault/documents/topics.ts";
import {
  countReceived,
  findLink,
  listLinkTopics,
  type VaultLink,
} from "../../../storage/tables/vault/links.ts";
import { findVaultUser } from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import { toEssence } from "../cloud/bytes/previewable.ts";
import type { DocumentUploads } from "../documents/uploads.service.ts";
import { toLinkStatus } from "./link-targets.ts";
import type { LinkNotices } from "./notices.ts";

/** A file as a visitor sends it. */
export interface SentPart {
  /** Undefined for an empty choice. Untrusted. */
  readonly filename: string | undefined;
  readonly contentType: string | undefined;
  readonly stream: Readable;
  readonly size: number | undefined;
}

/** The result of sending files. */
export interface Receipt {
  readonly received: readonly string[];
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

export type LinkReceipts = ReturnType<typeof createLinkReceipts>;

export interface LinkReceiptsDeps {
  readonly db: Database;
  readonly uploads: Pick<DocumentUploads, "upload">;
  readonly notices: LinkNotices;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

const FILENAME_BYTES_MAX = 255;
/** Refusals that a thank-you lists; the rest are counted. */
const REFUSALS_SHOWN_MAX = 100;

/** Files that visitors send to links: they become documents of the owner, within the limits of the link and of the quota. */
export function createLinkReceipts({ db, uploads, notices, clock }: LinkReceiptsDeps) {
  return {
    /**
     * Receives the files of a form, one after the other. A file that is refused does not stop the others, until the link
     * takes no more, or the file goes on for too long: what follows is not read.
     */
    async receive(
      link: VaultLink,
      parts: AsyncIterable<SentPart>,
      address: string,
    ): Promise<Receipt> {
      const received: string[] = [];
      const refused: { readonly name: string; readonly reason: string }[] = [];
      try {
        for await (const part of parts) {
          // A form without a chosen file sends an empty part.
          if (part.filename === undefined) part.stream.resume();
          else {
            const name = toSafeName(part.filename);
            const refusal = await receiveFile(link, { ...part, name }, address);
            if (refusal === undefined) received.push(name);
            else if (refused.length < REFUSALS_SHOWN_MAX)
              refused.push({ name, reason: refusal.reason });
            if (refusal?.isFinal === true) break;
          }
        }
      } catch (error) {
        const last = refused.at(-1);
        if (!(error instanceof AppError) || error.code !== "too_large" || last === undefined)
          throw error;
        // The bytes of a refused file are not read to their end.
        const reason = `${last.reason}; files after it were not read, send them without it`;
        refused.splice(-1, 1, { ...last, reason });
      }
      return { received, refused };
    },
  };

  /** Returns the reason of a refusal, and whether it holds for every further file. */
  async function receiveFile(
    link: VaultLink,
    part: SentPart & { readonly name: string },
    address: string,
  ): Promise<{ readonly reason: string; readonly isFinal: boolean } | undefined> {
    const { stream } = part;
    try {
      // Read again for each file: the link may have been revoked, and other visitors use it, too.
      const present = await findLink(db, link.id);
      const owner = await findOwner(present, address);
      if (present === undefined || owner === undefined || !isActive(present)) {
        stream.destroy();
        return { reason: CLOSED, isFinal: true };
      }
      await uploads.upload(owner, {
        filename: part.name,
        contentType: toEssence(part.contentType) || "application/octet-stream",
        content: toLimited(stream, (present.maxBytes ?? Infinity) - present.receivedBytes),
        size: part.size,
        terms: {
          async admit(tx, bytes) {
            if ((await findLink(tx, link.id)) === undefined) return linkEnded();
            return (await countReceived(tx, link.id, bytes)) ? undefined : limitReached();
          },
          async record(tx, document) {
            const topicIds = await listLinkTopics(tx, link.id);
            if (topicIds.length > 0) await setDocumentTopics(tx, document.id, topicIds);
            await insertAudit(tx, {
              eventType: "share.link_received",
              userId: link.ownerId,
              resourceId: link.id,
              ipAddress: address,
              metadata: {
                document_id: document.id,
                filename: document.filename,
                size_bytes: document.sizeBytes,
              },
            });
            await notices.note(tx, present);
          },
        },
      });
      return undefined;
    } catch (error) {
      stream.destroy();
      if (!(error instanceof AppError) || error.code === "invalid_argument") throw error;
      return { reason: toReason(error), isFinal: false };
    }
  }

  function isActive(link: VaultLink): boolean {
    return toLinkStatus(link, undefined, clock()) === "active";
  }

  /** Returns the owner as the caller of the upload; undefined for a deactivated account and for an administrator. */
  async function findOwner(
    link: VaultLink | undefined,
    address: string,
  ): Promise<VaultCaller | undefined> {
    const owner = link && (await findVaultUser(db, link.ownerId));
    if (owner === undefined || !owner.isActive || owner.role !== "user") return undefined;
    const { id: userId, handle, email, role } = owner;
    return { userId, handle, email, role, sessionId: undefined, address };
  }
}

const CLOSED = "this link receives no more files";

/** What a visitor is told: nothing about the vault and its owner. */
function toReason({ code }: AppError): string {
  switch (code) {
    case "too_large":
      return "it is too large";
    case "conflict":
    case "not_found":
      return CLOSED;
    default:
      return "it could not be stored; try again later";
  }
}

const linkEnded = () => new AppError("not_found", "The link has ended.");
const limitReached = () => new AppError("conflict", "The link receives no more files.");

/** Passes the bytes on, and fails beyond `bytesMax`. */
function toLimited(stream: Readable, bytesMax: number): Readable {
  if (bytesMax === Infinity) return stream;
  let bytes = 0;
  const limited = stream.compose(async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw new AppError("too_large", "The link receives fewer bytes.");
      yield chunk;
    }
  });
  // The reader gets the error; without a reader it must not end the process.
  limited.on("error", () => undefined);
  return limited;
}

/** Returns a name that a document may have, of what a browser sends. */
export function toSafeName(sent: string): string {
  const last = sent.split(/[/\\]/).at(-1) ?? "";
  const whole = last
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/\p{Cc}/gu, "_")
    .trim();
  const name = cutToBytes(whole, FILENAME_BYTES_MAX);
  return name === "" || name === "." || name === ".." ? "file" : name;
}
