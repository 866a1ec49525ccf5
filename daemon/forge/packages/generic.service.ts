import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { ObjectDigests, ObjectStore } from "../../../storage/objects/object-store.ts";
import type { Database, Queries } from "../../../storage/engine/database.ts";
import {
  deleteFile,
  findFile,
  findPackage,
  findVersion,
  listFiles,
  touchPackage,
} from "../../../storage/tables/forge/packages/packages.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import type { GrantedPackages } from "../opened.ts";
import { reopenPackages } from "./access.ts";
import { createDownload, type PackageDownload } from "./downloads.ts";
import type { OwnedVersion, Emit } from "../events.ts";
import { assertGenericNames, type GenericFileName } from "./generic-names.ts";
import type { OwnerRoom } from "./owner-room.ts";
import { receiveBody } from "../../utilities/receive-body.ts";
import { fileExists, recordFile, removeVersion } from "./versions.ts";
import { AppError } from "../../errors.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** The package type of arbitrary files. */
const GENERIC = "generic";

type GenericVersionName = Pick<GenericFileName, "name" | "version">;

export type GenericPackages = ReturnType<typeof createGenericPackages>;

export interface GenericPackagesDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly emit: Emit;
  readonly room: OwnerRoom;
}

/**
 * Packages of arbitrary files. Every function throws `not_found` when the package is missing, and `invalid_argument` for
 * an invalid name.
 */
export function createGenericPackages(deps: GenericPackagesDeps) {
  const { db, store, emit, room } = deps;
  return {
    async download({ owner }: GrantedPackages, at: GenericFileName): Promise<PackageDownload> {
      assertGenericNames(at);
      return createDownload(store, (await getFile(db, { ...at, ownerId: owner.id })).file);
    },

    /**
     * Adds a file. Refuses with `conflict` when the version has the file, with `too_large`, and with `invalid_argument`
     * when the body is aborted or does not match the checksums of the headers. A refusal changes nothing.
     */
    async upload(
      opened: GrantedPackages,
      at: GenericFileName,
      { headers, stream }: { readonly headers: IncomingHttpHeaders; readonly stream: Readable },
      caller: ForgeCaller,
    ): Promise<void> {
      assertGenericNames(at);
      const key = { ...at, ownerId: opened.owner.id, type: GENERIC };
      const declaredBytes = Number(headers["content-length"] ?? 0);
      const received = await room.receive(opened.owner.id, declaredBytes, (bytesMax) =>
        receiveBody(store, stream, { bytesMax, declaredBytes }),
      );
      try {
        const { digests } = received;
        assertChecksums(headers, digests);
        if ((await findGenericFile(db, key)) !== undefined) throw fileExists();
        await received.publish();
        await db.transaction(async (tx) => {
          // The right may have ended while the bytes arrived.
          await reopenPackages(tx, opened);
          const file = { ...key, metadata: "{}", digests };
          await recordFile(tx, emit, file, { actor: caller.user, mustBeNew: false, room });
        });
      } finally {
        await received.discard();
      }
    },

    /** Deletes a file; deletes the version when it was the last file. */
    async removeFile(
      opened: GrantedPackages,
      at: GenericFileName,
      caller: ForgeCaller,
    ): Promise<void> {
      assertGenericNames(at);
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        const found = await getFile(tx, { ...at, ownerId: owner.id });
        const files = await listFiles(tx, found.version.id);
        if (files.length === 1) {
          await removeVersion(tx, emit, { ...found, owner, actor: caller.user });
          return;
        }
        await deleteFile(tx, found.file.id);
        await touchPackage(tx, found.package.id);
      });
    },

    async removeVersion(
      opened: GrantedPackages,
      at: GenericVersionName,
      caller: ForgeCaller,
    ): Promise<void> {
      assertGenericNames(at);
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        const found = await findGenericVersion(tx, { ...at, ownerId: owner.id });
        if (found === undefined) throw notFound();
        await touchPackage(tx, found.package.id);
        await removeVersion(tx, emit, { ...found, owner, actor: caller.user });
      });
    },
  };
}

type VersionKey = GenericVersionName & { readonly ownerId: UserId };
type FileKey = GenericFileName & { readonly ownerId: UserId };

async function findGenericVersion(
  db: Queries,
  { ownerId, name, version }: VersionKey,
): Promise<Pick<OwnedVersion, "package" | "version"> | undefined> {
  const found = await findPackage(db, { ownerId, type: GENERIC, name });
  const foundVersion = found && (await findVersion(db, found, version));
  return found && foundVersion && { package: found, version: foundVersion };
}

async function findGenericFile(db: Queries, key: FileKey) {
  const found = await findGenericVersion(db, key);
  const file = found && (await findFile(db, found.version.id, key.filename));
  return found && file && { ...found, file };
}

async function getFile(db: Queries, key: FileKey) {
  const found = await findGenericFile(db, key);
  if (found === undefined) throw notFound();
  return found;
}

const hexHeaders = {
  "x-checksum-sha256": "sha256",
  "x-checksum-sha512": "sha512",
  "x-checksum-sha1": "sha1",
  "x-checksum-md5": "md5",
} as const;

const digestHeaders = ["content-digest", "repr-digest"] as const;
const digestNames = { "sha-256": "sha256", "sha-512": "sha512" } as const;

/**
 * Compares the digests of an upload with its headers: `X-Checksum-Sha256` and the like in hex, `Content-Digest` and
 * `Repr-Digest` of RFC 9530. Refuses a mismatch with `invalid_argument`.
 */
function assertChecksums(headers: IncomingHttpHeaders, digests: ObjectDigests): void {
  for (const [header, digest] of Object.entries(hexHeaders)) {
    const claimed = headers[header];
    if (typeof claimed === "string" && claimed.trim().toLowerCase() !== digests[digest])
      throw wrongDigest(header);
  }
  for (const header of digestHeaders) {
    const value = headers[header];
    if (typeof value !== "string") continue;
    for (const [, name = "", claimed] of value.matchAll(/([a-z0-9-]+)=:([A-Za-z0-9+/=]*):/g)) {
      if (!Object.hasOwn(digestNames, name)) continue;
      const digest = digests[digestNames[name as keyof typeof digestNames]];
      if (claimed !== Buffer.from(digest, "hex").toString("base64")) throw wrongDigest(header);
    }
  }
}

function wrongDigest(header: string): AppError {
  return new AppError("invalid_argument", `the bytes do not match the header ${header}`);
}
