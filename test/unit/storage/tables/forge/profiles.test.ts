import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../../../../storage/engine/database.ts";
import {
  isObjectReferenced,
  listObjectReferences,
} from "../../../../../storage/tables/common/object-references.ts";
import {
  deleteAvatar,
  findAvatar,
  putAvatar,
} from "../../../../../storage/tables/forge/accounts/avatars.ts";
import {
  insertFollow,
  listFollowed,
  listFollowers,
} from "../../../../../storage/tables/forge/accounts/follows.ts";
import {
  deletePasswordReset,
  findPasswordReset,
  putPasswordReset,
} from "../../../../../storage/tables/forge/accounts/password-resets.ts";
import {
  deleteUser,
  findUserById,
  type ForgeUser,
  insertUser,
} from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  type UserId,
  type CommentId,
  type RepositoryId,
  toCommentId,
} from "../../../../../storage/tables/forge/ids.ts";
import {
  countDownload,
  findAttachmentByUuid,
  insertAttachment,
  listAttachmentsOfComments,
  listAttachmentsOfIssue,
  renameAttachment,
} from "../../../../../storage/tables/forge/issues/attachments.ts";
import { insertComment } from "../../../../../storage/tables/forge/issues/comments.ts";
import { insertIssue } from "../../../../../storage/tables/forge/issues/issues.ts";
import { listIssues } from "../../../../../storage/tables/forge/issues/lists.ts";
import {
  deleteRepository,
  findRepositoryById,
  insertRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import {
  insertStar,
  listMarkedRepositories,
  listMarkingUsers,
} from "../../../../../storage/tables/forge/repositories/stars.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";

const window = { limit: 10, offset: 0 };

describe.each(["sqlite", "postgres"] as const)("profiles and files, on %s", (engine) => {
  let db: Database;
  let count = 0;
  beforeAll(async () => {
    db = await openTestDatabase({ engine });
  });
  afterAll(() => db.close());

  const addUser = (more: Partial<Parameters<typeof newUserRow>[1]> = {}) =>
    db.transaction((tx) => insertUser(tx, newUserRow(`user${(count += 1)}`, more)));
  const addRepository = (owner: ForgeUser, more: Parameters<typeof newRepositoryRow>[2] = {}) =>
    db.transaction((tx) =>
      insertRepository(tx, newRepositoryRow(owner, `repo${(count += 1)}`, more)),
    );
  const addIssue = (repositoryId: RepositoryId, authorId: UserId) =>
    db.transaction((tx) =>
      insertIssue(tx, {
        repositoryId,
        authorId,
        title: "Torn",
        body: "",
        ref: "",
        isClosed: false,
        dueAt: undefined,
      }),
    );

  test("follows are counted once and leave the counts with a deleted account", async () => {
    const [mira, nora] = [await addUser(), await addUser()];
    const hidden = await addUser({ visibility: "private" });
    for (const follower of [mira, mira, hidden])
      await db.transaction((tx) =>
        insertFollow(tx, { followerId: follower.id, followedId: nora.id }),
      );
    expect((await findUserById(db, nora.id))?.followerCount).toBe(2);
    expect((await listFollowers(db, nora.id, undefined, window)).users).toHaveLength(1);
    expect((await listFollowers(db, nora.id, hidden, window)).total).toBe(2);
    expect((await listFollowed(db, mira.id, nora, window)).users).toMatchObject([{ id: nora.id }]);
    await db.transaction((tx) => deleteUser(tx, mira));
    expect((await findUserById(db, nora.id))?.followerCount).toBe(1);
  });

  test("stars are counted for users and repositories, and listed if the reader may read them", async () => {
    const [mira, nora] = [await addUser(), await addUser()];
    const [open, secret] = [
      await addRepository(mira),
      await addRepository(mira, { isPrivate: true }),
    ];
    for (const { id } of [open, open, secret])
      await db.transaction((tx) => insertStar(tx, { repositoryId: id, userId: nora.id }));
    expect((await findUserById(db, nora.id))?.starCount).toBe(2);
    expect((await findRepositoryById(db, open.id))?.starCount).toBe(1);
    const options = { reader: nora, isPublicOnly: false, window };
    const listed = await listMarkedRepositories(db, "star", nora.id, options);
    expect(listed).toMatchObject({ total: 1, repositories: [{ id: open.id }] });
    const readers = await listMarkingUsers(db, "star", open.id, { reader: mira, window });
    expect(readers.users).toMatchObject([{ id: nora.id }]);
    await db.transaction((tx) => deleteRepository(tx, open.id));
    expect((await findUserById(db, nora.id))?.starCount).toBe(1);
  });

  test("a picture is replaced, and its object is referenced until it is deleted", async () => {
    const mira = await addUser();
    const [first, second] = ["a".repeat(64), "b".repeat(64)];
    for (const sha256 of [first, second])
      await db.transaction((tx) =>
        putAvatar(tx, mira.id, { sha256, size: 3, contentType: "image/png" }),
      );
    expect(await findAvatar(db, first)).toBeUndefined();
    expect(await findAvatar(db, second)).toEqual({
      sha256: second,
      size: 3,
      contentType: "image/png",
    });
    expect(await isObjectReferenced(db, second)).toBe(true);
    await db.transaction((tx) => deleteAvatar(tx, mira.id));
    expect(await isObjectReferenced(db, second)).toBe(false);
  });

  test("an account has one link for its password, which is used once", async () => {
    const mira = await addUser();
    const link = { userId: mira.id, passwordMark: "m", expiresAt: 5 };
    for (const tokenHash of ["one", "two"])
      await db.transaction((tx) => putPasswordReset(tx, { ...link, tokenHash }));
    expect(await findPasswordReset(db, { tokenHash: "one" })).toBeUndefined();
    expect(await findPasswordReset(db, { userId: mira.id })).toEqual({ ...link, tokenHash: "two" });
    const use = () => db.transaction((tx) => deletePasswordReset(tx, "two"));
    expect([await use(), await use()]).toEqual([true, false]);
  });

  test("files belong to an issue or a comment and keep their objects", async () => {
    const mira = await addUser();
    const { id: repositoryId } = await addRepository(mira);
    const issue = await addIssue(repositoryId, mira.id);
    const comment = await db.transaction((tx) =>
      insertComment(tx, { issueId: issue.id, authorId: mira.id, body: "x" }),
    );
    const sha256 = "c".repeat(64);
    const add = (uuid: string, commentId: CommentId | undefined) =>
      db.transaction((tx) =>
        insertAttachment(tx, {
          uuid,
          issueId: issue.id,
          commentId,
          uploaderId: mira.id,
          name: "log.txt",
          sha256,
          size: 7,
          contentType: "text/plain",
        }),
      );
    const own = await add("u1", undefined);
    const commented = await add("u2", comment.id);
    expect(await listAttachmentsOfIssue(db, issue.id)).toEqual([own]);
    expect(await listAttachmentsOfComments(db, [comment.id, toCommentId(999)])).toEqual(
      new Map([[comment.id, [commented]]]),
    );
    await countDownload(db, own.id);
    await db.transaction((tx) => renameAttachment(tx, own.id, "other.txt"));
    expect(await findAttachmentByUuid(db, "u1")).toEqual({
      ...own,
      name: "other.txt",
      downloadCount: 1,
    });
    expect(await listObjectReferences(db, "b".repeat(64), 1)).toEqual([{ sha256, size: 7 }]);
    await db.transaction((tx) => deleteRepository(tx, repositoryId));
    expect(await isObjectReferenced(db, sha256)).toBe(false);
  });

  test("a search of issues leaves out repositories by their settings, not by a text in them", async () => {
    const mira = await addUser();
    const titlesOf = async (settings: string) => {
      const { id } = await addRepository(mira);
      await addIssue(id, mira.id);
      await db.run("UPDATE forge_repositories SET settings = ? WHERE id = ?", settings, id);
      const { issues } = await listIssues(
        db,
        {
          within: { reader: mira, isPublicOnly: false, ownerId: mira.id },
          state: "all",
          labelIds: [],
          term: "",
        },
        window,
      );
      return issues.some(({ repositoryId }) => repositoryId === id);
    };
    expect(await titlesOf("{}")).toBe(true);
    expect(await titlesOf('{"has_issues":true}')).toBe(true);
    expect(await titlesOf('{"has_issues": false}')).toBe(false);
    expect(await titlesOf('{"external_tracker":{"external_tracker_url":"https://x"}}')).toBe(false);
    expect(await titlesOf('{"internal_tracker":{"has_issues":false}}')).toBe(true);
    expect(await titlesOf('{"external_wiki":{"external_tracker":1}}')).toBe(true);
  });
});
