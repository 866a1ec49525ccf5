/** Quotes any text as one word of POSIX shells, among them bash and zsh. */
export function toShellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
