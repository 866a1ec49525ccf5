import {
  createBranchProtection,
  deleteBranchProtection,
  editBranchProtection,
  getBranchProtection,
  listBranchProtections,
} from "../../contract/forge/repositories/branch-protections.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { toProtectionView } from "./branch-protection.view.ts";
import type { BranchProtections } from "./branch-protections.service.ts";

/** Routes of the rules that protect branches. */
export function branchProtectionRoutes(protections: BranchProtections): Route[] {
  return [
    handle(listBranchProtections, async ({ caller, params }) => ({
      status: 200,
      body: (await protections.list(params, caller)).map(toProtectionView),
    })),
    handle(getBranchProtection, async ({ caller, params }) => ({
      status: 200,
      body: toProtectionView(await protections.get(params, caller, params.rule)),
    })),
    handle(createBranchProtection, async ({ caller, params, body }) => {
      const name = body.rule_name || body.branch_name || "";
      return {
        status: 201,
        body: toProtectionView(await protections.create(params, caller, name, body)),
      };
    }),
    handle(editBranchProtection, async ({ caller, params, body }) => ({
      status: 200,
      body: toProtectionView(await protections.edit(params, caller, params.rule, body)),
    })),
    handle(deleteBranchProtection, async ({ caller, params }) => {
      await protections.remove(params, caller, params.rule);
      return { status: 204 };
    }),
  ];
}
