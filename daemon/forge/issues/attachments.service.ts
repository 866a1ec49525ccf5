import type { Readable } from "node:stream";
import type { Database, Queries } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import {
  countAttachments,
  countDownload,
  deleteAttachment,
  findAttachment,
  findAttachmentByUuid,
  type ForgeAttachment,
  insertAttachment,
  listAttachmentsOfComments,
  listAttachmentsOfIssue,
  renameAttachment,
} from "../../../storage/tables/forge/issues/attachments.ts";
import { findIssueById, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { writeIfPossible } from "../../utilities/within.ts";
import { receivePlainBody } from "../../utilities/receive-body.ts";
import { assertTokenScope } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound, orNotFound } from "../refusals.ts";
import { findShownType } from "../shown-type.ts";
import { toFileName, type UploadedFile } from "../uploaded-file.ts";
import { assertMayChange, assertUnlocked, openIssueOrComment, readsKind } from "./issue-access.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { GrantedRepository } from "../opened.ts";
import type { IssueOrComment } from "./issue-requests.ts";
import { type UserId, type CommentId, toAttachmentId } from "../../../storage/tables/forge/ids.ts";
import { openObject } from "../../utilities/open-object.ts";

/** An attachment with its bytes. */
export interface OpenedAttachment {
  readonly attachment: ForgeAttachment;
  /** Opens the bytes from `start` to `end`, both included. Refuses with `unavailable` when they are missing or damaged. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

export interface AttachmentsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly newUuid: () => string;
  /** Maximum bytes of any upload. */
  readonly uploadBytesMax: number;
}

/** Largest file that can be attached. */
export const FILE_BYTES_MAX = 100 * 1024 * 1024;
/** Maximum number of files of one issue, including those of its comments. */
const FILES_MAX = 1_000;
/** Maximum number of files of an issue itself, or of one comment: lists of issues include all of them. */
export const FILES_OF_PARENT_MAX = 20;

export type Attachments = ReturnType<typeof createAttachments>;

/**
 * Files of issues and comments. Every function refuses with `not_found` a missing one. Changes refuse with `forbidden` a
 * caller who is neither the author of the issue or comment nor has write access.
 */
export function createAttachments({ db, store, newUuid, uploadBytesMax }: AttachmentsDeps) {
  const bytesMax = Math.min(FILE_BYTES_MAX, uploadBytesMax);
  return {
    async list(opened: GrantedRepository, at: IssueOrComment): Promise<readonly ForgeAttachment[]> {
      return listOf(db, await openParent(db, opened, at));
    },

    async get(opened: GrantedRepository, at: IssueOrComment, id: number): Promise<ForgeAttachment> {
      return getOf(db, await openParent(db, opened, at), id);
    },

    /** Refuses as `create` does, before the body is read. Returns the maximum size of the file. */
    async admit(
      opened: GrantedRepository,
      at: IssueOrComment,
      caller: ForgeCaller,
    ): Promise<{ fileBytesMax: number; toRefusal(): AppError }> {
      await openForFile(db, opened, at, caller);
      return {
        fileBytesMax: bytesMax,
        toRefusal: () => new AppError("too_large", `The file is larger than ${bytesMax} bytes.`),
      };
    },

    /** Attaches a file. Refuses with `unprocessable` more files than allowed, with `too_large` a file that is too large. */
    async create(
      opened: GrantedRepository,
      at: IssueOrComment,
      caller: ForgeCaller,
      file: UploadedFile,
    ): Promise<ForgeAttachment> {
      await openForFile(db, opened, at, caller);
      const name = toFileName(file.name);
      const options = { bytesMax, declaredBytes: file.size };
      const received = await receivePlainBody(store, file.stream, options);
      try {
        const { sha256, size } = received.digests;
        await received.publish();
        const { contentType } = await findShownType(received.head);
        return await db.transaction(async (tx) => {
          // Other files of the issue arrived, and its rules changed, while the bytes of this one did.
          const { issue, commentId } = await openForFile(
            tx,
            await reopenRepository(tx, opened),
            at,
            caller,
          );
          return insertAttachment(tx, {
            uuid: newUuid(),
            issueId: issue.id,
            commentId,
            uploaderId: caller.user.id,
            name,
            sha256,
            size,
            contentType,
          });
        });
      } finally {
        await received.discard();
      }
    },

    /** Renames a file; an empty name keeps the current one. */
    async rename(
      opened: GrantedRepository,
      at: IssueOrComment,
      caller: ForgeCaller,
      { id, name }: { readonly id: number; readonly name: string },
    ): Promise<ForgeAttachment> {
      return db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const found = await getOf(tx, await openForChange(tx, owned, at, caller), id);
        if (name === "") return found;
        return orNotFound(await renameAttachment(tx, found.id, toFileName(name)));
      });
    },

    async remove(
      opened: GrantedRepository,
      at: IssueOrComment,
      caller: ForgeCaller,
      id: number,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const found = await getOf(tx, await openForChange(tx, owned, at, caller), id);
        await deleteAttachment(tx, found.id);
      });
    },

    /** Opens a file by the UUID in its address for callers who may read its issue. Counts complete downloads. */
    async open(uuid: string, caller: ForgeCaller | undefined): Promise<OpenedAttachment> {
      const attachment = await findAttachmentByUuid(db, uuid.toLowerCase());
      if (attachment === undefined) throw notFound();
      assertTokenScope(caller?.scope, "read", "issue");
      await assertReadable(attachment, caller);
      return {
        attachment,
        async open(range) {
          if (range === undefined) await writeIfPossible(() => countDownload(db, attachment.id));
          return openObject(store, attachment, "file", range);
        },
      };
    },
  };

  /** An issue or comment with its repository. */
  interface Parent {
    readonly owned: GrantedRepository;
    readonly issue: ForgeIssue;
    readonly commentId: CommentId | undefined;
    readonly authorId: UserId | undefined;
  }

  async function openParent(
    queries: Queries,
    owned: GrantedRepository,
    at: IssueOrComment,
  ): Promise<Parent> {
    const { issue, comment } = await openIssueOrComment(queries, owned, at);
    return { owned, issue, commentId: comment?.id, authorId: (comment ?? issue).authorId };
  }

  async function openForChange(
    queries: Queries,
    owned: GrantedRepository,
    at: IssueOrComment,
    caller: ForgeCaller,
  ): Promise<Parent> {
    const parent = await openParent(queries, owned, at);
    assertMayChange(owned, parent.authorId, caller.user);
    return parent;
  }

  /** Opens an issue or comment for one more file. */
  async function openForFile(
    queries: Queries,
    owned: GrantedRepository,
    at: IssueOrComment,
    caller: ForgeCaller,
  ): Promise<Parent> {
    const parent = await openForChange(queries, owned, at, caller);
    assertUnlocked(parent.owned, parent.issue);
    const ofParent = (await listOf(queries, parent)).length;
    if (ofParent >= FILES_OF_PARENT_MAX)
      throw new AppError("unprocessable", `it has ${FILES_OF_PARENT_MAX} attachments already`);
    if ((await countAttachments(queries, parent.issue.id)) >= FILES_MAX)
      throw new AppError("unprocessable", `the issue has ${FILES_MAX} attachments already`);
    return parent;
  }

  async function listOf(
    queries: Queries,
    { issue, commentId }: Parent,
  ): Promise<readonly ForgeAttachment[]> {
    if (commentId === undefined) return listAttachmentsOfIssue(queries, issue.id);
    return (await listAttachmentsOfComments(queries, [commentId])).get(commentId) ?? [];
  }

  async function getOf(
    queries: Queries,
    { issue, commentId }: Parent,
    id: number,
  ): Promise<ForgeAttachment> {
    const found = await findAttachment(queries, issue.id, toAttachmentId(id));
    if (found === undefined || found.commentId !== commentId) throw notFound();
    return found;
  }

  async function assertReadable(
    { issueId }: ForgeAttachment,
    caller: ForgeCaller | undefined,
  ): Promise<void> {
    const issue = await findIssueById(db, issueId);
    const repository = issue && (await findRepositoryById(db, issue.repositoryId));
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (issue === undefined || repository === undefined || owner === undefined) throw notFound();
    if (!(await readsKind(db, { repository, owner }, caller, issue))) throw notFound();
  }
}
