import type { z } from "zod";
import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { findDocument } from "../../../storage/tables/vault/documents/documents.ts";
import { listVisibleTopics } from "../../../storage/tables/vault/documents/topics.ts";
import type { ConnectionId, DocumentId } from "../../../storage/tables/vault/ids.ts";
import {
  countLinks,
  deleteLink,
  findLink,
  insertLink,
  type LinkKind,
  listLinkDocuments,
  listLinks,
  listLinkTopics,
  setLinkTopics,
  updateLink,
  type VaultLink,
} from "../../../storage/tables/vault/links.ts";
import { AppError } from "../../errors.ts";
import type { linkEndpoints } from "../../contract/vault/links.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import { toAudit, type VaultCaller } from "../caller.ts";
import { toFieldError } from "../cloud/field-error.ts";
import type { CloudItems } from "../cloud/items/items.service.ts";
import { documentNotFound } from "../documents/documents.service.ts";
import type { PageRequest } from "../page.ts";
import type { LinkSecrets } from "./link-secrets.ts";
import { findLinkTarget, type LinkTarget } from "./link-targets.ts";

/** A link with what its owner sees of it. */
export interface LinkDetail {
  readonly link: VaultLink;
  readonly target: LinkTarget | undefined;
  /** The path of the address; undefined when the secret cannot be read. */
  readonly path: string | undefined;
  readonly documentIds: readonly DocumentId[];
  readonly topicIds: readonly string[];
}

export type NewLinkInput = z.output<(typeof linkEndpoints.createLink)["body"] & z.ZodType>;
export type LinkChangeInput = z.output<(typeof linkEndpoints.updateLink)["body"] & z.ZodType>;

export type Links = ReturnType<typeof createLinks>;

export interface LinksDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly hasher: Pick<PasswordHasher, "hash">;
  readonly secrets: LinkSecrets;
  readonly items: Pick<CloudItems, "get">;
  /** Whether the administrator allows links. */
  readonly isEnabled: boolean;
}

const LIFE_MS = 7 * 24 * 3_600_000;
/** Largest number of links of an account; only a faulty program has more. */
const LINKS_PER_USER_MAX = 10_000;

/** Links for people without an account. Another user's link is `not_found`, like a missing one. */
export function createLinks(deps: LinksDeps) {
  const { db, clock, secrets } = deps;

  return {
    /**
     * Throws `forbidden` where links are switched off, `not_found` for a target that is not the caller's, `unprocessable` for
     * values that do not fit the kind of link.
     */
    async create(caller: VaultCaller, input: NewLinkInput): Promise<LinkDetail> {
      if (!deps.isEnabled)
        throw new AppError("forbidden", "The administrator has switched links off.");
      assertFits(input.kind, input);
      assertFuture(input.expires_at, clock());
      const target = await toTarget(caller, input);
      const passwordHash = await hashPassword(input.password);
      const id = deps.newId();
      const { secretHash, sealedSecret } = secrets.create(id);
      await db.transaction(async (tx) => {
        if ((await countLinks(tx, caller.userId)) >= LINKS_PER_USER_MAX)
          throw new AppError(
            "conflict",
            `An account has at most ${LINKS_PER_USER_MAX} links. Revoke some.`,
          );
        for (const document of [target.documentId ?? [], target.documentIds].flat())
          await assertOwn(tx, caller, document);
        const topicIds = await toTopicIds(tx, caller, input.topic_ids ?? []);
        await insertLink(tx, {
          id,
          ownerId: caller.userId,
          kind: input.kind,
          name: input.name ?? "",
          ...target,
          secretHash,
          sealedSecret,
          passwordHash,
          expiresAt:
            input.expires_at === undefined ? tx.now + LIFE_MS : (input.expires_at ?? undefined),
          maxDownloads: input.max_downloads ?? undefined,
          maxFiles: input.max_files ?? undefined,
          maxBytes: input.max_bytes ?? undefined,
          message: input.message ?? undefined,
          topicIds,
        });
        const metadata = {
          kind: input.kind,
          ...(target.documentId === undefined ? {} : { document_id: target.documentId }),
          ...(target.documentIds.length === 0 ? {} : { document_ids: target.documentIds }),
          ...(input.connection_id === undefined
            ? {}
            : { connection_id: input.connection_id, provider_item_id: input.item_id }),
          has_password: passwordHash !== undefined,
        };
        await insertAudit(tx, toAudit(caller, "share.link_created", id, metadata));
      });
      return toDetail(await getOwn(db, caller, id));
    },

    async list(
      caller: VaultCaller,
      {
        kind,
        document_id: documentId,
      }: {
        readonly kind?: LinkKind | undefined;
        readonly document_id?: DocumentId | undefined;
      },
      { page, perPage }: PageRequest,
    ): Promise<{ readonly links: readonly LinkDetail[]; readonly total: number }> {
      const window = { limit: perPage, offset: (page - 1) * perPage };
      const found = await listLinks(db, caller.userId, { kind, documentId }, window);
      const links: LinkDetail[] = [];
      for (const link of found.links) links.push(await toDetail(link));
      return { links, total: found.total };
    },

    get: async (caller: VaultCaller, id: string): Promise<LinkDetail> =>
      toDetail(await getOwn(db, caller, id)),

    async update(caller: VaultCaller, id: string, input: LinkChangeInput): Promise<LinkDetail> {
      const before = await getOwn(db, caller, id);
      assertFits(before.kind, input);
      assertFuture(input.expires_at, clock());
      const passwordHash = await hashPassword(input.password);
      await db.transaction(async (tx) => {
        await getOwn(tx, caller, id);
        await updateLink(tx, id, {
          ...(input.name === undefined ? {} : { name: input.name }),
          ...(input.password === undefined ? {} : { passwordHash }),
          ...(input.expires_at === undefined ? {} : { expiresAt: input.expires_at ?? undefined }),
          ...(input.max_downloads === undefined
            ? {}
            : { maxDownloads: input.max_downloads ?? undefined }),
          ...(input.max_files === undefined ? {} : { maxFiles: input.max_files ?? undefined }),
          ...(input.max_bytes === undefined ? {} : { maxBytes: input.max_bytes ?? undefined }),
          ...(input.message === undefined ? {} : { message: input.message ?? undefined }),
        });
        if (input.topic_ids !== undefined)
          await setLinkTopics(tx, id, await toTopicIds(tx, caller, input.topic_ids));
        const metadata = { changed: Object.keys(input) };
        await insertAudit(tx, toAudit(caller, "share.link_changed", id, metadata));
      });
      return toDetail(await getOwn(db, caller, id));
    },

    /** Takes effect with the next request of a visitor, the next range of a download included. */
    async revoke(caller: VaultCaller, id: string): Promise<void> {
      await db.transaction(async (tx) => {
        const { kind, downloads, files } = await getOwn(tx, caller, id);
        await deleteLink(tx, id);
        const metadata = { kind, downloads, files };
        await insertAudit(tx, toAudit(caller, "share.link_revoked", id, metadata));
      });
    },
  };

  async function toTarget(caller: VaultCaller, input: NewLinkInput) {
    const { document_id: documentId, document_ids: documentIds = [] } = input;
    if (input.connection_id === undefined || input.item_id === undefined)
      return { documentId, documentIds: [...new Set(documentIds)], itemId: undefined };
    const place = {
      connection_id: input.connection_id satisfies ConnectionId,
      item_id: input.item_id,
    };
    const { item } = await deps.items.get(caller, place);
    return { documentId, documentIds: [], itemId: item.id };
  }

  async function hashPassword(password: string | null | undefined): Promise<string | undefined> {
    return password === null || password === undefined ? undefined : deps.hasher.hash(password);
  }

  async function toDetail(link: VaultLink): Promise<LinkDetail> {
    const secret = secrets.read(link);
    return {
      link,
      target: await findLinkTarget(db, link),
      path: secret && `/${link.kind === "download" ? "s" : "r"}/${secret}`,
      documentIds: await listLinkDocuments(db, link.id),
      topicIds: await listLinkTopics(db, link.id),
    };
  }

  async function getOwn(from: Queries, caller: VaultCaller, id: string): Promise<VaultLink> {
    const link = await findLink(from, id);
    if (link?.ownerId !== caller.userId) throw new AppError("not_found", "Link not found");
    return link;
  }
}

async function assertOwn(tx: Transaction, caller: VaultCaller, id: DocumentId): Promise<void> {
  if ((await findDocument(tx, id))?.userId !== caller.userId) throw documentNotFound();
}

/** Returns the topics without repetitions. Throws `unprocessable` for one that the caller does not see. */
async function toTopicIds(
  tx: Transaction,
  caller: VaultCaller,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const visible = new Set((await listVisibleTopics(tx, caller.userId)).map(({ id }) => id));
  const unknown = ids.findIndex((id) => !visible.has(id));
  if (unknown !== -1)
    throw toFieldError(["body", "topic_ids", unknown], "There is no such topic.", "topic");
  return [...new Set(ids)];
}

/** Throws `unprocessable` for values that belong to the other kind of link, and for none or several targets. */
function assertFits(kind: LinkKind, input: Partial<NewLinkInput>): void {
  const foreign =
    kind === "download"
      ? (["max_files", "max_bytes", "topic_ids", "message"] as const)
      : (["document_id", "document_ids", "connection_id", "item_id", "max_downloads"] as const);
  const found = foreign.find((name) => input[name] !== undefined && input[name] !== null);
  if (found !== undefined)
    throw toFieldError(["body", found], `A link of kind ${kind} has no ${found}.`, "kind");
  if (!("kind" in input) || kind === "upload") return;
  if ((input.connection_id === undefined) !== (input.item_id === undefined)) {
    const name = input.item_id === undefined ? "item_id" : "connection_id";
    throw toFieldError(["body", name], "An item has a connection_id and an item_id.", "missing");
  }
  const targets = [input.document_id, input.document_ids, input.item_id];
  if (targets.filter((target) => target !== undefined).length !== 1)
    throw toFieldError(
      ["body", "document_id"],
      "A link has one target: document_id, document_ids, or connection_id and item_id.",
      "target",
    );
}

function assertFuture(expiresAt: number | null | undefined, now: number): void {
  if (expiresAt !== null && expiresAt !== undefined && expiresAt <= now)
    throw toFieldError(["body", "expires_at"], "The time is in the past.", "expiry");
}
