import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";

/** Where a hook sends to, and what it proves itself with. Texts are empty when there is none. */
export interface HookTarget {
  readonly url: string;
  readonly secret: string;
  readonly authorizationHeader: string;
}

/** Targets as they lie in the database: sealed, and of use in the row of their hook only. */
export interface Targets {
  seal(hookId: number, target: HookTarget): string;
  /** @throws SealError */
  open(hook: { readonly id: number; readonly sealedTarget: string }): HookTarget;
}

const PURPOSE = "forge hook target";

export function createTargets(sealer: Sealer): Targets {
  return {
    seal: (hookId, target) => sealer.seal(PURPOSE, JSON.stringify(target), contextOf(hookId)),
    open: ({ id, sealedTarget }) =>
      JSON.parse(sealer.openText(PURPOSE, sealedTarget, contextOf(id))) as HookTarget,
  };
}

/** The sealed target of a hook, sealed again. */
export function sealTargetAgain(sealed: string, hookId: number | string, again: SealAgain): string {
  return again(PURPOSE, sealed, contextOf(hookId));
}

function contextOf(hookId: number | string): string {
  return `forge_hooks/${hookId}`;
}
