import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import type { ActionLevel } from "./action-level.ts";

type Client = CliContext["client"];

/** Returns the pages of the runners of a level; of the instance those of every level. */
export function runnerPages(client: Client, level: ActionLevel) {
  switch (level.kind) {
    case "repository":
      return forgeFieldPages(
        client,
        forge.listRepositoryRunners,
        { params: level.params },
        "runners",
      );
    case "organization":
      return forgeFieldPages(
        client,
        forge.listOrganizationRunners,
        { params: level.params },
        "runners",
      );
    case "user":
      return forgeFieldPages(client, forge.listOwnRunners, {}, "runners");
    case "instance":
      return forgeFieldPages(client, forge.listRunners, {}, "runners");
  }
}

/** Returns the token that runners of a level register with. */
export async function getRegistrationToken(
  client: Client,
  level: ActionLevel,
  renew: boolean,
): Promise<string> {
  const { body } = await call();
  return body.token;

  function call(): Promise<{ readonly body: { readonly token: string } }> {
    const query = { renew };
    switch (level.kind) {
      case "repository":
        return client.call(forge.getRepositoryRegistrationToken, { params: level.params, query });
      case "organization":
        return client.call(forge.getOrganizationRegistrationToken, { params: level.params, query });
      case "user":
        return client.call(forge.getOwnRegistrationToken, { query });
      case "instance":
        return client.call(forge.createRegistrationToken, { query });
    }
  }
}

/** Returns a runner of a level. */
export async function getRunner(client: Client, level: ActionLevel, id: number) {
  const named = { runner_id: id };
  switch (level.kind) {
    case "repository":
      return client.call(forge.getRepositoryRunner, { params: { ...level.params, ...named } });
    case "organization":
      return client.call(forge.getOrganizationRunner, { params: { ...level.params, ...named } });
    case "user":
      return client.call(forge.getOwnRunner, { params: named });
    case "instance":
      return client.call(forge.getRunner, { params: named });
  }
}

/** Disables or enables a runner of a level. */
export async function switchRunner(
  client: Client,
  level: ActionLevel,
  { id, disabled }: { readonly id: number; readonly disabled: boolean },
) {
  const named = { runner_id: id };
  const body = { disabled };
  switch (level.kind) {
    case "repository":
      return client.call(forge.editRepositoryRunner, {
        params: { ...level.params, ...named },
        body,
      });
    case "organization":
      return client.call(forge.editOrganizationRunner, {
        params: { ...level.params, ...named },
        body,
      });
    case "user":
      return client.call(forge.editOwnRunner, { params: named, body });
    case "instance":
      return client.call(forge.editRunner, { params: named, body });
  }
}

/** Deletes a runner of a level. */
export async function deleteRunner(client: Client, level: ActionLevel, id: number): Promise<void> {
  const named = { runner_id: id };
  if (level.kind === "repository")
    await client.call(forge.deleteRepositoryRunner, { params: { ...level.params, ...named } });
  else if (level.kind === "organization")
    await client.call(forge.deleteOrganizationRunner, { params: { ...level.params, ...named } });
  else if (level.kind === "user") await client.call(forge.deleteOwnRunner, { params: named });
  else await client.call(forge.deleteRunner, { params: named });
}
