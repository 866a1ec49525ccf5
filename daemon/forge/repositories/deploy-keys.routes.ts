import {
  addDeployKey,
  deleteDeployKey,
  getDeployKey,
  listDeployKeys,
  type WireDeployKey,
} from "../../contract/forge/repositories/deploy-keys.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
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
  return [
    handle(listDeployKeys, async ({ caller, params, query }) => {
      const { keys, total } = await deployKeys.list(params, query, caller);
      return { status: 200, body: keys.map((key) => toFullView(key, urls)), total };
    }),
    handle(getDeployKey, async ({ caller, params }) => {
      const found = await deployKeys.get(params, params.id, caller);
      return { status: 200, body: toFullView(found, urls) };
    }),
    handle(addDeployKey, async ({ caller, params, body }) => {
      const { title, key, read_only: isReadOnly } = body;
      const input = { title, key, isReadOnly: isReadOnly ?? false };
      return { status: 201, body: toView(await deployKeys.add(params, input, caller), urls) };
    }),
    handle(deleteDeployKey, async ({ caller, params }) => {
      await deployKeys.remove(params, params.id, caller);
      return { status: 204 };
    }),
  ];
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
