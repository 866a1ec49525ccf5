import type { CloudProviderType, ServerSettings } from "../../../../storage/cloud/provider.ts";
import { AppError } from "../../../errors.ts";
import { toFieldError } from "../field-error.ts";

/**
 * The settings of one half (secret or not) as the provider declares them, defaults filled in. Throws `unprocessable`,
 * naming the field, for undeclared and missing settings and for values outside the declared choices.
 */
export function readSettings(
  type: CloudProviderType,
  values: Readonly<Record<string, string>>,
  secret: boolean,
): Record<string, string> {
  const half = secret ? "credentials" : "settings";
  const declared = type.settings.filter((spec) => spec.secret === secret);
  const declaredNames = new Set(declared.map(({ name }) => name));
  for (const name of Object.keys(values))
    if (!declaredNames.has(name))
      throw toFieldError(
        ["body", half, name],
        `${type.title} has no such setting.`,
        "unknown_setting",
      );
  const read: Record<string, string> = {};
  for (const spec of declared) {
    const value = values[spec.name] ?? spec.default;
    if (value === undefined || value === "") {
      if (spec.required)
        throw toFieldError(["body", half, spec.name], `Required: ${spec.help}.`, "missing");
      continue;
    }
    if (spec.choices !== undefined && !spec.choices.includes(value))
      throw toFieldError(
        ["body", half, spec.name],
        `One of: ${spec.choices.join(", ")}.`,
        "not_a_choice",
      );
    read[spec.name] = value;
  }
  return read;
}

/** A kind of storage, and which of the server's settings it misses. */
export interface AvailableProvider {
  readonly type: CloudProviderType;
  readonly missingSettings: readonly string[];
}

/** The names of the server's settings that a kind of storage still needs. */
export function listMissingSettings(type: CloudProviderType, server: ServerSettings): string[] {
  return (type.oauth?.serverSettings ?? []).filter((name) => !server[name]).map(toVariable);
}

/** Refuses a kind of storage for which this server is not configured, and names the missing settings. */
export function assertAvailable(type: CloudProviderType, server: ServerSettings): void {
  const missing = listMissingSettings(type, server);
  if (missing.length === 0) return;
  throw new AppError(
    "invalid_argument",
    `${type.title} is not set up on this server. The administrator has to set ${missing.join(" and ")}.`,
  );
}

/** Credentials of a storage that is connected by signing in at the provider come from that sign-in only. */
export function assertNoSignIn(type: CloudProviderType): void {
  if (type.oauth === undefined) return;
  throw toFieldError(
    ["body", "provider"],
    `${type.title} is connected by signing in at its own page: GET /api/cloud/authorize/${type.type}`,
    "oauth_only",
  );
}

/** `googleClientId` as the administrator knows it: `CROFT_GOOGLE_CLIENT_ID`. */
function toVariable(name: string): string {
  return `CROFT_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
