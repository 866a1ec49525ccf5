import { z } from "zod";
import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";
import type { HookId } from "../../../storage/tables/forge/ids.ts";

const targetSchema = z.object({
  url: z.string(),
  secret: z.string(),
  authorizationHeader: z.string(),
});
/** The address that a hook sends to, and its credentials. An absent text is empty. */
export type HookTarget = Readonly<z.output<typeof targetSchema>>;

/** Seals targets for the row of their hook: a target that was copied to another row cannot be opened. */
export interface Targets {
  seal(hookId: HookId, target: HookTarget): string;
  /** @throws SealError */
  open(hook: { readonly id: HookId; readonly sealedTarget: string }): HookTarget;
}

const PURPOSE = "forge hook target";

export function createTargets(sealer: Sealer): Targets {
  return {
    seal: (hookId, target) => sealer.seal(PURPOSE, JSON.stringify(target), contextOf(hookId)),
    open: ({ id, sealedTarget }) =>
      targetSchema.parse(JSON.parse(sealer.openText(PURPOSE, sealedTarget, contextOf(id)))),
  };
}

/** Reseals the target of a hook, as a rotation of the master key needs it. */
export function sealTargetAgain(sealed: string, hookId: number | string, again: SealAgain): string {
  return again(PURPOSE, sealed, contextOf(hookId));
}

function contextOf(hookId: number | string): string {
  return `forge_hooks/${hookId}`;
}
