import { toChoice } from "../support/flag-values.ts";
import { forge, vault } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, toCliError } from "../errors.ts";
import { shape } from "../output/spec.ts";
import type { NamedProfile } from "../profile/profiles.ts";
import { revokeToken, type StoredToken } from "../support/token-owner.ts";
import { commandDetails } from "../tree/command.ts";

type Service = "forge" | "vault";

export const logout = commandDetails({
  args: { "[service]": "forge or vault; both when absent" },
  calls: [vault.logout, forge.deleteToken, forge.deleteCurrentToken],
  output: shape({ forge: "boolean", vault: "boolean", profile: "string" }),
  destructive: false,
  examples: [
    ["Sign out of forge and vault", "croft logout"],
    ["Sign out of the vault only", "croft logout vault"],
  ],
  /**
   * Signs out: ends the session at the daemon, and forgets the credentials even when the daemon cannot be reached.
   * @throws CliError `not_signed_in` when there was nothing to sign out of
   */
  async run(cli, { service }) {
    const services = toServices(service);
    const profile = await cli.profiles.inUse();
    const done = { forge: false, vault: false };
    for (const service of services) done[service] = await signOut(cli, profile, service);
    if (!done.forge && !done.vault)
      throw new CliError("not_signed_in", `not signed in to ${services.join(" or ")}`);
    await cli.profiles.updateProfile(profile.name, (one) => ({
      ...one,
      forge: done.forge ? null : one.forge,
      vault: done.vault ? null : one.vault,
    }));
    const names = services.filter((service) => done[service]).join(" and ");
    await cli.output.done({ ...done, profile: profile.name }, `Signed out of ${names}.`);
  },
});

async function signOut(cli: CliContext, profile: NamedProfile, service: Service): Promise<boolean> {
  const stored = await cli.credentials.read(profile, service);
  if (stored === undefined) return false;
  try {
    if (service === "vault") await cli.client.call(vault.logout, {}, { authorization: "none" });
    else await revokeToken(cli, profile, stored as StoredToken);
  } catch (error) {
    const failure = toCliError(error);
    // Only errors of the daemon: a dry run must stop here, and a bug must not be hidden.
    if (!(error instanceof CliError)) throw error;
    if (failure.code !== "invalid_credentials" && failure.code !== "not_found")
      cli.io.note(`The session at the daemon may still be valid: ${failure.message}`);
  }
  await cli.credentials.remove(profile, service);
  return true;
}

function toServices(service: string | undefined): readonly Service[] {
  if (service === undefined) return ["forge", "vault"];
  return [toChoice("logout", ["forge", "vault"], service)];
}
