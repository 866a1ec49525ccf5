import {
  acceptTransfer,
  rejectTransfer,
  transferRepository,
} from "../../contract/forge/repositories/transfers.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toRepositoryView } from "./repository.view.ts";
import type { Transfers } from "./transfers.service.ts";

/** Routes that give repositories to other owners. */
export function transferRoutes({
  transfers,
  urls,
}: {
  readonly transfers: Transfers;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    handle(transferRepository, async ({ caller, params, body }) => {
      const wanted = { newOwner: body.new_owner, teamIds: body.team_ids ?? [] };
      const { seen, isPending } = await transfers.start(params, caller, wanted);
      return { status: isPending ? 201 : 202, body: toRepositoryView(seen, urls) };
    }),
    handle(acceptTransfer, async ({ caller, params }) => ({
      status: 202,
      body: toRepositoryView(await transfers.accept(params, caller), urls),
    })),
    handle(rejectTransfer, async ({ caller, params }) => ({
      status: 200,
      body: toRepositoryView(await transfers.reject(params, caller), urls),
    })),
  ];
}
