import type { CliEnvironment } from "../environment.ts";
import { type CredentialStore, createKeyringStore } from "./stores.ts";

/** The keyring of this machine. The native library is loaded at the first call. */
export function createMachineKeyring({
  system,
  markStuck,
}: Pick<CliEnvironment, "system" | "markStuck">): CredentialStore {
  return createKeyringStore({ load: system.keyring, sleep: system.sleep, onStuck: markStuck });
}
