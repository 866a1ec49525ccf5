// Package registries: generic files, npm, Python, containers, and the administrators' list. Start here: one factory wires up the services of
// this folder. versions.ts records versions and their files.
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import type { Database } from "../../../storage/engine/database.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Sealer } from "../../../storage/keys/keyring.ts";
import type { Api } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import type { Compute } from "../compute.ts";
import type { Emit } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import { createGenericPackages } from "./generic.service.ts";
import { createContainerBlobs } from "./containers/blobs.service.ts";
import { createContainerCatalog } from "./containers/catalog.service.ts";
import { createContainerCleanup } from "./containers/cleanup.ts";
import { createContainerApi } from "./containers/container-api.ts";
import { createContainerTokens } from "./containers/container-tokens.ts";
import { containerImageRoutes, containerRoutes } from "./containers/containers.routes.ts";
import { createContainerManifests } from "./containers/manifests.service.ts";
import type { ContainerLimits } from "./containers/limits.ts";
import { createContainerUploads } from "./containers/uploads.service.ts";
import { npmRoutes } from "./npm/npm.routes.ts";
import { createNpmRegistry } from "./npm/npm.service.ts";
import { createPypiRegistry } from "./pypi/pypi.service.ts";
import { genericPackageRoutes, packageRoutes, pypiRoutes } from "./packages.routes.ts";
import { createOwnerRoom } from "./owner-room.ts";
import { createPackages } from "./packages.service.ts";
import { deletePackagesOf, ownsPackage } from "../../../storage/tables/forge/packages/packages.ts";
import { AppError } from "../../errors.ts";
import type { AccountDependents } from "../accounts/remove-user.ts";

export interface ForgePackagesDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly emit: Emit;
  readonly compute: Compute;
  readonly urls: ForgeUrls;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Maximum size of a file. */
  readonly uploadBytesMax: number;
  readonly sealer: Sealer;
  readonly newUuid: () => string;
  readonly containerLimits: ContainerLimits;
  /** Maximum bytes of the files of an owner's other packages; 0 is no limit. */
  readonly ownerPackageBytesMax: number;
}

/** The forge's packages. */
export function createForgePackages(deps: ForgePackagesDeps) {
  const { urls, clock } = deps;
  const limits = deps.containerLimits;
  const { uploadBytesMax, ownerPackageBytesMax: ownerBytesMax } = deps;
  const room = createOwnerRoom(deps.db, { uploadBytesMax, ownerBytesMax });
  const tokens = createContainerTokens(deps);
  const blobs = createContainerBlobs({ ...deps, limits });
  const manifests = createContainerManifests({ ...deps, limits });
  return {
    services: {
      /** The container registry, which has a surface of its own. */
      api: (forge: Api<ForgeCaller>) => createContainerApi(forge, { tokens, urls }),
      /** Below `/v2`. */
      routes: containerRoutes({
        tokens,
        manifests,
        catalog: createContainerCatalog(deps),
        blobs,
        uploads: createContainerUploads({ ...deps, blobs, limits }),
      }),
    },
    tasks: [createContainerCleanup(deps)],
    routes: [
      ...packageRoutes(createPackages(deps), urls),
      ...containerImageRoutes(manifests, urls),
    ],
    registryRoutes: [
      ...genericPackageRoutes(createGenericPackages({ ...deps, room })),
      ...npmRoutes({ npm: createNpmRegistry({ ...deps, room }), urls, clock }),
      ...pypiRoutes(createPypiRegistry({ ...deps, room }), urls),
    ],
  } satisfies ForgeFeature;
}

/** Deletes the packages of a deleted account. A scheduled sweep removes their objects. */
export function createPackageDependents(): AccountDependents {
  return {
    async assertNoneOwned(tx, account) {
      if (await ownsPackage(tx, account.id))
        throw new AppError(
          "unprocessable",
          `user still has ownership of packages [uid: ${account.id}]`,
        );
    },

    removeAll: (tx, account) => deletePackagesOf(tx, account.id),
  };
}
