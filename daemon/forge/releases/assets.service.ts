import type { Readable } from "node:stream";
import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { toReleaseAssetId } from "../../../storage/tables/forge/ids.ts";
import {
  changeReleaseAsset,
  countReleaseAssets,
  countReleaseDownload,
  deleteReleaseAsset,
  findReleaseAsset,
  findReleaseAssetByName,
  findReleaseAssetByUuid,
  insertReleaseAsset,
  listReleaseAssets,
  type NewReleaseAsset,
  type ReleaseAsset,
} from "../../../storage/tables/forge/releases/assets.ts";
import {
  findReleaseById,
  type ForgeRelease,
} from "../../../storage/tables/forge/releases/releases.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { isWebUrl } from "../../contract/forge/rules.ts";
import { repository as repositoryPermission } from "../../contract/permission.ts";
import { AppError } from "../../errors.ts";
import { openObject } from "../../utilities/open-object.ts";
import { receivePlainBody } from "../../utilities/receive-body.ts";
import { writeIfPossible } from "../../utilities/within.ts";
import { assertTokenScope } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedRepository } from "../opened.ts";
import { notFound, orNotFound } from "../refusals.ts";
import { grantRepository, reopenRepository } from "../repositories/open-repository.ts";
import type { Attachments, OpenedAttachment } from "../issues/attachments.service.ts";
import { findShownType, UNKNOWN_TYPE } from "../shown-type.ts";
import { toFileName } from "../uploaded-file.ts";
import { getRelease } from "./release-details.ts";

/** A file to add: its bytes, or the address of a file that is kept elsewhere. */
export type NewFile = { readonly name: string } & (
  | { readonly stream: Readable; readonly size: number | undefined }
  | { readonly link: string }
);

/** A file that the caller may download; a file that is kept elsewhere has a link. */
export type OpenedReleaseAsset = ReturnType<typeof createDownload>;

export interface ReleaseAssetsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly newUuid: () => string;
  /** Files of issues, which have the same addresses as those of releases. */
  readonly attachments: Pick<Attachments, "open">;
  /** Maximum bytes of any upload. */
  readonly uploadBytesMax: number;
}

/** Maximum number of files of a release: lists of releases include all of them. */
const RELEASE_ASSETS_MAX = 250;

export type ReleaseAssets = ReturnType<typeof createReleaseAssets>;

/**
 * Files of releases. Every function refuses with `not_found` a release that the caller may not see, drafts included: a file
 * is as visible as its release.
 */
export function createReleaseAssets(deps: ReleaseAssetsDeps) {
  const { db, store, newUuid, attachments, uploadBytesMax } = deps;
  return {
    async list(opened: GrantedRepository, id: number): Promise<readonly ReleaseAsset[]> {
      const release = await getRelease(db, opened, { id });
      return (await listReleaseAssets(db, [release.id])).get(release.id) ?? [];
    },

    async get(opened: GrantedRepository, id: number, assetId: number): Promise<ReleaseAsset> {
      return find(db, await getRelease(db, opened, { id }), assetId);
    },

    /** Refuses as `create` does, before the bytes are read. Returns the maximum size of the file. */
    async admit(
      opened: GrantedRepository,
      id: number,
    ): Promise<{ fileBytesMax: number; toRefusal(): AppError }> {
      await assertRoom(db, await getRelease(db, opened, { id }));
      return {
        fileBytesMax: uploadBytesMax,
        toRefusal: () =>
          new AppError("too_large", `The file is larger than ${uploadBytesMax} bytes.`),
      };
    },

    /**
     * Adds a file or a link. Refuses with `unprocessable` more files than allowed and an invalid link, with `too_large` a
     * file that is too large, with `invalid_argument` one that arrives in part; then nothing is added.
     */
    async create(
      opened: GrantedRepository,
      id: number,
      file: NewFile,
      uploader: ForgeCaller["user"],
    ): Promise<ReleaseAsset> {
      const name = toFileName(file.name);
      const common = { name, uploaderId: uploader.id };
      if ("link" in file) return createLink(opened, id, { ...common, link: file.link });
      const options = { bytesMax: uploadBytesMax, declaredBytes: file.size };
      const received = await receivePlainBody(store, file.stream, options);
      try {
        await received.publish();
        const { sha256, size } = received.digests;
        const { contentType } = await findShownType(received.head);
        const bytes = { sha256, size, contentType, link: "" };
        return await db.transaction((tx) => insert(tx, opened, id, { ...common, ...bytes }));
      } finally {
        await received.discard();
      }
    },

    /** Renames a file, or changes the address of a link; empty texts keep the current ones. */
    async edit(
      opened: GrantedRepository,
      id: number,
      assetId: number,
      { name, link }: { readonly name: string; readonly link: string },
    ): Promise<ReleaseAsset> {
      return db.transaction(async (tx) => {
        const asset = await findForChange(tx, opened, id, assetId);
        if (link !== "" && asset.link === "")
          throw new AppError("unprocessable", "the address of an uploaded file cannot be changed");
        const changes = {
          ...(name === "" ? {} : { name: toFileName(name) }),
          ...(link === "" ? {} : { link }),
        };
        return orNotFound(await changeReleaseAsset(tx, asset, changes));
      });
    },

    async remove(opened: GrantedRepository, id: number, assetId: number): Promise<void> {
      await db.transaction(async (tx) => {
        await deleteReleaseAsset(tx, await findForChange(tx, opened, id, assetId));
      });
    },

    /**
     * Opens a file by the tag of its release and its name, as `TAG/NAME`; of several files of one name the newest. Counts
     * downloads of the whole file.
     */
    async openNamed(opened: GrantedRepository, tagAndName: string): Promise<OpenedReleaseAsset> {
      const at = tagAndName.lastIndexOf("/");
      const release = await getRelease(db, opened, { tagName: tagAndName.slice(0, at) });
      const name = tagAndName.slice(at + 1);
      return open(orNotFound(await findReleaseAssetByName(db, release.id, name)));
    },

    /**
     * Opens the file of a release or of an issue by the UUID in its address, as far as the caller may read these. Counts
     * downloads of the whole file.
     */
    async openByUuid(
      uuid: string,
      caller: ForgeCaller | undefined,
    ): Promise<OpenedReleaseAsset | OpenedAttachment> {
      const asset = await findReleaseAssetByUuid(db, uuid.toLowerCase());
      if (asset === undefined) return attachments.open(uuid, caller);
      assertTokenScope(caller?.scope, "read", "repository");
      await assertReadable(asset, caller);
      return open(asset);
    },
  };

  async function createLink(
    opened: GrantedRepository,
    id: number,
    { link, ...common }: Pick<NewReleaseAsset, "name" | "uploaderId" | "link">,
  ): Promise<ReleaseAsset> {
    if (!isWebUrl(link)) throw new AppError("unprocessable", "[ExternalURL]: Url");
    const fields = { ...common, link, sha256: undefined, size: 0, contentType: UNKNOWN_TYPE };
    return db.transaction((tx) => insert(tx, opened, id, fields));
  }

  /** The rights and the release may have changed while the bytes arrived. */
  async function insert(
    tx: Transaction,
    opened: GrantedRepository,
    id: number,
    fields: Omit<NewReleaseAsset, "uuid" | "releaseId">,
  ): Promise<ReleaseAsset> {
    const release = await getRelease(tx, await reopenRepository(tx, opened), { id });
    await assertRoom(tx, release);
    return insertReleaseAsset(tx, { ...fields, releaseId: release.id, uuid: newUuid() });
  }

  async function findForChange(
    tx: Transaction,
    opened: GrantedRepository,
    id: number,
    assetId: number,
  ): Promise<ReleaseAsset> {
    return find(tx, await getRelease(tx, await reopenRepository(tx, opened), { id }), assetId);
  }

  async function open(asset: ReleaseAsset): Promise<OpenedReleaseAsset> {
    const download = createDownload(deps, asset);
    // Neither opens its bytes.
    if (asset.link !== "" || asset.size === 0) await download.count();
    return download;
  }

  async function assertReadable(
    { releaseId }: ReleaseAsset,
    caller: ForgeCaller | undefined,
  ): Promise<void> {
    const release = await findReleaseById(db, releaseId);
    const repository = release && (await findRepositoryById(db, release.repositoryId));
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (release === undefined || repository === undefined || owner === undefined) throw notFound();
    const permission = repositoryPermission("releases", "read");
    const owned = { repository, owner };
    const opened = await grantRepository(db, owned, { caller, permission, isChange: false });
    await getRelease(db, opened, { id: release.id });
  }
}

/** Makes the download of a file, whose opening counts unless it is of a part. */
function createDownload(
  { db, store }: Pick<ReleaseAssetsDeps, "db" | "store">,
  asset: ReleaseAsset,
) {
  const count = () => writeIfPossible(() => countReleaseDownload(db, asset));
  return {
    asset,
    count,
    /** Opens the bytes from `start` to `end`, both included. Refuses with `unavailable` when they are missing or damaged. */
    async open(range?: { readonly start: number; readonly end: number }): Promise<Readable> {
      const { sha256 = "", size } = asset;
      if (range === undefined) await count();
      return openObject(store, { sha256, size }, "file", range);
    },
  };
}

async function find(db: Queries, release: ForgeRelease, assetId: number): Promise<ReleaseAsset> {
  return orNotFound(await findReleaseAsset(db, release.id, toReleaseAssetId(assetId)));
}

async function assertRoom(db: Queries, { id }: ForgeRelease): Promise<void> {
  if ((await countReleaseAssets(db, id)) >= RELEASE_ASSETS_MAX)
    throw new AppError("unprocessable", `the release has ${RELEASE_ASSETS_MAX} files already`);
}
