import type { Column } from "../../output/cells.ts";
import type { FieldType } from "../../output/spec.ts";
import type { Profile } from "../../profile/profiles.ts";

/** A profile as it is printed. */
export interface ShownProfile {
  readonly name: string;
  readonly in_use: boolean;
  /** Null: the daemon of this machine. */
  readonly url: string | null;
  readonly credential_store: string | null;
  readonly forge_username: string | null;
  readonly vault_email: string | null;
}

export const profileFields: Readonly<Record<keyof ShownProfile, FieldType>> = {
  name: "string",
  in_use: "boolean",
  url: "string?",
  credential_store: "string?",
  forge_username: "string?",
  vault_email: "string?",
};

export function toShownProfile(
  name: string,
  profile: Profile | undefined,
  current: string,
): ShownProfile {
  return {
    name,
    in_use: name === current,
    url: profile?.url ?? null,
    credential_store: profile?.store ?? null,
    forge_username: profile?.forge?.username ?? null,
    vault_email: profile?.vault?.email ?? null,
  };
}

export const profileColumns: readonly Column<ShownProfile>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "in use", cell: (profile) => profile.in_use },
  { header: "url", cell: ({ url }) => url },
  { header: "forge", cell: (profile) => profile.forge_username },
  { header: "vault", cell: (profile) => profile.vault_email },
  { header: "store", cell: (profile) => profile.credential_store },
];
