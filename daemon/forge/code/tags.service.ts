import { type ObjectQuarantine, openQuarantine } from "../../../storage/git/object-quarantine.ts";
import { allEnded } from "../../../storage/git/git.ts";
import {
  type CommitObject,
  readCommitObjects,
  readTagObjects,
  type TagObject,
} from "../../../storage/git/commit-objects.ts";
import { findObjects } from "../../../storage/git/objects.ts";
import { listRefs, type RefEntry } from "../../../storage/git/ref-lists.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { findRelease } from "../../../storage/tables/forge/releases/releases.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { MIRROR_READ_ONLY } from "../git/ref-check.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { OwnedRepository } from "../events.ts";
import { unfilledTime } from "../urls.ts";
import { assertWritten } from "./branches.service.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "./open-code.ts";
import { findRevision } from "./revisions.ts";

/** A tag, annotated or not. */
export interface TagDetails {
  readonly name: string;
  /** The message of the annotated tag, or of the commit. */
  readonly id: string;
  /** The id of the commit, or of another object that the tag names. */
  readonly commit: string;
  readonly message: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** A tag to create; an empty target is the default branch, an empty message makes a tag that is not annotated. */
export interface NewTag {
  readonly name: string;
  readonly message: string;
  readonly target: string;
}

export interface TagsDeps {
  readonly db: Database;
  readonly access: CodeAccess;
  readonly writeRefs: WriteRefs;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** Returns the name and address that the commits of a user have. */
  readonly toCommitPerson: (user: ForgeUser) => { readonly name: string; readonly email: string };
}

/** Tags of repositories. */
export type Tags = ReturnType<typeof createTags>;

const TAGS = "refs/tags/";

/** Creates the service. Every function refuses as `CodeAccess` does, and with `not_found` a missing tag. */
export function createTags({ db, access, writeRefs, clock, newId, toCommitPerson }: TagsDeps) {
  return {
    async list(request: CodeRequest, window: PageWindow) {
      return access.read(request, async (code) => {
        const { git, directory, signal } = code;
        const query = { directory, signal, under: TAGS, order: "newest" } as const;
        const { refs, total } = await listRefs(git, query, toRows(window));
        return { owned: code.owned, tags: await toTags(code, refs), total };
      });
    },

    async get(request: CodeRequest, name: string) {
      return access.read(request, async (code) => getTag(code, name));
    },

    /**
     * Creates a tag at `target`; an empty target is the default branch. A message makes it an annotated tag. Refuses
     * with `not_found` an unknown target, with `conflict` a taken name, with `unprocessable` an invalid or protected name.
     */
    async create(
      request: CodeRequest & { readonly caller: ForgeCaller },
      { name, message, target }: NewTag,
    ) {
      return access.write(request, async (code) => {
        if ((await findTagRef(code, name)) !== undefined) throw tagExists(name);
        await refusingProtected(() => write(code, request.caller.user, { name, message, target }));
        return getTag(code, name);
      });
    },

    /** Creates a tag as `create` does unless it exists, whatever it names. Returns whether it has created it. */
    async ensure(code: OpenedCode, user: ForgeUser, tag: NewTag): Promise<boolean> {
      if ((await findTagRef(code, tag.name)) !== undefined) return false;
      await write(code, user, tag);
      return true;
    },

    /** Deletes a tag. Refuses with `conflict` a tag that has a release. */
    async remove(
      request: CodeRequest & { readonly caller: ForgeCaller },
      name: string,
    ): Promise<void> {
      await access.write(request, async (code) => {
        const ref = await findTagRef(code, name);
        if (ref === undefined) throw notFound();
        if ((await findRelease(db, code.owned.repository.id, { tagName: name })) !== undefined)
          throw new AppError(
            "conflict",
            "a tag attached to a release cannot be deleted directly: delete the release first",
          );
        const change = { ref: ref.name, before: ref.id, after: undefined };
        await refusingProtected(async () =>
          assertWritten(
            await writeRefs(code.owned, request.caller.user, [change]),
            () => new AppError("conflict", "the tag was changed in the meantime, try again"),
          ),
        );
      });
    },

    /** Returns an annotated tag by its id. */
    async getObject(
      request: CodeRequest,
      id: string,
    ): Promise<{ readonly owned: OwnedRepository; readonly tag: TagObject }> {
      return access.read(request, async (code) => {
        const options = { directory: code.directory, signal: code.signal };
        const isId = /^[0-9a-f]{4,64}$/i.test(id);
        const [found] = isId ? await findObjects(code.git, [id], options) : [];
        if (found?.type !== "tag") throw notFound();
        const [tag] = await readTagObjects(code.git, [found.id], options);
        if (tag === undefined) throw notFound();
        return { owned: code.owned, tag };
      });
    },
  };

  async function write(
    code: OpenedCode,
    user: ForgeUser,
    { name, message, target }: NewTag,
  ): Promise<void> {
    const commit = await findRevision(code, target);
    if (commit === undefined)
      throw new AppError(
        "not_found",
        `target not found: object does not exist [id: ${target}, rel_path: ]`,
      );
    await using quarantine = await openQuarantine(code.directory, newId());
    const after =
      message === ""
        ? commit.commitId
        : await writeTag(code, user, { name, message, commit: commit.commitId, quarantine });
    const change = { ref: TAGS + name, before: undefined, after };
    assertWritten(await writeRefs(code.owned, user, [change], { quarantine }), () =>
      tagExists(name),
    );
  }

  async function writeTag(
    { git, directory, signal }: OpenedCode,
    user: ForgeUser,
    {
      name,
      message,
      commit,
      quarantine,
    }: {
      readonly name: string;
      readonly message: string;
      readonly commit: string;
      readonly quarantine: ObjectQuarantine;
    },
  ): Promise<string> {
    const person = toCommitPerson(user);
    const tagger = `${person.name} <${person.email}> ${Math.floor(clock() / 1000)} +0000`;
    const text = message.endsWith("\n") ? message : `${message}\n`;
    const id = await git.run(["mktag"], {
      directory,
      signal,
      env: quarantine.env,
      input: `object ${commit}\ntype commit\ntag ${name}\ntagger ${tagger}\n\n${text}`,
    });
    return id.toString("latin1").trim();
  }
}

const tagExists = (name: string) => new AppError("conflict", `tag already exists [name: ${name}]`);

/** Refuses a protected tag with `unprocessable`; the writer of refs refuses it, and tags of mirrors, with `forbidden`. */
async function refusingProtected(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "forbidden") throw error;
    if (error.message === MIRROR_READ_ONLY) throw error;
    throw new AppError("unprocessable", error.message, { cause: error });
  }
}

async function findTagRef(
  { git, directory, signal }: OpenedCode,
  name: string,
): Promise<RefEntry | undefined> {
  if (!isRefName(name)) return undefined;
  const query = { directory, signal, under: TAGS + name, order: "name" } as const;
  const { refs } = await listRefs(git, query, { limit: 1, offset: 0 });
  return refs.find((ref) => ref.name === TAGS + name);
}

async function getTag(
  code: OpenedCode,
  name: string,
): Promise<{ readonly owned: OwnedRepository; readonly tag: TagDetails }> {
  const ref = await findTagRef(code, name);
  const [tag] = ref === undefined ? [] : await toTags(code, [ref]);
  if (tag === undefined) throw new AppError("not_found", `tag doesn't exist: ${name}`);
  return { owned: code.owned, tag };
}

/** Reads the objects that tags point to: annotated tags and commits. Other objects have no message and no time. */
async function toTags(
  { git, directory, signal }: OpenedCode,
  refs: readonly RefEntry[],
): Promise<TagDetails[]> {
  const idsOf = (type: string) => refs.filter((ref) => ref.type === type).map(({ id }) => id);
  const options = { directory, signal };
  const [annotated, commits] = await allEnded([
    readTagObjects(git, idsOf("tag"), options),
    readCommitObjects(git, idsOf("commit"), options),
  ]);
  const tagObjects = new Map(annotated.map((tag) => [tag.id, tag]));
  const commitObjects = new Map<string, CommitObject>(commits.map((commit) => [commit.id, commit]));
  return refs.map(({ name, id, peeledId }) => {
    const tag = tagObjects.get(id);
    const commit = commitObjects.get(id);
    return {
      name: name.slice(TAGS.length),
      id,
      commit: peeledId ?? id,
      message: tag?.message ?? commit?.message ?? "",
      createdAt: tag?.tagger?.at ?? commit?.committer.at ?? unfilledTime,
    };
  });
}
