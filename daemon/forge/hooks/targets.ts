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

export type Targets = ReturnType<typeof createTargets>;

const PURPOSE = "forge hook target";

/** Seals targets for the row of their hook: a target that was copied to another row cannot be opened. */
export function createTargets(sealer: Sealer) {
  return {
    seal: (hookId: HookId, target: HookTarget): string =>
      sealer.seal(PURPOSE, JSON.stringify(target), contextOf(hookId)),
    /** @throws SealError */
    open: ({
      id,
      sealedTarget,
    }: {
      readonly id: HookId;
      readonly sealedTarget: string;
    }): HookTarget =>
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
