/** Four groups of five characters without look-alikes: about 98 bits, and of every class that password rules ask for. */
export function randomPassword(random: (length: number) => Uint8Array): string {
  const pick = (from: string) => from.charAt(toIndex(random, from.length));
  const group = () => Array.from({ length: 5 }, () => pick(lower + digits)).join("");
  return [pick(upper) + group(), group(), group(), group() + pick(digits)].join("-");
}

const lower = "abcdefghjkmnpqrstuvwxyz";
const upper = "ABCDEFGHJKLMNPQRSTUVWXYZ";
const digits = "23456789";

/** Every index as likely as any other: bytes beyond the last whole multiple are thrown away. */
function toIndex(random: (length: number) => Uint8Array, length: number): number {
  const limit = 256 - (256 % length);
  for (;;) {
    const [byte = 0] = random(1);
    if (byte < limit) return byte % length;
  }
}
