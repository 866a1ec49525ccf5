/**
 * Returns the header of Basic authentication, which the forge's token routes require; a token is accepted in place of the
 * password.
 */
export function toBasic(username: string, secret: string): string {
  return `Basic ${Buffer.from(`${username}:${secret}`, "utf8").toString("base64")}`;
}
