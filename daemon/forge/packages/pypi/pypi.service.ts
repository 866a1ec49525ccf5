import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Database, Queries } from "../../../../storage/engine/database.ts";
import { parseColumn } from "../../../../storage/engine/json-column.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import { listPackageNames } from "../../../../storage/tables/forge/packages/lists.ts";
import { listForms, setManifest } from "../../../../storage/tables/forge/packages/manifests.ts";
import {
  countFilesOfPackage,
  findFile,
  findFileOfPackage,
  findPackage,
  findVersion,
  type ForgePackage,
  listFilesOfPackage,
  listVersions,
  touchPackage,
} from "../../../../storage/tables/forge/packages/packages.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../../errors.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { Emit } from "../../events.ts";
import type { GrantedPackages } from "../../opened.ts";
import { notFound, orNotFound } from "../../refusals.ts";
import type { ForgeUrls } from "../../urls.ts";
import { reopenPackages } from "../access.ts";
import { createDownload, type PackageDownload } from "../downloads.ts";
import type { OwnerRoom } from "../owner-room.ts";
import { toRepositoryName } from "../repository-links.ts";
import { fileExists, recordFile } from "../versions.ts";
import {
  listAddresses,
  pypiInstallSchema,
  pypiMetadataSchema,
  toPypiForms,
  toPypiMetadata,
} from "./metadata.ts";
import { assertPypiFilename, assertPypiVersion, PYPI, toProjectName } from "./names.ts";
import type { PypiProject } from "./simple.view.ts";
import { FORM_BYTES_MAX, type PypiUpload, readUploadForm } from "./upload-form.ts";

/** Maximum number of files of a project: every installation reads a list of all of them. */
const FILES_MAX = 10_000;
/** Versions whose requirements are read from the database at once. */
const BATCH_VERSIONS = 500;
/** Names that are read from the database at once. */
const BATCH_NAMES = 1_000;

export type PypiRegistry = ReturnType<typeof createPypiRegistry>;

export interface PypiRegistryDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly emit: Emit;
  readonly urls: ForgeUrls;
  readonly room: OwnerRoom;
}

/**
 * Packages for Python. Every function throws `not_found` when the project is missing, and `invalid_argument` for an
 * invalid name.
 */
export function createPypiRegistry({ db, store, emit, urls, room }: PypiRegistryDeps) {
  return {
    /**
     * Adds a file to a version, and creates both when they are missing. Refuses with `conflict` a file that the project has, with
     * `too_large` one over the limits, and with `invalid_argument` an aborted or invalid form and wrong digests. A refusal
     * changes nothing.
     */
    async upload(
      opened: GrantedPackages,
      body: { readonly headers: IncomingHttpHeaders; readonly stream: Readable },
      caller: ForgeCaller,
    ): Promise<void> {
      const { owner } = opened;
      // The form around the file is small.
      const declared = Number(body.headers["content-length"] ?? 0) - FORM_BYTES_MAX;
      const upload = await room.receive(owner.id, declared, (bytesMax) =>
        readUploadForm(store, body, bytesMax),
      );
      const { received } = upload;
      try {
        const { name, version, filename } = readIdentity(upload);
        const metadata = toPypiMetadata(upload.fields);
        const known = await findPackage(db, { ownerId: owner.id, type: PYPI, name });
        await assertFree(db, known, filename);
        await received.publish();
        await db.transaction(async (tx) => {
          // The right may have ended while the bytes arrived.
          await reopenPackages(tx, opened);
          const present = await findPackage(tx, { ownerId: owner.id, type: PYPI, name });
          // Locks the project: concurrent uploads see each other.
          await assertFree(tx, present && (await touchPackage(tx, present.id)), filename);
          const recorded = await recordFile(
            tx,
            emit,
            {
              ownerId: owner.id,
              type: PYPI,
              name,
              version,
              filename,
              metadata: JSON.stringify(metadata),
              digests: received.digests,
            },
            {
              actor: caller.user,
              mustBeNew: false,
              room,
              linkTo: listAddresses(metadata)
                .map((url) => toRepositoryName(url, owner, urls))
                .find((found) => found !== undefined),
            },
          );
          const stored = parseColumn(
            pypiMetadataSchema,
            recorded.version.metadata,
            "forge_package_versions.metadata",
          );
          await setManifest(tx, recorded.version.id, toPypiForms(stored));
        });
      } finally {
        await received.discard();
      }
    },

    /** Returns the normalized names of an owner's projects, read in batches. */
    listProjects: ({ owner }: GrantedPackages): AsyncIterable<string> => readNames(owner.id),

    /** Returns the files of all versions of a project. */
    async getProject(
      { owner }: GrantedPackages,
      { name }: { readonly name: string },
    ): Promise<PypiProject> {
      const found = await getProject(owner, name);
      const versions = await listVersions(db, found.id);
      const requirements = await readRequirements(versions.map(({ id }) => id));
      const byId = new Map(versions.map(({ id, version }) => [id, version]));
      const files = (await listFilesOfPackage(db, found.id)).flatMap((file) => {
        const version = byId.get(file.versionId);
        // Added between the two queries.
        if (version === undefined) return [];
        return [{ file, version, requiresPython: requirements.get(file.versionId) ?? "" }];
      });
      return {
        ownerName: owner.name,
        name: found.name.toLowerCase(),
        versions: versions.map(({ version }) => version),
        files,
      };
    },

    async download(
      { owner }: GrantedPackages,
      at: {
        readonly name: string;
        readonly version: string;
        readonly filename: string;
      },
    ): Promise<PackageDownload> {
      const found = await getProject(owner, at.name);
      const version = await findVersion(db, found, at.version);
      const file = version && (await findFile(db, version.id, at.filename));
      if (file === undefined) throw notFound();
      return createDownload(store, file);
    },
  };

  async function getProject(owner: ForgeUser, named: string): Promise<ForgePackage> {
    const name = toProjectName(named);
    return orNotFound(await findPackage(db, { ownerId: owner.id, type: PYPI, name }));
  }

  async function* readNames(ownerId: ForgePackage["ownerId"]): AsyncGenerator<string> {
    for (let after = ""; ;) {
      const window = { after, limit: BATCH_NAMES };
      const names = await listPackageNames(db, { ownerId, type: PYPI }, window);
      yield* names;
      if (names.length < BATCH_NAMES) return;
      after = names.at(-1) ?? "";
    }
  }

  async function readRequirements(ids: Parameters<typeof listForms>[1]) {
    const requirements = new Map<(typeof ids)[number], string>();
    for (let start = 0; start < ids.length; start += BATCH_VERSIONS) {
      const batch = ids.slice(start, start + BATCH_VERSIONS);
      for (const [id, form] of await listForms(db, batch, "abbreviated")) {
        const text = "text" in form ? form.text : form.metadata;
        const column = "forge_package_versions.abbreviated";
        requirements.set(id, parseColumn(pypiInstallSchema, text, column).requiresPython);
      }
    }
    return requirements;
  }
}

/** Returns what an upload is a file of. Refuses an invalid name, version or file name and wrong digests with `invalid_argument`. */
function readIdentity({ fields, filename, received: { digests } }: PypiUpload) {
  const field = (name: string) => fields.get(name)?.[0]?.trim() ?? "";
  const action = field(":action");
  if (action !== "" && action !== "file_upload")
    throw new AppError("invalid_argument", "the only action is file_upload");
  if (field("sha256_digest").toLowerCase() !== digests.sha256)
    throw new AppError("invalid_argument", "hash mismatch: sha256_digest");
  const md5 = field("md5_digest").toLowerCase();
  if (md5 !== "" && md5 !== digests.md5)
    throw new AppError("invalid_argument", "hash mismatch: md5_digest");
  const name = toProjectName(field("name"));
  const version = field("version");
  assertPypiVersion(version);
  assertPypiFilename({ project: name, version, filename });
  return { name, version, filename };
}

/** Refuses a file that a project has in any version with `conflict`, and one more than the maximum with `too_large`. */
async function assertFree(
  db: Queries,
  found: ForgePackage | undefined,
  filename: string,
): Promise<void> {
  if (found === undefined) return;
  if ((await findFileOfPackage(db, found.id, filename)) !== undefined) throw fileExists();
  if ((await countFilesOfPackage(db, found.id)) >= FILES_MAX)
    throw new AppError(
      "too_large",
      `A project has at most ${FILES_MAX} files: delete old versions first.`,
    );
}
