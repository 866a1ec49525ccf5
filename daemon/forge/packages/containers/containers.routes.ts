import {
  containerEndpoints,
  containerImageEndpoints,
  containerRegistryEndpoints,
  containerUploadEndpoints,
} from "../../../contract/forge/packages/containers.ts";
import type { Route } from "../../../http/handle.ts";
import { answer } from "../../../http/serve.ts";
import { serve } from "../../handle.ts";
import type { ForgeUrls } from "../../urls.ts";
import type { ContainerBlobs } from "./blobs.service.ts";
import type { ContainerCatalog } from "./catalog.service.ts";
import { assertToken, handleContainer, serveContainers, toPart } from "./container-api.ts";
import { type ContainerTokens, reachesImage } from "./container-tokens.ts";
import type { ContainerManifests } from "./manifests.service.ts";
import type { ContainerUploads } from "./uploads.service.ts";
import {
  toAppendAnswer,
  toBegunAnswer,
  toBlobAnswer,
  toCompleteAnswer,
  toImagePath,
  toImageView,
  toLink,
  toManifestAnswer,
  toPublishedHeaders,
  toReferrersAnswer,
  toUploadHeaders,
} from "./containers.view.ts";

interface ContainerRoutesDeps {
  readonly tokens: ContainerTokens;
  readonly catalog: ContainerCatalog;
  readonly manifests: ContainerManifests;
  readonly blobs: ContainerBlobs;
  readonly uploads: ContainerUploads;
}

/** Routes of the container registry, below `/v2`. */
export function containerRoutes(deps: ContainerRoutesDeps): Route[] {
  return [...registryRoutes(deps), ...imageRoutes(deps), ...uploadRoutes(deps)];
}

function registryRoutes({ tokens, catalog }: ContainerRoutesDeps): Route[] {
  return serveContainers(containerRegistryEndpoints, {
    pingContainers: async ({ hasToken }) => {
      assertToken(hasToken);
      return {};
    },
    getContainerToken: async ({ caller, query, request }) => {
      const scopes = [query.scope ?? []].flat();
      const { authorization } = request.headers;
      const { token, expiresInSeconds, issuedAt } = tokens.issue(caller, authorization, scopes);
      return {
        token,
        access_token: token,
        expires_in: expiresInSeconds,
        issued_at: new Date(issuedAt).toISOString(),
      };
    },
    listContainers: async ({ caller, scopes, query }) => {
      const page = await catalog.list(query, { caller, scopes });
      const headers = toLink("/v2/_catalog", page, query.n);
      return answer({ repositories: [...page.names] }, { headers });
    },
  });
}

function imageRoutes({ manifests, blobs }: ContainerRoutesDeps): Route[] {
  return serveContainers(containerEndpoints, {
    listContainerTags: async ({ opened, params, query }) => {
      const page = await manifests.listTags(opened, params, query);
      const headers = toLink(`${toImagePath(params)}/tags/list`, page, query.n);
      const body = { name: `${params.owner}/${params.name}`, tags: [...page.names] };
      return answer(body, { headers });
    },
    getContainerManifest: async ({ opened, params }) =>
      toManifestAnswer(await manifests.get(opened, params)),
    putContainerManifest: async ({ opened, caller, params, body, request }) => {
      const [mediaType = ""] = (request.headers["content-type"] ?? "").split(";");
      const pushed = { bytes: body, mediaType: mediaType.trim() };
      const manifest = await manifests.put(opened, params, pushed, caller);
      return answer(undefined, { headers: toPublishedHeaders(params, manifest) });
    },
    deleteContainerManifest: ({ opened, caller, params }) =>
      manifests.remove(opened, params, caller),
    listContainerReferrers: async ({ opened, params, query }) =>
      toReferrersAnswer(
        await manifests.listReferrers(opened, params, query),
        params,
        query.artifactType,
      ),
    getContainerBlob: async ({ opened, caller, params }) =>
      toBlobAnswer(await blobs.open(opened, params, caller)),
    deleteContainerBlob: ({ opened, params }) => blobs.remove(opened, params),
  });
}

const { startContainerUpload, appendContainerUpload, completeContainerUpload, ...otherUploads } =
  containerUploadEndpoints;

function uploadRoutes({ uploads }: ContainerRoutesDeps): Route[] {
  return [
    handleContainer(startContainerUpload, async (input) => {
      const { opened, caller, params, query, body, request, scopes } = input;
      const reaches = (at: typeof params) => reachesImage(scopes, at, "pull");
      const wanted = { ...query, reaches, part: toPart(request, body) };
      return toBegunAnswer(params, await uploads.begin(opened, params, wanted, caller));
    }),
    handleContainer(appendContainerUpload, async ({ opened, params, body, request }) =>
      toAppendAnswer(params, await uploads.append(opened, params, toPart(request, body))),
    ),
    handleContainer(completeContainerUpload, async ({ opened, params, query, body, request }) => {
      const part = toPart(request, body);
      const outcome = await uploads.complete(opened, params, query.digest, part);
      return toCompleteAnswer(params, query.digest, outcome);
    }),
    ...serveContainers(otherUploads, {
      getContainerUpload: async ({ opened, params }) =>
        answer(undefined, { headers: toUploadHeaders(params, await uploads.get(opened, params)) }),
      cancelContainerUpload: ({ opened, params }) => uploads.cancel(opened, params),
    }),
  ];
}

/** The route by which pages and the command line see an image. */
export function containerImageRoutes(manifests: ContainerManifests, urls: ForgeUrls): Route[] {
  return serve(containerImageEndpoints, {
    getContainerImage: async ({ opened, params }) => {
      const at = { ...params, reference: params.version };
      return toImageView(await manifests.describe(opened, at), params, urls);
    },
  });
}
