import { AppError } from "../../errors.ts";
import { isUserName, LATE_ADDRESSES, LOCAL_PART_MAX } from "../../contract/forge/rules.ts";

/** Longest name of a repository folder. New names have a shorter limit in the contract. */
const NAME_BYTES_MAX = 255;

const reservedNames = new Set([
  ".",
  "..",
  ".well-known",
  "api",
  "metrics",
  "v2",
  "assets",
  "attachments",
  "avatar",
  "avatars",
  "repo-avatars",
  "captcha",
  "login",
  "org",
  "repo",
  "user",
  "explore",
  "issues",
  "pulls",
  "milestones",
  "notifications",
  "favicon.ico",
  "manifest.json",
  "robots.txt",
  "sitemap.xml",
  "ssh_info",
  "swagger.v1.json",
  "openapi3.v1.json",
  "ghost",
  "gitea-actions",
  // Paths of this server.
  "healthz",
  "readyz",
  "openapi",
  ...LATE_ADDRESSES,
]);

const reservedSuffixes = [".keys", ".gpg", ".rss", ".atom", ".png"];

/**
 * Throws `unprocessable` for an invalid account name: illegal characters, a reserved word or a reserved suffix. Does
 * not check whether it is taken.
 */
export function assertUsableName(name: string): void {
  if (!isUserName(name) || Buffer.byteLength(name) > NAME_BYTES_MAX)
    throw new AppError(
      "unprocessable",
      `name is invalid [${name}]: must be valid alpha or numeric or dash(-_) or dot characters`,
    );
  const lower = name.toLowerCase();
  if (reservedNames.has(lower))
    throw new AppError("unprocessable", `name is reserved [name: ${lower}]`);
  const suffix = reservedSuffixes.find((each) => lower.endsWith(each));
  if (suffix !== undefined)
    throw new AppError("unprocessable", `name pattern is not allowed [pattern: *${suffix}]`);
}

/** Returns why an address cannot be used, as the error text, or undefined if it can. */
export function findEmailFault(email: string): string | undefined {
  if (email === "") return "e-mail invalid [email: ]";
  const [local = "", ...rest] = email.split("@");
  const domain = rest.join("@");
  if (!/^[a-zA-Z0-9.!#$%&'*+\-/=?^_`{|}~]*$/.test(local) || !isDomain(domain))
    return `e-mail address contains unsupported character [email: ${email}]`;
  const isDotAtom = local.split(".").every((atom) => atom !== "");
  return isDotAtom && !email.startsWith("-") && local.length <= LOCAL_PART_MAX
    ? undefined
    : `e-mail invalid [email: ${email}]`;
}

function isDomain(domain: string): boolean {
  return domain
    .split(".")
    .every((label) => /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/.test(label));
}
