import type { CliContext } from "../context.ts";
import { type CredentialStore, createKeyringStore, type KeyringLibrary } from "./stores.ts";

/** The keyring of this machine. The native library is loaded at the first call; it throws where libsecret is missing. */
export function createMachineKeyring(
  cli: Pick<CliContext, "system" | "markStuck">,
): CredentialStore {
  return createKeyringStore({
    load: async () => {
      const loaded: { readonly default: KeyringLibrary } = await import("keytar");
      return loaded.default;
    },
    sleep: cli.system.sleep,
    onStuck: () => cli.markStuck(),
  });
}
