/** A text as one word of POSIX shells (bash and zsh are among them), whatever is in it. */
export function toShellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
