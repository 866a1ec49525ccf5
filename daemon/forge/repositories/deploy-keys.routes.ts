import {
  deployKeyEndpoints,
  type WireDeployKey,
} from "../../contract/forge/repositories/deploy-keys.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import { type ForgeUrls, toApiUrl, toWireTime } from "../urls.ts";
import type { DeployKeyDetails, DeployKeys } from "./deploy-keys.service.ts";
import { toRepositoryView } from "./repository.view.ts";

/** Routes of the deploy keys of repositories. */
export function deployKeyRoutes({
  deployKeys,
  urls,
}: {
  readonly deployKeys: DeployKeys;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(deployKeyEndpoints, {
    listDeployKeys: async ({ opened, query }) => {
      const { keys, total } = await deployKeys.list(opened, query);
      return page(
        keys.map((key) => toFullView(key, urls)),
        total,
      );
    },
    getDeployKey: async ({ opened, params }) =>
      toFullView(await deployKeys.get(opened, params.id), urls),
    addDeployKey: async ({ opened, body }) => {
      const { title, key, read_only: isReadOnly } = body;
      const input = { title, key, isReadOnly: isReadOnly ?? false };
      return toView(await deployKeys.add(opened, input), urls);
    },
    deleteDeployKey: ({ opened, params }) => deployKeys.remove(opened, params.id),
  });
}

function toView({ key, repository }: DeployKeyDetails, urls: ForgeUrls): WireDeployKey {
  const path = `/repos/${repository.owner.name}/${repository.repository.name}/keys/${key.id}`;
  return {
    id: key.id,
    key_id: key.keyId,
    key: key.content,
    url: toApiUrl(urls, path),
    title: key.title,
    fingerprint: key.fingerprint,
    created_at: toWireTime(key.createdAt),
    read_only: key.isReadOnly,
  };
}

function toFullView(details: DeployKeyDetails, urls: ForgeUrls): WireDeployKey {
  return { ...toView(details, urls), repository: toRepositoryView(details.repository, urls) };
}
