import type { CliContext } from "../context.ts";
import { type CredentialStore, createKeyringStore } from "./stores.ts";

/** The keyring of this machine. The native library is loaded at the first call. */
export function createMachineKeyring({
  system,
  markStuck,
}: Pick<CliContext, "system" | "markStuck">): CredentialStore {
  return createKeyringStore({ load: system.keyring, sleep: system.sleep, onStuck: markStuck });
}
