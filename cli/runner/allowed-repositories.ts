/** Whether the runner's owner has given a valid pattern: `OWNER/NAME`, `OWNER`, or `*` for all repositories. */
export function isAllowPattern(text: string): boolean {
  return text === "*" || /^[\w.-]+(\/[\w.-]+)?$/.test(text);
}

/** Returns whether jobs of a repository (OWNER/NAME) may run. Names are compared without regard to case. */
export function isAllowed(patterns: readonly string[], repository: string): boolean {
  const name = repository.toLowerCase();
  const [owner] = name.split("/", 1);
  return patterns.some((pattern) => {
    const wanted = pattern.toLowerCase();
    return wanted === "*" || wanted === name || wanted === owner;
  });
}
