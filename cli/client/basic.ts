/** The header of Basic authentication. The forge's token routes take nothing else; a token may stand for the password. */
export function toBasic(username: string, secret: string): string {
  return `Basic ${Buffer.from(`${username}:${secret}`, "utf8").toString("base64")}`;
}
