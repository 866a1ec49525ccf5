import type { Readable } from "node:stream";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  breakAllLinkDownloads,
  countDownload,
  deleteExpiredLinkDownloads,
  endLinkDownload,
  findLinkBySecret,
  insertLinkDownload,
  type LinkKind,
  resumeLinkDownload,
  type VaultLink,
} from "../../../storage/tables/vault/links.ts";
import { AppError } from "../../errors.ts";
import type { Log } from "../../utilities/logging.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import { type LinkSecrets, toSecretHash } from "./link-secrets.ts";
import { findLinkTarget, type LinkTarget, toLinkStatus } from "./link-targets.ts";
import type { LinkNotices } from "./notices.ts";
import type { LinkContents, SentFile } from "./link-contents.ts";

/** Who opens a link. */
export interface Visitor {
  readonly address: string;
  /** The cookie of a visitor who has given the password. */
  readonly pass: string | undefined;
}

/** What a visitor finds at an address. */
export type Visit =
  /** No such link: unknown, revoked, its target deleted, its owner deactivated, or links are switched off. */
  | { readonly kind: "missing" }
  | { readonly kind: "ended"; readonly link: VaultLink }
  /** The password is missing. */
  | { readonly kind: "locked"; readonly link: VaultLink }
  | {
      readonly kind: "open";
      readonly link: VaultLink;
      /** Undefined for a link that receives files. */
      readonly target: LinkTarget | undefined;
      /** Whether all downloads are used; one that broke off may still be repeated. */
      readonly isUsedUp: boolean;
    };

export type LinkVisits = ReturnType<typeof createLinkVisits>;

export interface LinkVisitsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly hasher: Pick<PasswordHasher, "verify">;
  readonly secrets: Pick<LinkSecrets, "createPass" | "isPass">;
  readonly contents: LinkContents;
  readonly notices: Pick<LinkNotices, "note">;
  readonly limiter: {
    consumeAll(
      hits: readonly {
        readonly key: string;
        readonly rule: { readonly max: number; readonly seconds: number };
      }[],
    ): Promise<{ readonly allowed: boolean; readonly resetSeconds: number }>;
    addressKey(address: string): string;
  };
  readonly log: Pick<Log, "warn">;
  /** Whether the administrator allows links. */
  readonly isEnabled: boolean;
}

const GUESSES_OF_ADDRESS = { max: 10, seconds: 60 } as const;
const GUESSES_OF_LINK = { max: 30, seconds: 60 } as const;
/** How long a download of a link with a limit may be repeated after it broke off. */
const REPEAT_MS = 3_600_000;

/** The use of links by people without an account. */
export function createLinkVisits(deps: LinkVisitsDeps) {
  const { db, clock, secrets } = deps;

  return {
    open,

    /**
     * Checks a password; returns the pass that opens the link in this browser, undefined for a wrong password. Throws
     * `rate_limited` from the 11th guess a minute of an address on, and from the 31st of a link.
     */
    async unlock(
      kind: LinkKind,
      secret: string,
      { address }: Visitor,
      password: string,
    ): Promise<string | undefined> {
      const visit = await open(kind, secret, { address, pass: undefined });
      if (visit.kind !== "locked") return undefined;
      const { link } = visit;
      const { allowed, resetSeconds } = await deps.limiter.consumeAll([
        { key: `vault.link:${link.id}`, rule: GUESSES_OF_LINK },
        {
          key: `vault.link-address:${deps.limiter.addressKey(address)}`,
          rule: GUESSES_OF_ADDRESS,
        },
      ]);
      if (!allowed)
        throw new AppError(
          "rate_limited",
          `Too many attempts. Try again in ${resetSeconds} seconds.`,
          { retryAfterSeconds: resetSeconds },
        );
      const { fits } = await deps.hasher.verify(link.passwordHash ?? "", password);
      return fits ? secrets.createPass(link) : undefined;
    },

    /**
     * Opens the bytes of a link and counts the download; ranges that follow its beginning are part of it. A link with a limit
     * gives each counted download once: to repeat one that broke off, the same address has an hour. Returns undefined when
     * nothing is left. `isCounted` is false for HEAD, which gets no bytes.
     */
    async download(
      { link, target }: Extract<Visit, { kind: "open" }>,
      { address }: Visitor,
      { isCounted, isBeginning }: { readonly isCounted: boolean; readonly isBeginning: boolean },
    ): Promise<SentFile | undefined> {
      if (target === undefined) return undefined;
      const content = await deps.contents.open(link, target);
      let begun: string | undefined;
      try {
        if (!isCounted || (link.maxDownloads === undefined && !isBeginning)) return content;
        const found = await db.transaction((tx) => begin(tx, link, address));
        if (!found.isAllowed) {
          content.release?.();
          return undefined;
        }
        begun = found.downloadId;
      } catch (error) {
        content.release?.();
        throw error;
      }
      return begun === undefined ? content : watched(content, begun);
    },

    /** Lets downloads be repeated that a killed daemon was sending. For the start. */
    async recover(): Promise<void> {
      // Other daemons on one PostgreSQL may be sending; there, downloads expire.
      if (db.dialect === "sqlite") await breakAllLinkDownloads(db);
    },

    /** Forgets downloads that may no longer be repeated. For a scheduled task. */
    deleteExpired: (): Promise<number> => deleteExpiredLinkDownloads(db, clock()),
  };

  async function open(kind: LinkKind, secret: string, visitor: Visitor): Promise<Visit> {
    const link = await findLinkBySecret(db, toSecretHash(secret));
    if (!deps.isEnabled || link?.kind !== kind) return { kind: "missing" };
    const target = await findLinkTarget(db, link);
    const status = toLinkStatus(link, target, clock());
    if (status === "unavailable") return { kind: "missing" };
    const isOpen =
      link.passwordHash === undefined ||
      (visitor.pass !== undefined && secrets.isPass(link, visitor.pass));
    if (!isOpen) return { kind: "locked", link };
    const isUsedUp = status === "used_up";
    if (status === "expired" || (isUsedUp && link.kind === "upload"))
      return { kind: "ended", link };
    return { kind: "open", link, target, isUsedUp };
  }

  async function begin(
    tx: Transaction,
    link: VaultLink,
    address: string,
  ): Promise<{ readonly isAllowed: boolean; readonly downloadId?: string }> {
    const { id: linkId, maxDownloads } = link;
    const expiresAt = tx.now + REPEAT_MS;
    if (maxDownloads !== undefined) {
      const resumed = await resumeLinkDownload(tx, { linkId, address }, expiresAt);
      if (resumed !== undefined) return { isAllowed: true, downloadId: resumed };
    }
    if (!(await countDownload(tx, linkId))) return { isAllowed: false };
    await insertAudit(tx, {
      eventType: "share.link_downloaded",
      userId: link.ownerId,
      resourceId: linkId,
      ipAddress: address,
      metadata: { name: link.name },
    });
    await deps.notices.note(tx, link);
    if (maxDownloads === undefined) return { isAllowed: true };
    const downloadId = deps.newId();
    await insertLinkDownload(tx, { id: downloadId, linkId, address, state: "sending", expiresAt });
    return { isAllowed: true, downloadId };
  }

  /** Returns the bytes; when they are released, their download ends: complete if the last byte was sent. */
  function watched(content: SentFile, downloadId: string): SentFile {
    let isComplete = content.size === 0;
    return {
      ...content,
      buffer: undefined,
      send: undefined,
      async open(range): Promise<Readable> {
        const stream = await content.open(range);
        const reachesEnd =
          range === undefined || content.size === undefined || range.end >= content.size - 1;
        stream.once("end", () => (isComplete ||= reachesEnd));
        return stream;
      },
      release() {
        content.release?.();
        endLinkDownload(db, downloadId, { isComplete }).catch((error: unknown) => {
          deps.log.warn({ err: error }, "failed to record the end of a download");
        });
      },
    };
  }
}
