import { branchProtectionEndpoints } from "../../contract/forge/repositories/branch-protections.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import { toProtectionView } from "./branch-protection.view.ts";
import type { BranchProtections } from "./branch-protections.service.ts";

/** Routes of the rules that protect branches. */
export function branchProtectionRoutes(protections: BranchProtections): Route[] {
  return serve(branchProtectionEndpoints, {
    listBranchProtections: async ({ opened }) =>
      (await protections.list(opened)).map(toProtectionView),
    getBranchProtection: async ({ opened, params }) =>
      toProtectionView(await protections.get(opened, params.rule)),
    createBranchProtection: async ({ opened, caller, body }) => {
      const name = body.rule_name || body.branch_name || "";
      return toProtectionView(await protections.create(opened, caller, name, body));
    },
    orderBranchProtections: ({ opened, body }) => protections.order(opened, body.ids),
    editBranchProtection: async ({ opened, caller, params, body }) =>
      toProtectionView(await protections.edit(opened, caller, params.rule, body)),
    deleteBranchProtection: ({ opened, params }) => protections.remove(opened, params.rule),
  });
}
